"""Measures recalls of a process with a large memory.

Runs as a process on its own home. `python -m benchmarks.recalling FILE AMOUNT SEED` fills the memory up to
each size with statements of `large_memory`, and there measures recalls: the first ones, warm ones, long cues,
eight callers at once, and those of a small space next to the large one. Results go into the file as JSON.

Statements are stored without being compared with each other: `remembering` measures learning. Vectors come
from the toy of 384 dimensions and are made beforehand; the toy gets the thresholds of the reference, or
nothing would be searched by meaning at all.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from uuid import UUID

import psutil

from benchmarks.large_memory import LONG_CUE_WORDS, cues, statements
from benchmarks.leading import led_on
from benchmarks.start import family_of, held_by
from benchmarks.suite import silence
from benchmarks.toy import Toy
from benchmarks.wearing import worn
from festinger.clock import system_stopwatch
from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import CannotStart, StoreDown
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.memory.learn.candidates import PendingMemory
from festinger.memory.learn.statement import LearnRequest, build_statement
from festinger.memory.learn.store import store_without_learning
from festinger.memory.vectors import MemoryEmbeddingInput, embed_texts
from festinger.observability.logs import configure_logging
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.index.terms import recount_words
from festinger.retrieval.query import parse_cue, parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.score import VECTOR_ARM
from festinger.retrieval.search import embed_cue, load_corpus_size, look_up_cue, search_arms
from festinger.runtime.app import App, StartOptions, open_app
from festinger.services.access import add_space
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.store.embedded.cluster import find_postmaster
from festinger.store.pool import PlanMode
from festinger.store.queries import load_queries
from festinger.store.vectors import READ_WHOLE_BELOW, EmbeddingModelSpec, drop_index, ensure_index
from festinger.text.secrets import RedactionResult, remove_secrets

Q = load_queries("festinger.store")

MODEL = "hashed:384"
PART = 1_000
"""Statements per transaction."""
REBUILT_FROM = 50_000
"""From this many statements on, the vector index is rebuilt after them, which is much faster."""
SMALL_SHARE = 0.002
"""The share of the whole that a small space holds."""
CALLERS = 8
LIMIT = 10
TRIES = 200
SHARES = {"100": 1, "10": 10, "1": 100}
"""One in how many statements carries a tag, by the percentage that the tag leaves."""
EVERYTHING = 10**9
COMPARED = 40
"""Cues whose nearest are compared with those of an exhaustive search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAmount:
    sizes: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000)
    cues: int = 200
    warming: int = 60
    """Recalls before warm ones count: each connection of the pool caches its plans after some."""
    long_cues: int = 20
    groups: int = 1_000
    """Recalls that link what they returned, before the links are walked."""
    recalls: int = 2_000
    """Recalls that were recorded before the last measurement."""


AMOUNTS = {
    "full": RecallAmount(),
    "long": RecallAmount(sizes=(1_000, 10_000, 100_000, 1_000_000)),
    "quick": RecallAmount(sizes=(40, 80, 120), cues=6, warming=2, long_cues=2, groups=4, recalls=6),
}


@dataclass(slots=True, kw_only=True)
class RecallMeasurement:
    """What was measured at one size; times in seconds, `cpu` of this process alone."""

    memories: int
    first: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    small: list[float] = field(default_factory=list)
    crowd: list[float] = field(default_factory=list)
    crowd_seconds: float = 0.0
    door_mb: float = 0.0
    store_mb: float = 0.0
    disk_bytes: int = 0
    alike: dict[str, float] = field(default_factory=dict)
    """The share of the nearest that the search by meaning finds, by how much a filter leaves."""
    led: dict[str, list[float]] = field(default_factory=dict)
    """Walks along what was recalled together, by the steps beyond a partner."""
    worn: list[float] = field(default_factory=list)
    """Warm recalls after many others."""
    refused: int = 0
    """Recalls that the store had no time for at first."""


class Recalling:
    """A growing memory with its measurements."""

    def __init__(self, app: App, *, seed: int) -> None:
        if app.embedder is None:
            raise CannotStart("Recalls cannot be measured without an embedder.")
        self._app = app
        self._toy = Toy(app.embedder)
        self._deps: RetrievalDeps = replace(app.recall.deps, embedder=lambda: self._toy)
        self._every: Iterator[str] = statements(seed)
        self._small: Iterator[str] = statements(seed + 1)
        self._seed = seed
        self._model = EmbeddingModelSpec(name=self._toy.name, dims=self._toy.dimensions)
        self.refused = 0
        self._held: dict[SpaceId, list[str]] = {}
        self._ids: list[MemoryId] = []

    async def stand(self, size: int, amount: RecallAmount, *, small: SpaceId) -> RecallMeasurement:
        """Fill up to a size and measure there."""
        await self._fill(small, self._small, size=max(20, int(size * SMALL_SHARE)))
        await self.grow(size)
        stand = RecallMeasurement(memories=size)
        asked = await self._asked(MAIN_SPACE, amount.cues)
        for each in (self._app.recall.deps.sizes, self._deps.sizes):
            each.clear()
        stand.first = [await self._took(MAIN_SPACE, cue) for cue in asked[:LIMIT]]
        for cue in asked[: amount.warming]:
            await self._took(MAIN_SPACE, cue)
        for cue in asked:
            before = _busy_seconds()
            stand.warm.append(await self._took(MAIN_SPACE, cue))
            stand.cpu.append(_busy_seconds() - before)
        long = await self._asked(MAIN_SPACE, amount.long_cues, words=LONG_CUE_WORDS)
        stand.long = [await self._took(MAIN_SPACE, cue) for cue in [*long[:2], *long]][2:]
        stand.small = [await self._took(small, cue) for cue in await self._asked(small, amount.cues)]
        began = system_stopwatch()
        parts = await asyncio.gather(*(self._caller(asked[start::CALLERS]) for start in range(CALLERS)))
        stand.crowd_seconds = system_stopwatch() - began
        stand.crowd = [took for part in parts for took in part]
        stand.refused, self.refused = self.refused, 0
        stand.alike = {tag: await self._alike(asked[:COMPARED], tag) for tag in SHARES}
        return stand

    @property
    def texts(self) -> Sequence[str]:
        """What the large space holds."""
        return self._held[MAIN_SPACE]

    async def grow(self, size: int) -> None:
        """Fill up to a size, and do what the background does in production."""
        if size - len(self._held.get(MAIN_SPACE, ())) >= REBUILT_FROM:
            await drop_index(self._app.store, "memory_vector", self._model)
        await self._fill(MAIN_SPACE, self._every, size=size)
        await self._settle(size)

    async def led_on(self, amount: RecallAmount) -> dict[str, list[float]]:
        """How long walks take along new links."""
        place = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("leading"))
        return await led_on(self._deps, place, self._ids, groups=amount.groups, seed=self._seed)

    async def worn(self, amount: RecallAmount) -> list[float]:
        """Warm recalls once more, after many others."""
        return await worn(
            self._app.store,
            await self._asked(MAIN_SPACE, amount.cues),
            ask=partial(self._took, MAIN_SPACE),
            count=self._counted,
            recalls=amount.recalls,
            warming=amount.warming,
        )

    async def _counted(self, cue: str) -> float:
        """Recall with recording, and wait until it is recorded."""
        written: list[Awaitable[None]] = []
        place = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("asking"))
        query = parse_recall_query(cue, now=self._app.tools.clock(), limit=LIMIT)
        found = await recall(replace(self._deps, later=written.append), place, query, door="bench")
        await asyncio.gather(*written)
        return found.took

    async def _alike(self, asked: Sequence[str], tag: str) -> float:
        """How much of what is nearest among the memories with a tag is found."""
        found = [(await self._nearest(cue, tag), await self._nearest(cue, tag, few=EVERYTHING)) for cue in asked]
        return sum(len(one & other) for one, other in found) / max(1, sum(len(other) for _, other in found))

    async def _nearest(self, cue: str, tag: str, *, few: int = READ_WHOLE_BELOW) -> set[UUID]:
        now = self._app.tools.clock()
        # A tag on all memories narrows nothing; without it the index is searched as usual.
        query = parse_recall_query(cue, now=now, tags=() if SHARES[tag] == 1 else (tag,))
        read, probe = parse_cue(cue, now=now), await embed_cue(self._toy, parse_cue(cue, now=now))
        assert probe is not None
        place = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("asking"))
        async with self._deps.store.transaction(patient=True, plan=PlanMode.KEPT) as transaction:
            size = await load_corpus_size(self._deps, transaction, place, probe.model)
            words = await look_up_cue(self._deps, transaction, place, read, probe=probe)
            found = await search_arms(
                transaction,
                place,
                query,
                read=words,
                probe=probe,
                size=size,
                settings=self._deps.terms(MAIN_SPACE).retrieval,
                few=few,
            )
        return set(found.arms.get(VECTOR_ARM, ()))

    async def _caller(self, asked: Sequence[str]) -> list[float]:
        return [await self._took(MAIN_SPACE, cue) for cue in asked]

    async def _asked(self, space: SpaceId, count: int, **how: int) -> list[str]:
        """Cues whose vectors are made already."""
        found = cues(self._held[space], count, seed=self._seed + len(self._held[space]), **how)
        await self._toy.embed(found, EmbeddingPurpose.QUERY)
        return found

    async def _took(self, space: SpaceId, cue: str) -> float:
        """Seconds until an answer; a recall that the busy store refuses is retried."""
        place = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId("asking"))
        query = parse_recall_query(cue, now=self._app.tools.clock(), limit=LIMIT)
        began = system_stopwatch()
        for left in range(TRIES - 1, -1, -1):
            try:
                await recall(self._deps, place, query, door="bench", counts=False)
                break
            except StoreDown:
                self.refused += 1
                if not left:
                    raise
        return system_stopwatch() - began

    async def _fill(self, space: SpaceId, every: Iterator[str], *, size: int) -> None:
        held = self._held.setdefault(space, [])
        while missing := size - len(held):
            texts = list(islice(every, min(PART, missing)))
            ids = await put_texts(self._app, space, texts, embedder=self._toy)
            held += texts
            self._ids += ids if space == MAIN_SPACE else []

    async def _settle(self, size: int) -> None:
        """What jobs and the server do in the background in production: index, count, vacuum, analyze."""
        if size >= READ_WHOLE_BELOW // 2:
            await ensure_index(self._app.store, "memory_vector", self._model, purpose=EmbeddingPurpose.STORE.value)
        for space in self._held:
            await recount_words(self._deps, space)
        async with self._app.store.apart() as connection:
            await connection.execute(Q["tidy_everything"].sql)


async def put_texts(
    app: App,
    space: SpaceId,
    texts: Sequence[str],
    *,
    owner: AgentId | None = DEFAULT_AGENT,
    embedder: Embedder | None = None,
) -> list[MemoryId]:
    """Store statements without comparing them; returns their ids. Without an owner they are shared."""
    deps, at = app.memory.deps, app.tools.clock()
    if embedder is not None:
        deps = replace(deps, embedder=lambda: embedder)
    place = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId("filling"))
    said = [
        build_statement(
            LearnRequest(text=text, origin=Origin.PERSON, tags=_tags(number)),
            RedactionResult(text=text, kinds=()),
            owner=owner,
            trust=1.0,
            at=at,
        )
        for number, text in enumerate(texts)
    ]
    inputs = [MemoryEmbeddingInput(text=each.text, kind=each.kind) for each in said]
    vectors = await embed_texts(deps, inputs)
    many = [
        PendingMemory(scope=place, statement=each, ref=MemoryId(app.tools.new_id()), vectors=vector)
        for each, vector in zip(said, vectors, strict=True)
    ]
    async with deps.store.transaction(patient=True) as transaction:
        await store_without_learning(deps, transaction, many)
    return [each.ref for each in many]


def _tags(number: int) -> tuple[str, ...]:
    return tuple(tag for tag, every in SHARES.items() if number % every == 0)


def _busy_seconds() -> float:
    spent = psutil.Process().cpu_times()
    return float(spent.user + spent.system)


def _weigh(stand: RecallMeasurement, home: Path) -> None:
    """How much memory the proxy and its database server hold, and how much disk."""
    stand.door_mb = held_by([os.getpid()]).rss
    stand.store_mb = held_by(family_of(find_postmaster(home / "pg"))).uss
    files = (home / "pg" / "base").rglob("*")
    stand.disk_bytes = sum(file.stat().st_size for file in files if file.is_file())


async def measure(app: App, amount: RecallAmount, *, seed: int, home: Path) -> list[RecallMeasurement]:
    recalling = Recalling(app, seed=seed)
    small = (await add_space(app, "small")).id
    stands = []
    for size in amount.sizes:
        stands.append(await recalling.stand(size, amount, small=small))
        _weigh(stands[-1], home)
    stands[-1].led = await recalling.led_on(amount)
    stands[-1].worn = await recalling.worn(amount)
    return stands


async def measured(amount: str, *, seed: int) -> list[RecallMeasurement]:
    configure_logging(level="warning", style="console", content=False, redact=remove_secrets)
    settings = LiveSettings(capture_deployment(flags={"embedding.model": MODEL}))
    async with open_app(settings, door="bench", progress=silence, start=StartOptions(providers=True)) as app:
        return await measure(app, AMOUNTS[amount], seed=seed, home=Path(os.environ["FESTINGER_HOME"]))


if __name__ == "__main__":
    _, told, how_much, grown_from = sys.argv
    found = asyncio.run(measured(how_much, seed=int(grown_from)))
    Path(told).write_text(json.dumps([asdict(each) for each in found]))
