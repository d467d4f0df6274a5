"""What was said on both sides, when an answer is over?

`Listening` hears one answer and hands the whole exchange on when it has ended. What is learnt, kept or counted from
it is the business of whoever takes it; nothing of that happens in the request.
"""

from collections.abc import Callable
from dataclasses import dataclass

from festinger.events.event import Happening
from festinger.proxy.ending import Ended
from festinger.proxy.framing import Frame
from festinger.proxy.injection.block import Block
from festinger.proxy.overhearing import Watcher
from festinger.proxy.replies.heard import Heard
from festinger.proxy.replies.hearing import ear_for
from festinger.proxy.tap import Ending, Stored
from festinger.proxy.telling import MemoryTold
from festinger.proxy.understanding import Understood
from festinger.text.blocks import without_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, as far as it came."""

    understood: Understood
    told: MemoryTold
    fresh: Block | None
    """The block that was new in it."""
    anchor: bytes | None = None
    """Where the new block stands; none for the system text."""
    heard: Heard
    ended: Ended
    happenings: tuple[Happening, ...] = ()
    """What else happened to it, to be told with it."""


Take = Callable[[Exchange], Stored | None]
"""Takes an exchange that is over; must not wait."""


class Listening:
    """Hears one answer."""

    def __init__(
        self,
        understood: Understood,
        take: Take,
        *,
        told: MemoryTold,
        fresh: Block | None = None,
        anchor: bytes | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self._understood = understood
        self._take = take
        self._told = told
        self._fresh = fresh
        self._anchor = anchor
        self._ear = ear_for(understood.kind)
        self._watcher = watcher
        self._overheard = watcher.overhear(self._ear) if watcher else None

    def hear(self, frame: Frame) -> Ending | None:
        delta = self._ear.hear(frame)
        return self._overheard.hear(frame, delta) if self._overheard else None

    def ended(self, how: Ended, *, unreadable: int) -> Stored | None:
        heard = self._ear.heard()
        return self._take(
            Exchange(
                understood=self._understood,
                told=self._told,
                fresh=self._fresh,
                anchor=self._anchor,
                heard=heard,
                ended=how,
                happenings=self._happenings(heard),
            )
        )

    def _happenings(self, heard: Heard) -> tuple[Happening, ...]:
        if self._watcher is None or self._overheard is None:
            return ()
        return self._watcher.over(self._overheard, without_blocks(heard.text, self._understood.mark))
