"""Edits the request of a looping agent.

Applies all ladder steps up to its level at once: a notice at the end, sampling, a shorter history. Besides,
cut replies are forwarded without their repetition, and the reply after a cut one is limited. Edits without a
certain position are skipped. Pruning removes whole turns, or sections of a flattened prompt, with their
thinking, and leaves one line in their place; if a turn would have to be split, nothing is removed.

Countermeasures against a loop, by level: notice, sampling, pruning and breaker.

Each level adds the next step of the configured ladder; with the guard off, loops are only reported. An open
breaker waits for a person or a reset, and lets one probe request through after a while. Sampling values are
raised, never lowered, and kept where a schema is enforced. Notices quote the agent as short, escaped data at
the very end of the request and are never stored. Pruning keeps the first and latest rounds and what people
and the system said; it removes whole rounds only (a call with its results), so that roles alternate. It is
deterministic, and a continuing loop only grows at its end, so the prefix changes once.
"""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import ceil
from typing import Any

import orjson

from festinger.proxy.context.edit import build_content_edit, iter_turn_texts
from festinger.proxy.loops.history import SHOWN, AnswerStep, Item, LoopRepetition, RepetitionRule, ToolStep
from festinger.proxy.loops.keys import ChatMessage, ChatRole, text_digest
from festinger.proxy.loops.stream import remove_repeated_end
from festinger.proxy.protocols.content import is_thinking
from festinger.proxy.protocols.json_edit import (
    AmbiguousJsonError,
    Edit,
    ElementsRemoval,
    MemberUpdate,
    TextEdit,
    apply_edits,
)
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, RequestTurn
from festinger.proxy.routes import ApiProtocol
from festinger.settings.tree import LadderStep, LoopSettings
from festinger.text.blocks import GAP


def steps_up_to_level(level: int, settings: LoopSettings) -> tuple[LadderStep, ...]:
    """The steps to take at this level, in ladder order."""
    return settings.ladder[:level] if settings.enabled else ()


def count_levels_in_force(step: LadderStep, level: int, settings: LoopSettings) -> int:
    """How many levels a step has been in force: 1 where it begins, 0 if it is not taken."""
    steps = steps_up_to_level(level, settings)
    return level - steps.index(step) if step in steps else 0


OPENING_WORDS = 12


def format_notice(repeat: LoopRepetition) -> str:
    """The notice that is put after the last message."""
    steps = [item for item in repeat.block if isinstance(item, ToolStep)]
    said = _describe_steps(steps, repeat) if steps else _describe_answers(repeat.block, repeat)
    return f"[Loop guard]\n{said}"


def _describe_steps(steps: Sequence[ToolStep], repeat: LoopRepetition) -> str:
    listed = "\n".join(f"- {quote_text(step.tool)} with {quote_text(step.arguments)}" for step in steps)
    outcome = "failed each time" if repeat.rule is RepetitionRule.SAME_ERROR else "brought nothing new"
    what, ruled = ("This action", "This exact action is") if len(steps) == 1 else ("These actions", "This sequence is")
    return (
        f"{what} ran {repeat.count} times in a row and {outcome}:\n{listed}\n"
        f"The last result began, quoted as data: {quote_text(steps[-1].said)}\n"
        f"{ruled} ruled out now. Take a different step, or give your final answer with what you know."
    )


def _describe_answers(block: Sequence[Item], repeat: LoopRepetition) -> str:
    opening = next((item.opening for item in block if isinstance(item, AnswerStep)), "")
    words = " ".join(opening.split()[:OPENING_WORDS])
    return (
        f"The same answer was given {repeat.count} times in a row. It begins, quoted as data: {quote_text(words)}\n"
        "Repeating it is ruled out now. Take a different step, or say plainly what is missing."
    )


def quote_text(text: str) -> str:
    """Quote foreign text on one line, without control characters or markup."""
    return html.escape(json.dumps(text[:SHOWN], ensure_ascii=False), quote=False)


class LoopBreakerDecision(StrEnum):
    FREE = "free"
    PROBE = "probe"
    """Let through to see whether the loop is over."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBreaker:
    opened: float | None = None
    probing: bool = False
    cause: LoopRepetition | None = None
    person: bytes = b""
    """The last real user message when it opened; another one closes it."""


CLOSED = LoopBreaker()


def update_breaker(
    breaker: LoopBreaker, repeat: LoopRepetition | None, *, person: bytes, now: float, settings: LoopSettings
) -> tuple[LoopBreakerDecision, LoopBreaker]:
    """Decide whether a counted request passes; return the decision and the new breaker."""
    if breaker.opened is not None and person != breaker.person:
        breaker = CLOSED
    trips = repeat is not None and "breaker" in steps_up_to_level(repeat.level, settings)
    if breaker.opened is None or breaker.probing:
        if not trips:
            return LoopBreakerDecision.FREE, CLOSED
        return LoopBreakerDecision.STOPPED, LoopBreaker(opened=now, cause=repeat, person=person)
    if now - breaker.opened >= settings.breaker_seconds:
        return LoopBreakerDecision.PROBE, replace(breaker, probing=True)
    return LoopBreakerDecision.STOPPED, breaker


def retry_after_seconds(breaker: LoopBreaker, *, now: float, settings: LoopSettings) -> float:
    """Seconds until one request is let through; for `Retry-After`."""
    return 0.0 if breaker.opened is None else max(0.0, settings.breaker_seconds - (now - breaker.opened))


def format_stop_message(repeat: LoopRepetition, settings: LoopSettings) -> str:
    """The reply in place of the model: what repeated, and how to continue."""
    tools = [quote_text(item.tool) for item in repeat.block if isinstance(item, ToolStep)]
    what = f"the call of {', '.join(dict.fromkeys(tools))}" if tools else "the same answer"
    return (
        f"Stopped: {what} was repeated {repeat.count} times without anything new. To continue, send a message in this "
        "conversation, best with another approach, or reset the session at /admin/loops. Otherwise one request is let "
        f"through every {settings.breaker_seconds} seconds."
    )


def format_json_stop_message(repeat: LoopRepetition, settings: LoopSettings) -> str:
    """The same for an agent that writes its calls as JSON text: a final response, so that it stops."""
    said = format_stop_message(repeat, settings)
    return orjson.dumps(
        {"thoughts": ["A loop was stopped."], "tool_name": "response", "tool_args": {"text": said}}
    ).decode()


STEP = 0.2
MOST = 1.2
MOST_ABOVE_BASE = 0.5
ANTHROPIC_MOST = 1.0

USUAL_TEMPERATURE = {ApiProtocol.NATIVE: 0.8, ApiProtocol.ANTHROPIC: 0.8, ApiProtocol.OPENAI: 1.0}
REPEAT_PENALTY = 1.15
REPEAT_LAST_N = 256
OPENAI_PENALTY = 0.3
OPENAI_MOST_PENALTY = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParameters:
    """Sampling parameters of the request, or else of the Modelfile. Native options count as parameters."""

    parameters: Mapping[str, float]
    """By the protocol's own names, as the client sent them."""
    of_model: float | None = None
    """The Modelfile's temperature."""
    structured: bool = False


def boost_sampling(
    sampling: SamplingParameters, protocol: ApiProtocol, *, level: int, settings: LoopSettings
) -> dict[str, float]:
    """Parameters to change and their new values; empty if nothing changes."""
    depth = count_levels_in_force("temperature", level, settings)
    asked = sampling.parameters.get("temperature")
    if not depth or sampling.structured or (settings.keep_zero_temperature and asked == 0):
        return {}
    changed: dict[str, float] = {"temperature": _temperature(sampling, protocol, depth)}
    if "seed" in sampling.parameters:
        changed["seed"] = int(sampling.parameters["seed"]) + depth
    wanted = _penalties(protocol, depth)
    return changed | {name: max(value, sampling.parameters.get(name, value)) for name, value in wanted.items()}


def _temperature(sampling: SamplingParameters, protocol: ApiProtocol, depth: int) -> float:
    base = sampling.parameters.get("temperature", sampling.of_model)
    if base is None:
        base = USUAL_TEMPERATURE[protocol]
    most = ANTHROPIC_MOST if protocol is ApiProtocol.ANTHROPIC else min(MOST, base + MOST_ABOVE_BASE)
    return max(base, round(min(base + STEP * depth, most), 4))


def _penalties(protocol: ApiProtocol, depth: int) -> dict[str, float]:
    if protocol is ApiProtocol.NATIVE:
        return {"repeat_penalty": REPEAT_PENALTY, "repeat_last_n": REPEAT_LAST_N}
    if protocol is ApiProtocol.OPENAI:
        penalty = OPENAI_PENALTY if depth == 1 else OPENAI_MOST_PENALTY
        return {"frequency_penalty": penalty, "presence_penalty": penalty}
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningPlan:
    """Messages to remove from a history, by index."""

    left_out: tuple[int, ...]
    after: int
    """The message to which the line is appended."""
    line: str


def prune_threshold(repeat: LoopRepetition, settings: LoopSettings) -> int:
    """The number of rounds at which a loop of this weight is first pruned."""
    level = settings.ladder.index("prune") if "prune" in settings.ladder else len(settings.thresholds) - 1
    return ceil(settings.thresholds[level] * repeat.count / repeat.evidence)


def plan_pruning(
    history: Sequence[ChatMessage],
    items: Sequence[Item],
    repeat: LoopRepetition,
    *,
    keep: int,
    until: int | None = None,
) -> PruningPlan | None:
    """Plan how to shorten this history, whose own steps are `items`; `None` if nothing can be removed.

    `until` is the number of repeats at which the loop was first pruned: later rounds stay.
    """
    rounds = _find_rounds(items, repeat)
    hidden = max(0, repeat.count - len(rounds))
    counted = len(rounds) if until is None else min(len(rounds), until - hidden)
    gone = rounds[1 : max(1, counted - (keep - 1))]
    # Remove up to the start of the next round, so that a framework's words about a step go with it.
    ends = [following[0].first for following in rounds[2 : 2 + len(gone)]]
    indexes = [at for one, end in zip(gone, ends, strict=True) for at in range(one[0].first, end)]
    if not indexes or not all(_is_removable(history[at]) for at in indexes):
        return None
    if not _is_disjoint(rounds) or not _is_periodic(rounds):
        return None
    line = f"[{len(gone)} repeated rounds of {len(repeat.block)} steps were left out here.]"
    return PruningPlan(left_out=tuple(indexes), after=indexes[0] - 1, line=line)


def _find_rounds(items: Sequence[Item], repeat: LoopRepetition) -> list[Sequence[Item]]:
    """The repeated rounds in this history, oldest first, from where the loop began."""
    size = len(repeat.block)
    count = min(repeat.count, len(items) // size)
    start = len(items) - count * size
    while start and start + size <= len(items) and _is_same(items[start - 1], items[start - 1 + size]):
        start -= 1
    return [items[at : at + size] for at in range(start, start + count * size, size)]


def _is_same(one: Item, other: Item) -> bool:
    if isinstance(one, AnswerStep) or isinstance(other, AnswerStep):
        return isinstance(one, AnswerStep) and isinstance(other, AnswerStep) and one.key.exact == other.key.exact
    return one.whole == other.whole


def _is_disjoint(rounds: Sequence[Sequence[Item]]) -> bool:
    """Whether no two rounds share a message, as parallel calls of one turn would."""
    spans = list(_spans(rounds))
    return all(before < after for (_, before), (after, _) in pairwise(spans))


def _is_periodic(rounds: Sequence[Sequence[Item]]) -> bool:
    """Whether rounds of several steps have them in the same order."""
    return len(rounds[0]) == 1 or all(
        _is_same(one, other) for before, after in pairwise(rounds) for one, other in zip(before, after, strict=True)
    )


def _spans(rounds: Sequence[Sequence[Item]]) -> Iterator[tuple[int, int]]:
    for one in rounds:
        yield min(item.first for item in one), max(item.last for item in one)


def _is_removable(message: ChatMessage) -> bool:
    return not message.by_person and message.role is not ChatRole.SYSTEM


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


def build_sampling_boost(
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


def build_reply_limit(request: ChatRequest) -> dict[str, float]:
    """A limit for a reply that has none."""
    given, names = _find_parameters(request), _LIMITS[request.kind]
    if given is None or any(_is_number(given.get(name)) and given[name] > 0 for name in names):
        return {}
    return {names[0]: LIMIT}


def build_parameter_patch(request: ChatRequest, parameters: Mapping[str, float]) -> MemberUpdate | None:
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
    return ElementsRemoval(path=listed, indexes=tuple(sorted(gone)))


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
    steps = steps_up_to_level(case.repeat.level, settings) if case.repeat else ()
    nudged = _nudge_patches(request, case) if "nudge" in steps else []
    pruned = _prune(request, case, settings) if "prune" in steps else []
    boost = _boost(request, case, settings)
    limit = build_reply_limit(request) if case.limited else {}
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
    return build_sampling_boost(request, level=case.repeat.level, settings=settings, of_model=case.temperature)


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
            for path, text, offset in iter_turn_texts(request, turn):
                short = len(remove_repeated_end(text))
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
        case ElementsRemoval():
            return edit.path[: len(patch.path)] == patch.path and edit.path[len(patch.path)] in patch.indexes
    return False
