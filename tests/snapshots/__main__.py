"""`python -m tests.snapshots`: record the outward surface again, after a change that is meant."""

import asyncio
import shutil
import tempfile
from pathlib import Path

from tests import database
from tests.runtime.server import opened
from tests.snapshots.surface import EXPECTED, SURFACE, as_text, jobs


async def _jobs(url: str, folder: Path) -> str:
    async with opened(url, folder) as app:
        return as_text(jobs(app))


def record() -> None:
    EXPECTED.mkdir(exist_ok=True)
    texts = {name: as_text(collect()) for name, collect in SURFACE.items()}
    folder = Path(tempfile.mkdtemp(prefix="fst-"))
    try:
        texts["jobs"] = asyncio.run(_jobs(database.clone(folder), folder))
    finally:
        database.stop_server(folder)
        shutil.rmtree(folder)
    for name, text in texts.items():
        (EXPECTED / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    record()
