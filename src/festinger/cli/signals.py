"""When should a process that stays end?"""

import asyncio
import signal

STOP = (signal.SIGINT, signal.SIGTERM)


async def until_signalled() -> None:
    """Return when the person or the system asks this process to stop."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in STOP:
        loop.add_signal_handler(number, asked.set)
    try:
        await asked.wait()
    finally:
        for number in STOP:
            loop.remove_signal_handler(number)
