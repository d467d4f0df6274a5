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

from festinger.proxy.context.edit import (
    BlockPosition,
    Modelfile,
    PlacedBlock,
    PresentLines,
    build_system_edit,
    build_turn_edit,
    choose_block_turn,
    choose_system_block,
    correction_lines,
    ends_with_tool_results,
    find_block_lines_of_earlier_proxy,
    find_placed_blocks,
    forgotten_notes,
    insert_blocks,
    lines_by_subject,
    remove_forgotten_notes,
    remove_notes,
    select_new_lines,
)
from festinger.proxy.headers import MemoryReason, MemoryResult, MemoryStatus
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.json_edit import AmbiguousJsonError
from festinger.proxy.protocols.messages import ChatRequest, SkipReason
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.session import ProxySession
from festinger.services.block import ContextBlock, ContextLine, LineReason, build_block, fit_block
from festinger.services.recollect import MEMORY, has_memory_note
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


WORLD = "world"


class PrefixChange(StrEnum):
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


def may_add_notes_this_turn(ctx: RequestContext) -> bool:
    """After a tool result, new notes wait for the user's next turn, unless a setting allows them."""
    return ctx.settings.proxy.inject_into_tool_messages or not ends_with_tool_results(ctx.chat)


def inject_context(ctx: RequestContext, found: ContextInput) -> None:
    """Reinsert the notes of the history and add at most one new block."""
    links = ctx.chain.links
    if may_add_notes_this_turn(ctx) and found.is_ready:
        ctx.session = replace(ctx.session, asked=links[-1])
    before = ctx.session
    kept = _remove_forgotten(before, found.present)
    standing = find_placed_blocks(ctx.chat, links, kept.blocks)
    placer = _BlockPlacer(ctx=ctx, session=kept, standing=standing, found=found)
    chosen = placer.in_system() or placer.in_turn()
    try:
        body, placed = insert_blocks(
            ctx.chat,
            standing if chosen.joining is None else (*standing, chosen.joining),
            mark=ctx.mark,
            system=chosen.system,
            position=placer.position,
            modelfile=found.modelfile,
        )
    except AmbiguousJsonError:
        ctx.memory_status = MemoryStatus(result=MemoryResult.OFF, reason=SkipReason.NO_PLACE)
        return
    if body is not ctx.chat.body:
        ctx.body = body
    ctx.memory_status = _build_memory_status(found, chosen, placed=placed)
    ctx.session = _update_session(kept, chosen)
    ctx.block = chosen.fresh
    ctx.anchor = chosen.joining.anchor if chosen.joining else None
    ctx.prefix_change = _find_prefix_change(before, chosen, found.present)
    ctx.dropped_lines = chosen.cut
    ctx.late = _late_sources(found)
    ctx.recall = found.recall


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

    ctx: RequestContext
    session: ProxySession
    standing: Sequence[PlacedBlock]
    found: ContextInput

    @property
    def position(self) -> BlockPosition:
        return BlockPosition(self.ctx.settings.proxy.injection_position)

    def in_system(self) -> _Placement | None:
        """Place the notes in the system text; `None` if they must go into the turn."""
        if self.position is BlockPosition.TURN or not self._has_system():
            return None
        if self._has_foreign_block():
            return _Placement(why_not=SkipReason.ALREADY, above=True)
        before = self.session.system_block
        block, cut = self._build(instead=before)
        after, changed = choose_system_block(before, block, new_person_turn=self._person_spoke())
        return _Placement(
            fresh=after if changed or before is None else None,
            system=after,
            why_not=_find_full_reason(block, cut),
            above=True,
            cut=cut,
        )

    def in_turn(self) -> _Placement:
        """Place the new notes in the newest user turn."""
        request, links = self.ctx.chat, self.ctx.chain.links
        spot = choose_block_turn(
            request,
            links,
            forwarded=frozenset(self.session.links),
            tools_may_carry=self.ctx.settings.proxy.inject_into_tool_messages,
        )
        if isinstance(spot, SkipReason):
            return _Placement(why_not=spot)
        if self._has_foreign_block():
            return _Placement(why_not=SkipReason.ALREADY)
        turn, anchor = spot
        if build_turn_edit(request, turn, "") is None:
            return _Placement(why_not=SkipReason.NO_PLACE)
        block, cut = self._build()
        if block is None:
            return _Placement(why_not=_find_full_reason(block, cut), cut=cut)
        return _Placement(fresh=block, joining=PlacedBlock(turn=turn, anchor=anchor, block=block), cut=cut)

    def _has_system(self) -> bool:
        request, modelfile = self.ctx.chat, self.found.modelfile
        return build_system_edit(request, "", position=self.position, modelfile=modelfile) is not None

    def _has_foreign_block(self) -> bool:
        """Whether a proxy before this one has added its block."""
        request = self.ctx.chat
        system = next((turn for turn in request.turns if turn.role is ChatRole.SYSTEM), None)
        return any(turn is not None and turn.carries for turn in (system, request.newest_user_turn))

    def _person_spoke(self) -> bool:
        user = self.ctx.chat.newest_user_turn
        return user is not None and user.by_person and self.ctx.chain.end not in self.session.links

    def _build(self, *, instead: ContextBlock | None = None) -> tuple[ContextBlock | None, tuple[ContextLine, ...]]:
        """Build a block of what no visible block says yet, if there is space; also return what did not fit.

        If it replaces another block, it also repeats that block's unchanged lines.
        """
        found, request = self.found, self.ctx.chat
        if not (found.lines or found.notes or found.unknown or found.present):
            return None, ()
        blocks = [each.block for each in self.standing]
        shown = lines_by_subject(blocks if instead is None else (*blocks, instead))
        along = find_block_lines_of_earlier_proxy(request, self.ctx.mark)
        changed = _with_reason(
            LineReason.CHANGED, correction_lines({about: now for about, now in found.present.items() if about in shown})
        )
        said = select_new_lines((*changed, *found.lines, *found.notes), shown)
        lines = [line for line in said if line.text not in along]
        if not lines and not found.unknown:
            return None, ()
        subjects = {line.about for line in lines}
        older = [line for line in instead.lines if line.about and line.about not in subjects] if instead else []
        lines += _with_reason(LineReason.STOOD, older)
        made = build_block(
            self.ctx.settings.proxy.label,
            graph=[line for line in lines if not has_memory_note(line)],
            notes=[line for line in lines if has_memory_note(line)],
            unknown=_with_reason(LineReason.UNKNOWN, found.unknown),
        )
        if made is None:
            return None, ()
        context = context_window(request, known=found.modelfile.context if found.modelfile else None)
        fitting = fit_block(made, block_token_budget(self.ctx.settings.proxy, context=context, standing=blocks))
        return fitting, made.lines[len(fitting.lines) if fitting else 0 :]


def _find_full_reason(block: ContextBlock | None, cut: tuple[ContextLine, ...]) -> StrEnum:
    return SkipReason.FULL if block is None and cut else MemoryReason.NONE


def _with_reason(why: LineReason, lines: Iterable[ContextLine]) -> list[ContextLine]:
    return [replace(line, why=why) for line in lines]


def _update_session(session: ProxySession, chosen: _Placement) -> ProxySession:
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
        blocks=remove_forgotten_notes(session.blocks, present),
        system_block=remove_notes(above, gone) if above is not None else None,
    )


def _build_memory_status(found: ContextInput, chosen: _Placement, *, placed: int) -> MemoryStatus:
    fresh, why_not = chosen.fresh, chosen.why_not
    if fresh is not None and placed:
        return MemoryStatus(
            result=MemoryResult.INJECTED, reason=found.without, notes=len(fresh.lines), tokens=fresh.tokens
        )
    if found.is_late:
        return MemoryStatus(result=MemoryResult.LATE)
    if not found.is_ready:
        return MemoryStatus(result=MemoryResult.NOT_READY)
    if found.without:
        is_late = found.without in (MemoryReason.RECALL, MemoryReason.BUSY, MemoryReason.WORDS)
        return MemoryStatus(result=MemoryResult.LATE if is_late else MemoryResult.FAILED, reason=found.without)
    if placed:
        return MemoryStatus(result=MemoryResult.REUSED, reason=why_not)
    result = MemoryResult.OFF if why_not is SkipReason.ALREADY else MemoryResult.EMPTY
    return MemoryStatus(result=result, reason=why_not)


def _late_sources(found: ContextInput) -> tuple[str, ...]:
    silent = {WORLD: found.is_late, MEMORY: bool(found.without)}
    return tuple(who for who, is_silent in silent.items() if is_silent)


def _find_prefix_change(before: ProxySession, chosen: _Placement, present: PresentLines) -> PrefixChange | None:
    if forgotten_notes(present):
        return PrefixChange.FORGOTTEN
    if before.system_block is None or chosen.system == before.system_block:
        return None
    return PrefixChange.NOTES if chosen.above else PrefixChange.POSITION
