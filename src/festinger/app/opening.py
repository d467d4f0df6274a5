"""What does `festinger.open` give before it is entered?

Nothing but the way in: a memory that is used before it is open would fail somewhere deep, so it is refused at once with
what to write instead.
"""

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from festinger.errors import BadInput

if TYPE_CHECKING:
    from festinger.app.memory import Memory


class Opening(AbstractAsyncContextManager["Memory"]):
    """What `open` gives: a memory once it is entered. Using it before is refused with what to do."""

    def __init__(self, inner: AbstractAsyncContextManager["Memory"]) -> None:
        self._inner = inner

    async def __aenter__(self) -> "Memory":
        return await self._inner.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise BadInput(
            f"`{name}` was asked of a memory that is not open.",
            hint="Write `async with festinger.open() as memory:` and use `memory` inside.",
        )
