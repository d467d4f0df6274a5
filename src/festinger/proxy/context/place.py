"""Decides which notes go into a request, and where.

Earlier notes go back to their places, so that the upstream's prefix stays; new ones form one block in the
newest user turn or the system text. Forgotten notes are removed and changed ones restated. Pure: `build`
fetches the input. A block may take a small share of the context, and all blocks of a history a larger one.
Whole lines that do not fit are dropped from the end; existing blocks stay, because removing them would change
the prefix.
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
    """Context size in tokens: as requested, else as known of the model."""
    options = request.tree.get("options")
    asked = options.get("num_ctx") if isinstance(options, dict) else None
    if isinstance(asked, int) and asked > 0:
        return asked
    return known or (NATIVE_CONTEXT if request.kind.is_native else OTHER_CONTEXT)


def block_token_budget(settings: ProxySettings, *, context: int, standing: Iterable[ContextBlock] = ()) -> int:
    """Tokens that a new block may have; 0 if existing blocks have used up their share."""
    left = int(context * VISIBLE_SHARE) - sum(block.tokens for block in standing)
    most = min(settings.recollection_max_tokens, int(context * settings.recollection_max_share))
    return max(0, min(most, left))


def fit_block(block: ContextBlock, tokens: int) -> ContextBlock | None:
    """Keep as many lines as fit; `None` if not even the first does."""
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
    """Why the forwarded prefix changed."""

    NOTES = "notes"
    """The notes of the system text changed."""
    FORGOTTEN = "forgotten"
    POSITION = "position"
    """Notes moved to another position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """What can be put into a request."""

    lines: tuple[ContextLine, ...] = ()
    notes: tuple[ContextLine, ...] = ()
    """Lines from memories."""
    unknown: tuple[ContextLine, ...] = ()
    """Names that nothing is known about."""
    present: PresentLines = field(default_factory=dict)
    """Updates for outdated lines of visible blocks."""
    modelfile: Modelfile | None = None
    is_late: bool = False
    is_ready: bool = True
    without: str = MemoryReason.NONE
    """Why there are no memories, if memory has not answered."""
    recall: str = ""
    """Recall id under which the reasons can be looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionResult:
    """A request with its notes."""

    body: bytes
    told: MemoryStatus
    session: ProxySession
    """Its session with the present blocks."""
    fresh: ContextBlock | None = None
    """The block that is new in this request."""
    anchor: bytes | None = None
    """Anchor of the new block; `None` for the system text."""
    moved: PrefixChange | None = None
    cut: tuple[ContextLine, ...] = ()
    """Lines that did not fit."""
    late: tuple[str, ...] = ()
    """Sources that were late or failed: the world, the memory."""
    recall: str = ""


def may_add_notes_this_turn(parsed: ParsedRequest, settings: ProxySettings) -> bool:
    """After a tool result, new notes wait for the user's next turn, unless a setting allows them."""
    return settings.inject_into_tool_messages or not ends_with_tool_results(parsed.request)


def inject_context(parsed: ParsedRequest, brought: ContextInput, *, settings: ProxySettings) -> InjectionResult:
    """Reinsert the notes of the history and add at most one new block."""
    request, session, links = parsed.request, parsed.session, parsed.chain.links
    if may_add_notes_this_turn(parsed, settings) and brought.is_ready:
        session = replace(session, asked=links[-1])
    kept = _remove_forgotten(session, brought.present)
    standing = find_placed_blocks(request, links, kept.blocks)
    case = _BlockPlacer(parsed=parsed, session=kept, standing=standing, brought=brought, settings=settings)
    chosen = case.in_system() or case.in_turn()
    result = insert_blocks(
        request,
        standing if chosen.joining is None else (*standing, chosen.joining),
        mark=parsed.mark,
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
    """A new block, as far as there was content and space."""

    block: ContextBlock | None = None
    cut: tuple[ContextLine, ...] = ()

    @property
    def why_not(self) -> StrEnum:
        return SkipReason.FULL if self.block is None and self.cut else MemoryReason.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placement:
    """Where new notes go."""

    fresh: ContextBlock | None = None
    joining: PlacedBlock | None = None
    """The new block in its turn, if it is in one."""
    system: ContextBlock | None = None
    """The block of the system text, new or not."""
    why_not: StrEnum = MemoryReason.NONE
    """Why there is no new block."""
    above: bool = False
    """Whether notes are in the system text."""
    cut: tuple[ContextLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockPlacer:
    """A request with the blocks of its history, and what to put in."""

    parsed: ParsedRequest
    session: ProxySession
    standing: Sequence[PlacedBlock]
    brought: ContextInput
    settings: ProxySettings

    @property
    def position(self) -> Position:
        return Position(self.settings.injection_position)

    def in_system(self) -> _Placement | None:
        """Place the notes in the system text; `None` if they must go into the turn."""
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
        """Place the new notes in the newest user turn."""
        request, links = self.parsed.request, self.parsed.chain.links
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
        """Whether the system text can carry a block."""
        request, modelfile = self.parsed.request, self.brought.modelfile
        return build_system_edit(request, "", position=self.position, modelfile=modelfile) is not None

    def _carries(self) -> bool:
        """Whether a proxy before this one has added its block."""
        request = self.parsed.request
        system = next((turn for turn in request.turns if turn.role is ChatRole.SYSTEM), None)
        return any(turn is not None and turn.carries for turn in (system, request.newest_user))

    def _person_spoke(self) -> bool:
        user = self.parsed.request.newest_user
        return user is not None and user.by_person and self.parsed.chain.end not in self.session.links

    def _made(self, *, instead: ContextBlock | None = None) -> _BlockDraft:
        """Build a block of what no visible block says yet, if there is space.

        If it replaces another block, it also repeats that block's unchanged lines.
        """
        brought, request = self.brought, self.parsed.request
        if not (brought.lines or brought.notes or brought.unknown or brought.present):
            return _BlockDraft()
        blocks = [each.block for each in self.standing]
        shown = shown_lines(blocks if instead is None else (*blocks, instead))
        along = find_incoming_lines(request, self.parsed.mark)
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
    """The session after this placement."""
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
    """Why the prefix changed, if so."""
    if forgotten_notes(present):
        return PrefixChange.FORGOTTEN
    if before.system_block is None or chosen.system == before.system_block:
        return None
    return PrefixChange.NOTES if chosen.above else PrefixChange.POSITION
