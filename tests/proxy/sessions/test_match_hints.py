"""How requests name their session."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.sessions.match import NAME_BYTES, SessionHints, parse_session_hints, parse_session_name

ORDER: list[tuple[str, Any]] = [
    ("header", "x-festinger-session"),
    ("header", "x-claude-code-session-id"),
    ("body", {"metadata": {"user_id": '{"session_id": "SID"}'}}),
    ("header", "session-id"),
    ("header", "session_id"),
    ("header", "x-session-id"),
    ("header", "x-session-affinity"),
    ("header", "x-openwebui-chat-id"),
    ("header", "helicone-session-id"),
    ("header", "x-litellm-session-id"),
    ("header", "x-litellm-trace-id"),
    ("header", "langfuse_session_id"),
    ("header", "thread-id"),
    ("header", "x-somebody-session-id"),
    ("body", {"session_id": "SID"}),
    ("body", {"sessionId": "SID"}),
    ("body", {"metadata": {"session_id": "SID"}}),
    ("body", {"litellm_session_id": "SID"}),
    ("body", {"conversation_id": "SID"}),
    ("body", {"conversation": {"id": "SID"}}),
    ("body", {"prompt_cache_key": "SID"}),
]


def request_naming(*named: int) -> tuple[list[tuple[bytes, bytes]], dict[str, Any]]:
    """Headers and body that name a session in these of the known ways."""
    headers: list[tuple[bytes, bytes]] = []
    tree: dict[str, Any] = {}
    for at in reversed(named):
        where, what = ORDER[at]
        name = f"session-{at:04}"
        if where == "header":
            headers.append((what.encode(), name.encode()))
            continue
        for key, value in what.items():
            filled = _filled(value, name)
            tree[key] = {**tree.get(key, {}), **filled} if isinstance(filled, dict) else filled
    return headers, tree


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, name) for key, inner in value.items()}
    return value.replace("SID", name)


@pytest.mark.requirement("P-22")
@pytest.mark.parametrize("at", range(len(ORDER)))
def test_every_known_way_names_a_session(at: int):
    assert parse_session_hints(*request_naming(at)).session == f"session-{at:04}"


@pytest.mark.requirement("P-22")
@given(st.sets(st.integers(0, len(ORDER) - 1), min_size=1))
def test_the_first_way_wins(named: set[int]):
    assert parse_session_hints(*request_naming(*sorted(named))).session == f"session-{min(named):04}"


@pytest.mark.requirement("P-22")
def test_the_user_of_claude_code_ends_with_its_session():
    tree = {"metadata": {"user_id": "user_ab12_account__session_6f1c-77"}}

    assert parse_session_hints([], tree).session == "6f1c-77"
    assert parse_session_hints([], {"metadata": {"user_id": "somebody"}}).session is None
    assert parse_session_hints([], {"conversation": "conv_1"}).session == "conv_1"


@pytest.mark.requirement("P-22")
@pytest.mark.parametrize(
    "bad", ["", "   ", "x" * (NAME_BYTES + 1), "ü" * 129, "a\x00b", "a\nb", "a\x85b", 7, None, ["x"]]
)
def test_what_cannot_be_a_name_is_passed_over_for_the_next(bad: Any):
    headers = [(b"x-festinger-session", bad.encode())] if isinstance(bad, str) else []

    assert parse_session_name(bad) is None
    assert parse_session_hints(headers, {"session_id": bad, "conversation_id": "next"}).session == "next"
    assert parse_session_name(f"  {'x' * NAME_BYTES} ") == "x" * NAME_BYTES


@pytest.mark.requirement("P-22")
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x-client-request-id", "12345678-abcd"),
        ("x-somebody-session-id", "short"),
        ("x-somebody-session-id", "has space in it"),
        ("x-parent-session-id", "parent-00001"),
        ("cookie", "session_id=12345678"),
    ],
)
def test_other_headers_name_no_session(header: str, value: str):
    assert parse_session_hints([(header.encode(), value.encode())], {}).session is None


@pytest.mark.requirement("P-22")
def test_parent_and_continued_response_are_kept_beside():
    headers = [(b"x-parent-session-id", b"up-1"), (b"x-session-id", b"s-1")]

    assert parse_session_hints(headers, {"previous_response_id": "resp_9"}) == SessionHints(
        session="s-1", parent="up-1", continues="resp_9"
    )


@given(
    st.recursive(
        st.none() | st.text(max_size=3) | st.integers(),
        lambda inner: st.dictionaries(
            st.sampled_from(["metadata", "user_id", "conversation", "id", "session_id"]), inner, max_size=3
        ),
    )
)
def test_a_body_of_any_shape_does_no_harm(tree: Any):
    assert isinstance(parse_session_hints([], tree if isinstance(tree, dict) else {}), SessionHints)
