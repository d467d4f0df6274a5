"""Edits the request of a looping agent.

Applies all ladder steps up to its level at once: a notice at the end, sampling, a shorter history. Besides,
cut replies are forwarded without their repetition, and the reply after a cut one is limited. Edits without a
certain position are skipped. Pruning removes whole turns, or sections of a flattened prompt, with their
thinking, and leaves one line in their place; if a turn would have to be split, nothing is removed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from festinger.proxy.context.edit import build_content_edit, iter_texts
from festinger.proxy.loops.actions import (
    PruningPlan,
    SamplingParameters,
    boost_sampling,
    format_notice,
    ladder_steps,
    plan_pruning,
    prune_threshold,
)
from festinger.proxy.loops.history import Item, LoopRepetition
from festinger.proxy.loops.keys import ChatRole, text_digest
from festinger.proxy.loops.stream import collapse_repetition
from festinger.proxy.protocols.content import is_thinking
from festinger.proxy.protocols.json_edit import (
    AmbiguousJsonError,
    Edit,
    ElementRemoval,
    MemberUpdate,
    TextEdit,
    apply_edits,
)
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, RequestTurn
from festinger.settings.tree import LadderStep, LoopSettings
from festinger.text.blocks import GAP

LIMIT = 4_096
"""Token limit of the reply after a cut one, if the client set none."""

_LIMITS = {
    RequestKind.CHAT: ("num_predict",),
    RequestKind.GENERATE: ("num_predict",),
    RequestKind.COMPLETIONS: ("max_tokens", "max_completion_tokens"),
    RequestKind.MESSAGES: ("max_tokens",),
    RequestKind.RESPONSES: ("max_output_tokens",),
    RequestKind.TEXT: ("max_tokens",),
}
"""Names of the limit; the first one is used to set it."""

_NAMES = ("temperature", "seed", "repeat_penalty", "repeat_last_n", "frequency_penalty", "presence_penalty")


def build_boost(
    request: ChatRequest, *, level: int, settings: LoopSettings, of_model: float | None = None
) -> dict[str, float]:
    """Sampling parameters that break a loop, by the names of this kind of request."""
    given = _find_parameters(request)
    if given is None:
        return {}
    sampling = SamplingParameters(
        parameters={name: given[name] for name in _NAMES if _is_number(given.get(name))},
        of_model=of_model,
        structured=request.is_structured,
    )
    changed = boost_sampling(sampling, request.kind.protocol, level=level, settings=settings)
    if request.kind is RequestKind.RESPONSES:
        # The Responses API has no penalties and rejects unknown parameters.
        return {name: value for name, value in changed.items() if name == "temperature"}
    return changed


def build_limit(request: ChatRequest) -> dict[str, float]:
    """A limit for a reply that has none."""
    given, names = _find_parameters(request), _LIMITS[request.kind]
    if given is None or any(_is_number(given.get(name)) and given[name] > 0 for name in names):
        return {}
    return {names[0]: LIMIT}


def build_parameter_patch(request: ChatRequest, parameters: Mapping[str, float]) -> MemberUpdate | None:
    """The patch that sets these parameters."""
    if not parameters:
        return None
    if not request.kind.is_native:
        return MemberUpdate(path=(), members=parameters)
    if isinstance(request.tree.get("options"), dict):
        return MemberUpdate(path=("options",), members=parameters)
    return MemberUpdate(path=(), members={"options": dict(parameters)})


def _find_parameters(request: ChatRequest) -> Mapping[str, Any] | None:
    """The object with the request's parameters; `None` if it has another type."""
    if not request.kind.is_native:
        return request.tree
    options = request.tree.get("options")
    return {} if options is None else options if isinstance(options, dict) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def last_input_turn(request: ChatRequest) -> RequestTurn | None:
    """The last turn of a user or a tool."""
    return next((turn for turn in reversed(request.turns) if turn.role in (ChatRole.USER, ChatRole.TOOL)), None)


def build_append_patch(request: ChatRequest, turn: RequestTurn, text: str) -> Edit | None:
    """Append text to a turn; `None` if the turn has no place for it."""
    if turn.span is not None:
        prompt: str = request.at(turn.path)
        # Before the empty line that separates it from the next section.
        end = len(prompt[: turn.span.end].rstrip())
        return TextEdit(path=turn.path, at=max(end, turn.span.text), text=GAP + text)
    # Nothing is appended to a system prompt that is a list of parts.
    has_end = isinstance(request.at(turn.path), str | dict)
    return build_content_edit(request, turn, text, at_end=True) if has_end else None


def build_prune_patches(request: ChatRequest, plan: PruningPlan) -> list[Edit]:
    """The patches that carry out a plan; empty if that is impossible."""
    owners = [at for at, turn in enumerate(request.turns) for _ in turn.messages]
    gone = sorted({owners[place] for place in plan.left_out})
    note = build_append_patch(request, request.turns[owners[plan.after]], plan.line)
    whole = sum(len(request.turns[at].messages) for at in gone) == len(plan.left_out)
    if not whole or note is None or gone != [*range(gone[0], gone[-1] + 1)]:
        return []
    turns = request.turns[gone[0] : gone[-1] + 1]
    return [_remove_sections(turns) if request.flattened else _remove_elements(request, turns), note]


def _remove_sections(turns: tuple[RequestTurn, ...]) -> Edit:
    first, last = turns[0].span, turns[-1].span
    assert first is not None
    assert last is not None
    return TextEdit(path=turns[0].path, at=first.start, until=last.end, text="")


def _remove_elements(request: ChatRequest, turns: tuple[RequestTurn, ...]) -> Edit:
    listed, gone = turns[0].path[:1], {int(turn.path[1]) for turn in turns}
    if request.kind is RequestKind.RESPONSES:
        gone |= set(_thinking_before(request.at(listed), gone))
    return ElementRemoval(path=listed, indexes=tuple(sorted(gone)))


def _thinking_before(items: list[Any], gone: set[int]) -> Iterator[int]:
    """Thoughts before a removed item: the server rejects those that lead nowhere."""
    leads_out = False
    for at in range(len(items) - 1, -1, -1):
        if not is_thinking(items[at]):
            leads_out = at in gone
        elif leads_out:
            yield at


@dataclass(frozen=True, slots=True, kw_only=True)
class MitigationInput:
    """What to do about a request."""

    repeat: LoopRepetition | None = None
    items: Sequence[Item] = ()
    """The steps of the request's own history."""
    cut: frozenset[bytes] = frozenset()
    """Digests of the texts of cut replies."""
    limited: bool = False
    """Whether the previous reply was cut."""
    temperature: float | None = None
    """The model's own, if known."""
    boosts: bool = True
    """False if the upstream rejected changed sampling for this model."""
    speaks: bool = True
    """False if the client writes the prompt itself, so that no text may be added or removed."""


def mitigate_loop(
    request: ChatRequest, case: MitigationInput, settings: LoopSettings
) -> tuple[bytes, tuple[LadderStep, ...]]:
    """Apply everything that the case calls for; return the body, and the steps that were taken."""
    steps = ladder_steps(case.repeat.level, settings) if case.repeat else ()
    nudged = _nudge_patches(request, case) if "nudge" in steps else []
    pruned = _prune(request, case, settings) if "prune" in steps else []
    boost = _boost(request, case, settings)
    limit = build_limit(request) if case.limited else {}
    parameters = build_parameter_patch(request, limit | boost)
    folded = [*_collapse_edits(request, case)] if settings.collapse_cut_text else []
    patches = [*nudged, *pruned, *([parameters] if parameters else []), *_drop_covered_edits(folded, pruned)]
    if not patches:
        return request.body, ()
    try:
        body = apply_edits(request.body, request.tree, patches, exact=True)
    except AmbiguousJsonError:
        return request.body, ()
    done: dict[LadderStep, bool] = {"nudge": bool(nudged), "temperature": bool(boost), "prune": bool(pruned)}
    return body, tuple(step for step in steps if done.get(step))


def _nudge_patches(request: ChatRequest, case: MitigationInput) -> list[Edit]:
    turn = last_input_turn(request) if case.speaks else None
    patch = build_append_patch(request, turn, format_notice(case.repeat)) if turn and case.repeat else None
    return [patch] if patch else []


def _boost(request: ChatRequest, case: MitigationInput, settings: LoopSettings) -> dict[str, float]:
    if case.repeat is None or not case.boosts:
        return {}
    return build_boost(request, level=case.repeat.level, settings=settings, of_model=case.temperature)


def _prune(request: ChatRequest, case: MitigationInput, settings: LoopSettings) -> list[Edit]:
    if case.repeat is None or not case.speaks:
        return []
    plan = plan_pruning(
        request.messages,
        case.items,
        case.repeat,
        keep=settings.keep_steps,
        until=prune_threshold(case.repeat, settings),
    )
    return build_prune_patches(request, plan) if plan else []


def _collapse_edits(request: ChatRequest, case: MitigationInput) -> Iterator[TextEdit]:
    """Edits that remove the repetition at the end of cut replies."""
    if not case.cut or not case.speaks:
        return
    for turn in request.turns:
        if turn.role is ChatRole.ASSISTANT and text_digest(turn.text.strip()) in case.cut:
            for path, text, offset in iter_texts(request, turn):
                short = len(collapse_repetition(text))
                if short < len(text):
                    yield TextEdit(path=path, at=offset + short, until=offset + len(text), text="")


def _drop_covered_edits(folded: Sequence[TextEdit], pruned: Sequence[Edit]) -> Iterator[TextEdit]:
    """Skip edits inside parts that are removed entirely."""
    for edit in folded:
        if not any(_covers(patch, edit) for patch in pruned):
            yield edit


def _covers(patch: Edit, edit: TextEdit) -> bool:
    match patch:
        case TextEdit():
            return patch.path == edit.path and patch.at <= edit.at < (patch.until or patch.at)
        case ElementRemoval():
            return edit.path[: len(patch.path)] == patch.path and edit.path[len(patch.path)] in patch.indexes
    return False
