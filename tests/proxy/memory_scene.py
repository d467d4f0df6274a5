"""A door with a mind that knows what a test tells it, before an upstream that keeps what it was sent."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from tests.proxy.proxy_server import Door, Got, exchange, open_door, request
from tests.runtime.server import Hands
from tests.upstream import ScriptedUpstream, always, reply, scripted

from festinger.ids import Scope, SpaceId, id_maker
from festinger.proxy.capture.recorder import NullExchangeRecorder
from festinger.proxy.context.build import ContextBuilder
from festinger.proxy.context.edit import FindModelfile, LineUpdate, find_no_modelfile
from festinger.proxy.context.memories import MemoryReader
from festinger.proxy.parser import new_texts
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.protocols.messages import RequestKind
from festinger.proxy.request import RequestContext
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.services.block import ContextBlock, ContextLine, LineReason, NoteRef, note_line
from festinger.services.recollect import MEMORY, MemoryFetchResult, memory_note_ids
from festinger.settings.tree import ProxySettings, Settings
from festinger.world.recall import SourceText
from festinger.world.recollection import Recollection, ShownEdge

ANSWER = b'{"model":"m","message":{"role":"assistant","content":"Certainly."},"done":true}'
PATIENT_MS = 10_000
"""So that a busy machine is not late by itself."""


def known(concept: str, parent: str = "server") -> Recollection:
    note = ShownEdge(concept=concept, dimension="type", parent=parent, version=1)
    return Recollection(lines=(f"{concept}: [type] {parent}",), notes=(note,))


@dataclass
class Knowing:
    """A mind that knows some words, and keeps what it was asked."""

    words: dict[str, str] = field(default_factory=lambda: {"ramanujan": "server"})
    always: Recollection | None = None
    asked: list[list[str]] = field(default_factory=list)

    async def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        self.asked.append([said.text for said in texts])
        if self.always is not None:
            return self.always
        spoken = " ".join(said.text for said in texts)
        found = [known(word, parent) for word, parent in self.words.items() if word in spoken]
        return Recollection(
            lines=tuple(line for each in found for line in each.lines),
            notes=tuple(note for each in found for note in each.notes),
        )

    def learn(self, scope: Scope, texts: Sequence[SourceText]) -> None:
        return None


def remembered(number: int, text: str, *, disputed: bool = False) -> ContextLine:
    """A memory as a note."""
    return note_line(text, NoteRef(kind=MEMORY, id=str(UUID(int=number))), disputed=disputed, why=LineReason.RECALLED)


@dataclass
class Remembering:
    """A memory that knows some words, and keeps what it was asked. It answers when it is let."""

    words: dict[str, ContextLine]
    holds: bool = True
    let: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[tuple[str, set[UUID]]] = field(default_factory=list)
    firsts: list[bool] = field(default_factory=list)
    """For each query, whether it was a session's first."""
    today: dict[str, ContextLine] | None = None
    """How memories stand; as they were told unless this is said."""
    fault: Exception | None = None
    words_alone: bool = False
    """Whether it answers at once by words alone: with the first that it knows."""

    def __post_init__(self) -> None:
        self.let.set()

    def may_know(self, space: SpaceId) -> bool:
        return self.holds

    async def recall(
        self, scope: Scope, cue: str, *, exclude: Collection[UUID], is_first: bool = False, by_words: bool = False
    ) -> MemoryFetchResult:
        if by_words:
            if not self.words_alone:
                await self.let.wait()
            return MemoryFetchResult(lines=tuple(self.words.values())[:1])
        self.asked.append((cue, set(exclude)))
        self.firsts.append(is_first)
        await self.let.wait()
        if self.fault is not None:
            raise self.fault
        found = [line for word, line in self.words.items() if word in cue]
        return MemoryFetchResult(lines=tuple(line for line in found if not set(memory_note_ids([line])) & set(exclude)))

    async def standing(self, scope: Scope, memories: Collection[UUID]) -> dict[str, ContextLine] | None:
        now = {line.about: line for line in self.words.values()} if self.today is None else self.today
        return {str(memory): now[str(memory)] for memory in memories if str(memory) in now}


class Listed(NullExchangeRecorder):
    """Keeps the exchanges that were to be learnt, by what was new in them."""

    def __init__(self) -> None:
        self.learnt: list[list[str]] = []

    def capture(self, ctx: RequestContext) -> None:
        if ctx.may_be_learned:
            self.learnt.append([said.text for said in new_texts(ctx)])


@dataclass
class Today:
    """How what was shown stands now."""

    present: dict[str, LineUpdate] = field(default_factory=dict)

    def __call__(self, _place: Scope, shown: Mapping[str, ContextLine]) -> Mapping[str, LineUpdate]:
        return {about: now for about, now in self.present.items() if about in shown}


@dataclass
class Scene:
    door: Door
    upstream: ScriptedUpstream
    learnt: list[list[str]]

    async def send(self, kind: RequestKind | str, tree: Any, *headers: str) -> Got:
        body = tree if isinstance(tree, bytes) else orjson.dumps(tree)
        return await exchange(self.door.port, request("POST", str(kind), *headers, body=body))

    async def chat(self, *said: str, **more: Any) -> Got:
        """A chat whose user said these things, each answered."""
        return await self.send(RequestKind.CHAT, {"model": "m", "messages": history(*said), **more})

    @property
    def got(self) -> Any:
        """The body that came last."""
        return orjson.loads(self.upstream.received[-1].body)

    @property
    def said(self) -> list[str]:
        """What the messages said that came last."""
        return [message["content"] for message in self.got["messages"]]


def history(*said: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Certainly."}]
    return messages[:-1]


def told(got: Got) -> str:
    """What the answer says of memory, without ids and sizes."""
    return (got.value("x-festinger-memory") or "").partition("; notes=")[0]


def block_of(*lines: str) -> str:
    """A block with the usual label."""
    return ContextBlock(label=ProxySettings().label, lines=tuple(ContextLine(text=line) for line in lines)).text


@asynccontextmanager
async def scene(
    mind: Any = None,
    *,
    memories: MemoryReader | None = None,
    restate: Any = None,
    modelfile: FindModelfile = find_no_modelfile,
    answer: bytes = ANSWER,
    clock: Any = None,
    new_id: Any = None,
    live: Callable[[], ProxySettings] | None = None,
    **proxy: Any,
) -> AsyncIterator[Scene]:
    background, listed = BackgroundTasks(), Listed()
    ids = new_id or id_maker(Hands().clock, random.Random(3))
    context_builder = ContextBuilder(
        mind or Knowing(),
        memories=memories,
        background=background,
        new_id=ids,
        restate=restate or Today(),
        modelfile=modelfile,
    )
    async with scripted(always(reply("200 OK", answer))) as upstream:
        fixed = ProxySettings(**{"upstream": upstream.url, "memory_deadline_ms": PATIENT_MS, **proxy})
        pipeline = RequestPipeline(
            clock=clock or Hands().clock, new_id=ids, settings=fixed, context_builder=context_builder, recorder=listed
        )

        def settings() -> Settings:
            now = fixed if live is None else live().model_copy(update={"upstream": upstream.url})
            return Settings(proxy=now)

        async with open_door(settings, process=pipeline.process) as door:
            try:
                yield Scene(door=door, upstream=upstream, learnt=listed.learnt)
            finally:
                await background.stop()


async def settled() -> None:
    """Let what is ready to run beside the requests run."""
    for _ in range(5):
        await asyncio.sleep(0)
