"""Who is next when many come at once?

One request in each turn of the loop, in the order in which they came. Whatever else is ready has its turn in between: a
crowd at the door does not stop the answers that are already flowing. Who comes alone passes at once.
"""

import asyncio
from collections import deque


class Turnstile:
    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def passed(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._turn, loop)
            return
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the next one in; whoever went away meanwhile is passed over."""
        while self._waiting:
            if not (waiter := self._waiting.popleft()).done():
                waiter.set_result(None)
                loop.call_soon(self._turn, loop)
                return
        self._is_taken = False
