"""Asks other stores for the same texts, and times them.

Each runs in its own environment and process and speaks JSON lines; `benchmarks/peers/wire/lines.py` defines
the protocol. All get the same texts and vectors, and nothing to embed with. One that does not install,
crashes or takes too long is reported as not run, with the reason.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import peer_systems as peers
from benchmarks.result import System, SystemKind, SystemStatus
from benchmarks.server import bare_environment
from benchmarks.suite import Bench
from festinger.errors import Unavailable

STORES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    peers.MEM0: ("mem0ai", {"infer": False, "vector_store": "chroma", "filled": "through its vector store"}),
    peers.CHROMA: ("chromadb", {"space": "cosine", "client": "persistent"}),
    peers.LANGGRAPH: ("langgraph", {"store": "InMemoryStore", "index": "reads every vector"}),
    peers.PGVECTOR: ("pgvector", {"index": "hnsw, m 16, ef_construction 128, ef_search 100"}),
}
"""The stores: the package whose version counts, and the features switched on."""

SCRIPTS = peers.ROOT / "benchmarks" / "peers"
WIRE = SCRIPTS / "wire"
"""Alone on their path: a folder named like a package would shadow it."""
LINE = 2**26
"""The longest line that is read: the ids of thousands of questions."""
LAST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoreTexts:
    """Texts with a vector each."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]

    def write(self, folder: Path, name: str) -> dict[str, str]:
        """Write them to files; returns the paths as a peer receives them."""
        texts, vectors = folder / f"{name}.json", folder / f"{name}.npy"
        texts.write_text(json.dumps(list(self.texts)), encoding="utf-8")
        np.save(vectors, self.vectors)
        return {"texts": str(texts), "vectors": str(vectors)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAnswers:
    """What a store answered, and how long each answer took."""

    fill_seconds: float
    seconds: Sequence[float]
    ids: Sequence[Sequence[int]]


async def asked_of(
    name: str, bench: Bench, *, held: StoreTexts, cues: StoreTexts, limit: int
) -> tuple[System, StoreAnswers | None]:
    """Fill a store and ask it; the system with its answers, or with the reason why there are none."""
    package, params = STORES[name]
    system = System(name=name, kind=SystemKind.PEER, params={**params, "memories": len(held.texts)})
    try:
        python = await peers.python_of(name, bench)
        system = replace(system, version=await peers.version_of(package, python))
        bench.say(f"Filling and asking {name}.")
        async with asyncio.timeout(bench.peer_patience_s):
            return system, await _asked(name, python, bench, held=held, cues=cues, limit=limit)
    except TimeoutError:
        reason = f"it took longer than {bench.peer_patience_s:g} s"
        return replace(system, status=SystemStatus.NOT_RUN, reason=reason), None
    except Unavailable as error:
        return replace(system, status=SystemStatus.NOT_RUN, reason=error.message), None


async def _asked(
    name: str, python: Path, bench: Bench, *, held: StoreTexts, cues: StoreTexts, limit: int
) -> StoreAnswers:
    folder = bench.folder / name
    folder.mkdir()
    errors = (folder / "said.log").open("wb")
    with errors:
        process = await asyncio.create_subprocess_exec(
            *(str(python), str(SCRIPTS / name / "store.py"), str(folder / "data")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=LINE,
            cwd=folder,
            env=bare_environment(folder, PYTHONPATH=str(WIRE), ANONYMIZED_TELEMETRY="False"),
        )
        try:
            filled = await _line(process, {"do": "fill", **held.write(folder, "held")}, folder)
            answered = await _line(process, {"do": "ask", **cues.write(folder, "cues"), "k": limit}, folder)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return StoreAnswers(fill_seconds=filled["seconds"], seconds=answered["seconds"], ids=answered["ids"])


async def _line(process: asyncio.subprocess.Process, question: dict[str, Any], folder: Path) -> Any:
    """A peer's answer to one question."""
    if process.stdin is None or process.stdout is None:
        raise Unavailable("it has no ears")
    try:
        process.stdin.write(json.dumps(question).encode() + b"\n")
        await process.stdin.drain()
        answer = await process.stdout.readline()
    except (ConnectionError, ValueError) as error:
        raise Unavailable(f"it stopped talking: {error}") from error
    if not answer:
        said = (folder / "said.log").read_text(errors="replace").strip()
        raise Unavailable(said.splitlines()[-1][-LAST_WORDS:] if said else "it ended without a word")
    return json.loads(answer)
