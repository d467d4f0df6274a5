"""Which notes go into a request, and where?

Notes of earlier turns go in again at their places, so that the upstream's prefix stays; what is new to say makes
one block, in the newest turn of the user or in the system text. What was forgotten since comes out, and what
changed is said again. Pure: what there is to say comes in, the request with it goes out. Who asks for it is
`noting`.

How much room do notes have in a prompt?

A block takes a small share of the context, and all blocks that stand in a history a larger one. What does not fit
is left out by whole lines from the end; what already stands stays, because taking it out would move the prefix.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from festinger.proxy.context.block import (
    ContextBlock,
    ContextLine,
    LineReason,
    PlacedBlock,
    PresentLines,
    build_block,
    choose_system_block,
    correction_lines,
    ends_with_tool_results,
    find_carrier_turn,
    find_placed_blocks,
    forgotten_notes,
    remove_forgotten,
    remove_notes,
    select_new_lines,
    shown_lines,
)
from festinger.proxy.context.edit import (
    Modelfile,
    Position,
    build_system_edit,
    build_turn_edit,
    find_incoming_lines,
    insert_blocks,
)
from festinger.proxy.context.memories import MEMORY, is_memory_line
from festinger.proxy.headers import MemoryReason, MemoryResult, MemoryStatus
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.parsed_request import ParsedRequest
from festinger.proxy.protocols.messages import ChatRequest, SkipReason
from festinger.proxy.sessions.session import ProxySession
from festinger.settings.tree import ProxySettings

NATIVE_CONTEXT = 4096
OTHER_CONTEXT = 32_768
VISIBLE_SHARE = 0.15


def context_window(request: ChatRequest, *, known: int | None = None) -> int:
    """Tokens that the model can read: what the request asks for, else what is known of the model."""
    options = request.tree.get("options")
    asked = options.get("num_ctx") if isinstance(options, dict) else None
    if isinstance(asked, int) and asked > 0:
        return asked
    return known or (NATIVE_CONTEXT if request.kind.is_native else OTHER_CONTEXT)


def block_token_budget(settings: ProxySettings, *, context: int, standing: Iterable[ContextBlock] = ()) -> int:
    """Tokens that a new block may have; 0 if the standing ones have used up their share."""
    left = int(context * VISIBLE_SHARE) - sum(block.tokens for block in standing)
    most = min(settings.recollection_max_tokens, int(context * settings.recollection_max_share))
    return max(0, min(most, left))


def fit_block(block: ContextBlock, tokens: int) -> ContextBlock | None:
    """The block with as many of its lines as fit; none if not even the first does."""
    low, high = 0, len(block.lines)
    while low < high:
        middle = (low + high + 1) // 2
        if replace(block, lines=block.lines[:middle]).tokens <= tokens:
            low = middle
        else:
            high = middle - 1
    return replace(block, lines=block.lines[:low]) if low else None


WORLD = "world"


class PrefixChange(StrEnum):
    """Why what was forwarded before is no longer the beginning of what is forwarded now."""

    NOTES = "notes"
    """The block of the system text has other notes."""
    FORGOTTEN = "forgotten"
    POSITION = "position"
    """Notes are put elsewhere than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """What there is to put into a request."""

    lines: tuple[ContextLine, ...] = ()
    notes: tuple[ContextLine, ...] = ()
    """Of memories."""
    unknown: tuple[ContextLine, ...] = ()
    """Of names that nothing is known about."""
    present: PresentLines = field(default_factory=dict)
    """What the visible blocks tell and is no longer so."""
    modelfile: Modelfile | None = None
    is_late: bool = False
    is_ready: bool = True
    without: str = MemoryReason.NONE
    """Why there are no memories, if the memory has not answered."""
    recall: str = ""
    """Under which id can be looked up why these memories came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionResult:
    """A request with its notes."""

    body: bytes
    told: MemoryStatus
    session: ProxySession
    """Its session with the blocks that it now has."""
    fresh: ContextBlock | None = None
    """The block that is new in this request."""
    anchor: bytes | None = None
    """Where the new block stands; none for the system text."""
    moved: PrefixChange | None = None
    cut: tuple[ContextLine, ...] = ()
    """What there was to say and no room for."""
    late: tuple[str, ...] = ()
    """Who had something to say and did not say it in time, or could not: the world, the memory."""
    recall: str = ""


def can_add_notes(understood: ParsedRequest, settings: ProxySettings) -> bool:
    """On a turn that ends with the result of a tool what there is to say waits for the user's next turn."""
    return settings.inject_into_tool_messages or not ends_with_tool_results(understood.request)


def inject_context(understood: ParsedRequest, brought: ContextInput, *, settings: ProxySettings) -> InjectionResult:
    """The request with the notes of its history and, where there is something new to say, one new block."""
    request, session, links = understood.request, understood.session, understood.chain.links
    if can_add_notes(understood, settings) and brought.is_ready:
        session = replace(session, asked=links[-1])
    kept = _remove_forgotten(session, brought.present)
    standing = find_placed_blocks(request, links, kept.blocks)
    case = _BlockPlacer(understood=understood, session=kept, standing=standing, brought=brought, settings=settings)
    chosen = case.in_system() or case.in_turn()
    result = insert_blocks(
        request,
        standing if chosen.joining is None else (*standing, chosen.joining),
        mark=understood.mark,
        system=chosen.system,
        position=case.position,
        modelfile=brought.modelfile,
    )
    if not result.is_certain:
        told = MemoryStatus(result=MemoryResult.OFF, reason=SkipReason.NO_PLACE)
        return InjectionResult(body=request.body, told=told, session=session)
    return InjectionResult(
        body=result.body,
        told=_build_memory_status(brought, chosen, placed=result.placed),
        session=_update_session(kept, chosen),
        fresh=chosen.fresh,
        anchor=chosen.joining.anchor if chosen.joining else None,
        moved=_find_prefix_change(session, chosen, brought.present),
        cut=chosen.cut,
        late=_late_sources(brought),
        recall=brought.recall,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockDraft:
    """A new block, as far as there was something to say and room for it."""

    block: ContextBlock | None = None
    cut: tuple[ContextLine, ...] = ()

    @property
    def why_not(self) -> StrEnum:
        return SkipReason.FULL if self.block is None and self.cut else MemoryReason.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placement:
    """Where new notes stand."""

    fresh: ContextBlock | None = None
    joining: PlacedBlock | None = None
    """The new block in its turn, where it stands in one."""
    system: ContextBlock | None = None
    """The block of the system text, be it new or not."""
    why_not: StrEnum = MemoryReason.NONE
    """Why there is no new block."""
    above: bool = False
    """Whether notes stand in the system text."""
    cut: tuple[ContextLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockPlacer:
    """A request with the blocks of its history, and what there is to put in."""

    understood: ParsedRequest
    session: ProxySession
    standing: Sequence[PlacedBlock]
    brought: ContextInput
    settings: ProxySettings

    @property
    def position(self) -> Position:
        return Position(self.settings.injection_position)

    def in_system(self) -> _Placement | None:
        """The notes in the system text; nothing if they must go into the turn."""
        if self.position is Position.TURN or not self._has_system():
            return None
        if self._carries():
            return _Placement(why_not=SkipReason.ALREADY, above=True)
        before = self.session.system_block
        made = self._made(instead=before)
        after, changed = choose_system_block(before, made.block, new_person_turn=self._person_spoke())
        return _Placement(
            fresh=after if changed or before is None else None,
            system=after,
            why_not=made.why_not,
            above=True,
            cut=made.cut,
        )

    def in_turn(self) -> _Placement:
        """The new notes in the newest turn of the user."""
        request, links = self.understood.request, self.understood.chain.links
        spot = find_carrier_turn(
            request,
            links,
            forwarded=frozenset(self.session.links),
            tools_may_carry=self.settings.inject_into_tool_messages,
        )
        if isinstance(spot, SkipReason):
            return _Placement(why_not=spot)
        if self._carries():
            return _Placement(why_not=SkipReason.ALREADY)
        turn, anchor = spot
        if build_turn_edit(request, turn, "") is None:
            return _Placement(why_not=SkipReason.NO_PLACE)
        made = self._made()
        if made.block is None:
            return _Placement(why_not=made.why_not, cut=made.cut)
        joining = PlacedBlock(turn=turn, anchor=anchor, block=made.block)
        return _Placement(fresh=made.block, joining=joining, cut=made.cut)

    def _has_system(self) -> bool:
        """Whether a block can stand in the system text."""
        request, modelfile = self.understood.request, self.brought.modelfile
        return build_system_edit(request, "", position=self.position, modelfile=modelfile) is not None

    def _carries(self) -> bool:
        """Whether a door before this one has put its block in."""
        request = self.understood.request
        system = next((turn for turn in request.turns if turn.role is ChatRole.SYSTEM), None)
        return any(turn is not None and turn.carries for turn in (system, request.newest_user))

    def _person_spoke(self) -> bool:
        user = self.understood.request.newest_user
        return user is not None and user.by_person and self.understood.chain.end not in self.session.links

    def _made(self, *, instead: ContextBlock | None = None) -> _BlockDraft:
        """A block of what no visible block tells yet, if there is room for it.

        In the place of another one it tells what that one told, too, as far as it has not changed.
        """
        brought, request = self.brought, self.understood.request
        if not (brought.lines or brought.notes or brought.unknown or brought.present):
            return _BlockDraft()
        blocks = [each.block for each in self.standing]
        shown = shown_lines(blocks if instead is None else (*blocks, instead))
        along = find_incoming_lines(request, self.understood.mark)
        changed = _with_reason(
            LineReason.CHANGED,
            correction_lines({about: now for about, now in brought.present.items() if about in shown}),
        )
        said = select_new_lines((*changed, *brought.lines, *brought.notes), shown)
        lines = [line for line in said if line.text not in along]
        if not lines and not brought.unknown:
            return _BlockDraft()
        told = {line.about for line in lines}
        older = [line for line in instead.lines if line.about and line.about not in told] if instead else []
        lines += _with_reason(LineReason.STOOD, older)
        made = build_block(
            self.settings.label,
            graph=[line for line in lines if not is_memory_line(line)],
            notes=[line for line in lines if is_memory_line(line)],
            unknown=_with_reason(LineReason.UNKNOWN, brought.unknown),
        )
        if made is None:
            return _BlockDraft()
        context = context_window(request, known=brought.modelfile.context if brought.modelfile else None)
        fitting = fit_block(made, block_token_budget(self.settings, context=context, standing=blocks))
        return _BlockDraft(block=fitting, cut=made.lines[len(fitting.lines) if fitting else 0 :])


def _with_reason(why: LineReason, lines: Iterable[ContextLine]) -> list[ContextLine]:
    return [replace(line, why=why) for line in lines]


def _update_session(session: ProxySession, chosen: _Placement) -> ProxySession:
    """The session with what was chosen."""
    blocks = session.blocks
    if chosen.joining is not None:
        blocks = {**blocks, chosen.joining.anchor: chosen.joining.block}
    return replace(session, blocks=blocks, system_block=chosen.system)


def _remove_forgotten(session: ProxySession, present: PresentLines) -> ProxySession:
    gone = forgotten_notes(present)
    if not gone:
        return session
    above = session.system_block
    return replace(
        session,
        blocks=remove_forgotten(session.blocks, present),
        system_block=remove_notes(above, gone) if above is not None else None,
    )


def _build_memory_status(brought: ContextInput, chosen: _Placement, *, placed: int) -> MemoryStatus:
    fresh, why_not = chosen.fresh, chosen.why_not
    if fresh is not None and placed:
        return MemoryStatus(
            result=MemoryResult.INJECTED, reason=brought.without, notes=len(fresh.lines), tokens=fresh.tokens
        )
    if brought.is_late:
        return MemoryStatus(result=MemoryResult.LATE)
    if not brought.is_ready:
        return MemoryStatus(result=MemoryResult.NOT_READY)
    if brought.without:
        is_late = brought.without in (MemoryReason.RECALL, MemoryReason.BUSY, MemoryReason.WORDS)
        return MemoryStatus(result=MemoryResult.LATE if is_late else MemoryResult.FAILED, reason=brought.without)
    if placed:
        return MemoryStatus(result=MemoryResult.REUSED, reason=why_not)
    result = MemoryResult.OFF if why_not is SkipReason.ALREADY else MemoryResult.EMPTY
    return MemoryStatus(result=result, reason=why_not)


def _late_sources(brought: ContextInput) -> tuple[str, ...]:
    silent = {WORLD: brought.is_late, MEMORY: bool(brought.without)}
    return tuple(who for who, is_silent in silent.items() if is_silent)


def _find_prefix_change(before: ProxySession, chosen: _Placement, present: PresentLines) -> PrefixChange | None:
    """Why the prefix does not stay, if it does not."""
    if forgotten_notes(present):
        return PrefixChange.FORGOTTEN
    if before.system_block is None or chosen.system == before.system_block:
        return None
    return PrefixChange.NOTES if chosen.above else PrefixChange.POSITION
