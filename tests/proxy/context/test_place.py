"""How large a block may be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import LABEL, request_of, user

from festinger.proxy.context.place import block_token_budget, context_window
from festinger.proxy.protocols.messages import RequestKind
from festinger.services.block import ContextBlock, ContextLine, fit_block
from festinger.settings.tree import ProxySettings
from festinger.text.budget import estimate_tokens

SETTINGS = ProxySettings()


def block(lines: int) -> ContextBlock:
    return ContextBlock(
        label=LABEL, lines=tuple(ContextLine(text=f"- the server number {n} is down") for n in range(lines))
    )


@pytest.mark.requirement("P-37")
@pytest.mark.parametrize(
    ("kind", "more", "known", "context"),
    [
        (RequestKind.CHAT, {"options": {"num_ctx": 9000}}, 32_000, 9000),
        (RequestKind.CHAT, {"options": {}}, 32_000, 32_000),
        (RequestKind.CHAT, {}, None, 4096),
        (RequestKind.CHAT, {"options": {"num_ctx": "many"}}, None, 4096),
        (RequestKind.COMPLETIONS, {}, None, 32_768),
        (RequestKind.COMPLETIONS, {}, 8000, 8000),
    ],
)
def test_the_context_is_asked_for_known_or_assumed(
    kind: RequestKind, more: dict[str, Any], known: int | None, context: int
):
    assert context_window(request_of({"messages": [user("a")], **more}, kind), known=known) == context


@pytest.mark.requirement("P-37")
def test_a_block_gets_the_smaller_of_its_tokens_and_its_share():
    assert block_token_budget(SETTINGS, context=4096) == 204
    assert block_token_budget(SETTINGS, context=100_000) == 1000
    assert block_token_budget(SETTINGS.model_copy(update={"recollection_max_share": 0.1}), context=4096) == 409


@pytest.mark.requirement("P-37")
def test_all_visible_blocks_together_have_a_share_and_then_no_new_one_is_added():
    some = block(20)
    used = estimate_tokens(some.text)

    assert block_token_budget(SETTINGS, context=4096, standing=[some]) == min(204, 614 - used)
    assert block_token_budget(SETTINGS, context=4096, standing=[some] * 10) == 0


@pytest.mark.requirement("P-37")
@given(st.integers(0, 30), st.integers(0, 600))
def test_whole_lines_are_dropped_from_the_end(lines: int, tokens: int):
    whole = block(lines)
    found = fit_block(whole, tokens)
    kept = 0 if found is None else len(found.lines)

    assert found is None or (found.lines == whole.lines[:kept] and estimate_tokens(found.text) <= tokens)
    assert kept == lines or estimate_tokens(ContextBlock(label=LABEL, lines=whole.lines[: kept + 1]).text) > tokens
