"""What is written down of what passes through, and what is read back?

The port through which the door leaves its traces. Everything but `recall` returns at once; who writes is `recording`.
"""

from collections.abc import Sequence
from typing import Protocol

from festinger.events.event import Happening
from festinger.ids import SpaceId
from festinger.proxy.drafting import Noted
from festinger.proxy.exchange import Exchange
from festinger.proxy.passed import Passed
from festinger.proxy.sessions.session import Session
from festinger.proxy.tap import Stored
from festinger.proxy.understanding import Understood
from festinger.settings.tree import ProxySettings


class Chronicle(Protocol):
    async def recall(self, understood: Understood, *, settings: ProxySettings) -> Sequence[Session]:
        """Sessions that the store knows better than this process; none if it does not."""

    def keep(self, understood: Understood, note: Noted, session: Session) -> None:
        """A request goes on, with these notes, and leaves its session so."""

    def take(self, exchange: Exchange) -> Stored | None:
        """Capture an exchange that is over; done once it is on disk. None if it is not captured."""

    def happened(self, space: SpaceId, happenings: Sequence[Happening]) -> None:
        """Something happened that belongs to no exchange."""

    def passed(self, request: Passed) -> None:
        """A request is over, however it ended."""


class NoChronicle:
    """Writes nothing down."""

    async def recall(self, understood: Understood, *, settings: ProxySettings) -> Sequence[Session]:
        return ()

    def keep(self, understood: Understood, note: Noted, session: Session) -> None:
        pass

    def take(self, exchange: Exchange) -> Stored | None:
        return None

    def happened(self, space: SpaceId, happenings: Sequence[Happening]) -> None:
        pass

    def passed(self, request: Passed) -> None:
        pass
