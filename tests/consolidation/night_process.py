"""Runs nights in processes of their own, which a test may kill.

`python -m tests.consolidation.night_process` reads the arguments of a night from each line, forks a process that runs it,
and writes its pid, then how it ended. To load everything once makes a night quick to start.
"""

import asyncio
import json
import os
import sys
import traceback
from datetime import datetime
from pathlib import Path
from uuid import UUID

from tests.consolidation.sleeper import sleeping, with_model
from tests.stories.test_killed_nights import SETTINGS, busy

from festinger.consolidation.run import run_night
from festinger.ids import MAIN_SPACE


async def live(database: str, folder: str, night: str, moment: str, seed: int) -> None:
    now = datetime.fromisoformat(moment)
    async with sleeping(database, Path(folder), now=now, seed=seed, **SETTINGS) as at:
        await run_night(with_model(at.deps, busy()), MAIN_SPACE, UUID(night))


def run_forked(*arguments: str) -> None:
    try:
        asyncio.run(live(*arguments))  # type: ignore[arg-type]
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run_forked(*json.loads(line))
        print(child, file=answers, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


if __name__ == "__main__":
    main()
