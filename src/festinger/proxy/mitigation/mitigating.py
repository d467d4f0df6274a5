"""What is changed in a request of an agent that goes round in circles?

The steps of the ladder up to its level, each in its place, all of them at once: a notice at the tail, sampling, a
shorter history; besides, replies that were cut are sent on without their repetition, and the reply after a cut one
is limited. What has no certain place is left as it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from festinger.proxy.injection.splicing import TextEdit
from festinger.proxy.loops.keys import digest
from festinger.proxy.loops.ladder import steps_at
from festinger.proxy.loops.message import Role
from festinger.proxy.loops.notice import notice
from festinger.proxy.loops.novelty import collapsed
from festinger.proxy.loops.prune import pruned_at, pruning
from festinger.proxy.loops.steps import Item
from festinger.proxy.loops.turns import Repeat
from festinger.proxy.mitigation.patching import Patch, TakeOut, patched
from festinger.proxy.mitigation.sampling import boost_of, limit_of, put
from festinger.proxy.mitigation.shortening import shortened
from festinger.proxy.mitigation.tail import at_end, last_told, strings_of
from festinger.proxy.requests.exact import NotPlain
from festinger.proxy.requests.turn import Request
from festinger.settings.tree import LadderStep, LoopSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What there is to do about a request."""

    repeat: Repeat | None = None
    items: Sequence[Item] = ()
    """The steps of the request's own history."""
    cut: frozenset[bytes] = frozenset()
    """Replies of the session that were cut, by the digests of their words."""
    limited: bool = False
    """Whether the reply before this one was cut."""
    temperature: float | None = None
    """The model's own, if it is known."""
    boosts: bool = True
    """False where the upstream has refused other sampling for this model."""
    speaks: bool = True
    """False where no word may be added or taken: the client writes the prompt itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mitigated:
    body: bytes
    did: tuple[LadderStep, ...] = ()


def mitigated(request: Request, case: Case, settings: LoopSettings) -> Mitigated:
    """The request with everything done to it that its case asks for."""
    steps = steps_at(case.repeat.level, settings) if case.repeat else ()
    nudged = _nudge(request, case) if "nudge" in steps else []
    pruned = _prune(request, case, settings) if "prune" in steps else []
    boost = _boost(request, case, settings)
    limit = limit_of(request) if case.limited else {}
    parameters = put(request, limit | boost)
    folded = [*_folded(request, case)] if settings.collapse_cut_text else []
    patches = [*nudged, *pruned, *([parameters] if parameters else []), *_beside(folded, pruned)]
    if not patches:
        return Mitigated(body=request.body)
    try:
        body = patched(request.body, patches)
    except NotPlain:
        return Mitigated(body=request.body)
    done: dict[LadderStep, bool] = {
        "nudge": bool(nudged),
        "temperature": bool(boost),
        "prune": bool(pruned),
    }
    return Mitigated(body=body, did=tuple(step for step in steps if done.get(step)))


def _nudge(request: Request, case: Case) -> list[Patch]:
    turn = last_told(request) if case.speaks else None
    patch = at_end(request, turn, notice(case.repeat)) if turn and case.repeat else None
    return [patch] if patch else []


def _boost(request: Request, case: Case, settings: LoopSettings) -> dict[str, float]:
    if case.repeat is None or not case.boosts:
        return {}
    return boost_of(request, level=case.repeat.level, settings=settings, of_model=case.temperature)


def _prune(request: Request, case: Case, settings: LoopSettings) -> list[Patch]:
    if case.repeat is None or not case.speaks:
        return []
    plan = pruning(
        request.messages,
        case.items,
        case.repeat,
        keep=settings.keep_steps,
        until=pruned_at(case.repeat, settings),
    )
    return shortened(request, plan) if plan else []


def _folded(request: Request, case: Case) -> Iterator[TextEdit]:
    """Replies that were cut, without what they repeat at their end."""
    if not case.cut or not case.speaks:
        return
    for turn in request.turns:
        if turn.role is Role.ASSISTANT and digest(turn.text.strip()) in case.cut:
            for path, text, offset in strings_of(request, turn):
                short = len(collapsed(text))
                if short < len(text):
                    yield TextEdit(path=path, at=offset + short, until=offset + len(text), text="")


def _beside(folded: Sequence[TextEdit], pruned: Sequence[Patch]) -> Iterator[TextEdit]:
    """Those changes that are not made in what goes as a whole."""
    for edit in folded:
        if not any(_holds(patch, edit) for patch in pruned):
            yield edit


def _holds(patch: Patch, edit: TextEdit) -> bool:
    match patch:
        case TextEdit():
            return patch.path == edit.path and patch.at <= edit.at < (patch.until or patch.at)
        case TakeOut():
            return edit.path[: len(patch.path)] == patch.path and edit.path[len(patch.path)] in patch.indexes
    return False
