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
    Block,
    Line,
    PresentLines,
    Standing,
    Why,
    block,
    carrier,
    corrections,
    ends_with_results,
    forgotten_in,
    rewritten,
    shown_lines,
    standing_in,
    system_block,
    unseen,
    without_forgotten,
)
from festinger.proxy.context.edit import Modelfile, Position, edited, in_system, in_turn, lines_brought_along
from festinger.proxy.context.memories import MEMORY, is_memory
from festinger.proxy.headers import MemoryResult, MemoryTold, Reason
from festinger.proxy.loops.keys import Role
from festinger.proxy.parsed_request import Understood
from festinger.proxy.protocols.messages import Request, Untouched
from festinger.proxy.sessions.session import Session
from festinger.settings.tree import ProxySettings

NATIVE_CONTEXT = 4096
OTHER_CONTEXT = 32_768
VISIBLE_SHARE = 0.15


def context_of(request: Request, *, known: int | None = None) -> int:
    """Tokens that the model can read: what the request asks for, else what is known of the model."""
    options = request.tree.get("options")
    asked = options.get("num_ctx") if isinstance(options, dict) else None
    if isinstance(asked, int) and asked > 0:
        return asked
    return known or (NATIVE_CONTEXT if request.kind.is_native else OTHER_CONTEXT)


def room(settings: ProxySettings, *, context: int, standing: Iterable[Block] = ()) -> int:
    """Tokens that a new block may have; 0 if the standing ones have used up their share."""
    left = int(context * VISIBLE_SHARE) - sum(block.tokens for block in standing)
    most = min(settings.recollection_max_tokens, int(context * settings.recollection_max_share))
    return max(0, min(most, left))


def fitted(block: Block, tokens: int) -> Block | None:
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


class Moved(StrEnum):
    """Why what was forwarded before is no longer the beginning of what is forwarded now."""

    NOTES = "notes"
    """The block of the system text has other notes."""
    FORGOTTEN = "forgotten"
    POSITION = "position"
    """Notes are put elsewhere than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What there is to put into a request."""

    lines: tuple[Line, ...] = ()
    notes: tuple[Line, ...] = ()
    """Of memories."""
    unknown: tuple[Line, ...] = ()
    """Of names that nothing is known about."""
    present: PresentLines = field(default_factory=dict)
    """What the visible blocks tell and is no longer so."""
    modelfile: Modelfile | None = None
    is_late: bool = False
    is_ready: bool = True
    without: str = Reason.NONE
    """Why there are no memories, if the memory has not answered."""
    recall: str = ""
    """Under which id can be looked up why these memories came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A request with its notes."""

    body: bytes
    told: MemoryTold
    session: Session
    """Its session with the blocks that it now has."""
    fresh: Block | None = None
    """The block that is new in this request."""
    anchor: bytes | None = None
    """Where the new block stands; none for the system text."""
    moved: Moved | None = None
    cut: tuple[Line, ...] = ()
    """What there was to say and no room for."""
    late: tuple[str, ...] = ()
    """Who had something to say and did not say it in time, or could not: the world, the memory."""
    recall: str = ""


def may_say_more(understood: Understood, settings: ProxySettings) -> bool:
    """On a turn that ends with the result of a tool what there is to say waits for the user's next turn."""
    return settings.inject_into_tool_messages or not ends_with_results(understood.request)


def noted(understood: Understood, brought: Brought, *, settings: ProxySettings) -> Noted:
    """The request with the notes of its history and, where there is something new to say, one new block."""
    request, session, links = understood.request, understood.session, understood.chain.links
    if may_say_more(understood, settings) and brought.is_ready:
        session = replace(session, asked=links[-1])
    kept = _without_forgotten(session, brought.present)
    standing = standing_in(request, links, kept.blocks)
    case = _Case(understood=understood, session=kept, standing=standing, brought=brought, settings=settings)
    chosen = case.in_system() or case.in_turn()
    result = edited(
        request,
        standing if chosen.joining is None else (*standing, chosen.joining),
        mark=understood.mark,
        system=chosen.system,
        position=case.position,
        modelfile=brought.modelfile,
    )
    if not result.is_certain:
        told = MemoryTold(result=MemoryResult.OFF, reason=Untouched.NO_PLACE)
        return Noted(body=request.body, told=told, session=session)
    return Noted(
        body=result.body,
        told=_told(brought, chosen, placed=result.placed),
        session=_with(kept, chosen),
        fresh=chosen.fresh,
        anchor=chosen.joining.anchor if chosen.joining else None,
        moved=_moved(session, chosen, brought.present),
        cut=chosen.cut,
        late=_late(brought),
        recall=brought.recall,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A new block, as far as there was something to say and room for it."""

    block: Block | None = None
    cut: tuple[Line, ...] = ()

    @property
    def why_not(self) -> StrEnum:
        return Untouched.FULL if self.block is None and self.cut else Reason.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """Where new notes stand."""

    fresh: Block | None = None
    joining: Standing | None = None
    """The new block in its turn, where it stands in one."""
    system: Block | None = None
    """The block of the system text, be it new or not."""
    why_not: StrEnum = Reason.NONE
    """Why there is no new block."""
    above: bool = False
    """Whether notes stand in the system text."""
    cut: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A request with the blocks of its history, and what there is to put in."""

    understood: Understood
    session: Session
    standing: Sequence[Standing]
    brought: Brought
    settings: ProxySettings

    @property
    def position(self) -> Position:
        return Position(self.settings.injection_position)

    def in_system(self) -> _Chosen | None:
        """The notes in the system text; nothing if they must go into the turn."""
        if self.position is Position.TURN or not self._has_system():
            return None
        if self._carries():
            return _Chosen(why_not=Untouched.ALREADY, above=True)
        before = self.session.system_block
        made = self._made(instead=before)
        after, changed = system_block(before, made.block, new_person_turn=self._person_spoke())
        return _Chosen(
            fresh=after if changed or before is None else None,
            system=after,
            why_not=made.why_not,
            above=True,
            cut=made.cut,
        )

    def in_turn(self) -> _Chosen:
        """The new notes in the newest turn of the user."""
        request, links = self.understood.request, self.understood.chain.links
        spot = carrier(
            request,
            links,
            forwarded=frozenset(self.session.links),
            tools_may_carry=self.settings.inject_into_tool_messages,
        )
        if isinstance(spot, Untouched):
            return _Chosen(why_not=spot)
        if self._carries():
            return _Chosen(why_not=Untouched.ALREADY)
        turn, anchor = spot
        if in_turn(request, turn, "") is None:
            return _Chosen(why_not=Untouched.NO_PLACE)
        made = self._made()
        if made.block is None:
            return _Chosen(why_not=made.why_not, cut=made.cut)
        joining = Standing(turn=turn, anchor=anchor, block=made.block)
        return _Chosen(fresh=made.block, joining=joining, cut=made.cut)

    def _has_system(self) -> bool:
        """Whether a block can stand in the system text."""
        request, modelfile = self.understood.request, self.brought.modelfile
        return in_system(request, "", position=self.position, modelfile=modelfile) is not None

    def _carries(self) -> bool:
        """Whether a door before this one has put its block in."""
        request = self.understood.request
        system = next((turn for turn in request.turns if turn.role is Role.SYSTEM), None)
        return any(turn is not None and turn.carries for turn in (system, request.newest_user))

    def _person_spoke(self) -> bool:
        user = self.understood.request.newest_user
        return user is not None and user.by_person and self.understood.chain.end not in self.session.links

    def _made(self, *, instead: Block | None = None) -> _Made:
        """A block of what no visible block tells yet, if there is room for it.

        In the place of another one it tells what that one told, too, as far as it has not changed.
        """
        brought, request = self.brought, self.understood.request
        if not (brought.lines or brought.notes or brought.unknown or brought.present):
            return _Made()
        blocks = [each.block for each in self.standing]
        shown = shown_lines(blocks if instead is None else (*blocks, instead))
        along = lines_brought_along(request, self.understood.mark)
        changed = _because(
            Why.CHANGED,
            corrections({about: now for about, now in brought.present.items() if about in shown}),
        )
        said = unseen((*changed, *brought.lines, *brought.notes), shown)
        lines = [line for line in said if line.text not in along]
        if not lines and not brought.unknown:
            return _Made()
        told = {line.about for line in lines}
        older = [line for line in instead.lines if line.about and line.about not in told] if instead else []
        lines += _because(Why.STOOD, older)
        made = block(
            self.settings.label,
            graph=[line for line in lines if not is_memory(line)],
            notes=[line for line in lines if is_memory(line)],
            unknown=_because(Why.UNKNOWN, brought.unknown),
        )
        if made is None:
            return _Made()
        context = context_of(request, known=brought.modelfile.context if brought.modelfile else None)
        fitting = fitted(made, room(self.settings, context=context, standing=blocks))
        return _Made(block=fitting, cut=made.lines[len(fitting.lines) if fitting else 0 :])


def _because(why: Why, lines: Iterable[Line]) -> list[Line]:
    return [replace(line, why=why) for line in lines]


def _with(session: Session, chosen: _Chosen) -> Session:
    """The session with what was chosen."""
    blocks = session.blocks
    if chosen.joining is not None:
        blocks = {**blocks, chosen.joining.anchor: chosen.joining.block}
    return replace(session, blocks=blocks, system_block=chosen.system)


def _without_forgotten(session: Session, present: PresentLines) -> Session:
    gone = forgotten_in(present)
    if not gone:
        return session
    above = session.system_block
    return replace(
        session,
        blocks=without_forgotten(session.blocks, present),
        system_block=rewritten(above, gone) if above is not None else None,
    )


def _told(brought: Brought, chosen: _Chosen, *, placed: int) -> MemoryTold:
    fresh, why_not = chosen.fresh, chosen.why_not
    if fresh is not None and placed:
        return MemoryTold(
            result=MemoryResult.INJECTED, reason=brought.without, notes=len(fresh.lines), tokens=fresh.tokens
        )
    if brought.is_late:
        return MemoryTold(result=MemoryResult.LATE)
    if not brought.is_ready:
        return MemoryTold(result=MemoryResult.NOT_READY)
    if brought.without:
        is_late = brought.without in (Reason.RECALL, Reason.BUSY, Reason.WORDS)
        return MemoryTold(
            result=MemoryResult.LATE if is_late else MemoryResult.FAILED, reason=brought.without
        )
    if placed:
        return MemoryTold(result=MemoryResult.REUSED, reason=why_not)
    result = MemoryResult.OFF if why_not is Untouched.ALREADY else MemoryResult.EMPTY
    return MemoryTold(result=result, reason=why_not)


def _late(brought: Brought) -> tuple[str, ...]:
    silent = {WORLD: brought.is_late, MEMORY: bool(brought.without)}
    return tuple(who for who, is_silent in silent.items() if is_silent)


def _moved(before: Session, chosen: _Chosen, present: PresentLines) -> Moved | None:
    """Why the prefix does not stay, if it does not."""
    if forgotten_in(present):
        return Moved.FORGOTTEN
    if before.system_block is None or chosen.system == before.system_block:
        return None
    return Moved.NOTES if chosen.above else Moved.POSITION
