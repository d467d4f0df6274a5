"""Makes conversation turns searchable.

Turns of people and models are split into parts that a model can read, each with the day and the text right
before and after, because a short answer says little without its question. The words of the whole turn are
indexed with its first part. The last turn is indexed again once the next is said. Without an embedder, words
serve until there is one.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from festinger.embedding.embedder import Embedder, Vector
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.ids import SpaceId
from festinger.retrieval.candidate import TURN
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.index.terms import queue_for_counting
from festinger.retrieval.search import usable_embedder
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.store.vectors import to_halfvec
from festinger.text.blocks import MARK
from festinger.text.budget import estimate_tokens
from festinger.text.normalize import exact_hash

Q = load_queries("festinger.retrieval")

PART_TOKENS = 200
PART_CHARS = 800
AROUND_CHARS = 200
SEARCHABLE_CHARS = 200_000
"""Postgres holds at most a megabyte of words for one text, and each part costs an embedding."""
EPISODES = 100
TURNS = 200
"""Turns indexed in one transaction."""
PIECE = 16
"""Parts embedded in one call."""
TRIES = 3
"""Consecutive failed calls after which parts wait for the next run."""
SPOKEN = ("user", "assistant")
TOOL = "tool"
EPISODIC = "episodic"

_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_SPEAKER = re.compile(r"^\s*([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30})?):\s")


Between = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPart:
    content: str
    context: str
    written: str
    """The text to embed."""


async def _no_pause() -> None:
    """Wait for nobody."""


async def index_turns(deps: RetrievalDeps, space: SpaceId, *, between: Between = _no_pause) -> int:
    """Index the turns since the last run; returns how many. Awaits `between` before each episode."""
    indexed = 0
    while episodes := await deps.store.all(Q["unindexed_episodes"], space=space, limit=EPISODES):
        for episode in episodes:
            await between()
            indexed += await _index_episode(deps, space, episode)
    await embed_turns(deps, space)
    return indexed


async def count_embedded_parts(deps: RetrievalDeps, space: SpaceId, model: str, *, most: int) -> int:
    """Return how many parts have vectors of a model, counting no further than `most`."""
    return int(await deps.store.value(Q["count_parts"], space=space, model=model, limit=most))


async def _index_episode(deps: RetrievalDeps, space: SpaceId, episode: Mapping[str, Any]) -> int:
    """Index from the turn that was last, whose surroundings are known only now."""
    start = max(1, episode["done"])
    rows = await deps.store.all(
        Q["turns_from"], space=space, episode=episode["id"], seq=max(1, start - 1), limit=TURNS + 2
    )
    window = rows[: TURNS + 1] if len(rows) > TURNS + 1 else rows
    wanted = [place for place, row in enumerate(window) if row["seq"] >= start and _is_searchable(deps, space, row)]
    # Off the loop: splitting a long turn takes a while.
    parts = {place: await asyncio.to_thread(split_turn, rows, place) for place in wanted}
    numbered = [(place, number, part) for place in wanted for number, part in enumerate(parts[place])]
    vectors = await _embed_texts(deps, [part.written for _, _, part in numbered])
    embedder = usable_embedder(deps.embedder())
    async with deps.store.transaction() as transaction:
        await transaction.run_many(
            Q["put_turn_part"],
            [
                {
                    "space": space,
                    "episode": episode["id"],
                    "agent": episode["agent_id"],
                    "session": episode["session_id"],
                    "trust": deps.terms(space).trusts(window[place]["origin"]),
                    "part": number,
                    "model": embedder.name if embedder and vector is not None else None,
                    "embedding": to_halfvec(vector) if vector is not None else None,
                    **_columns(window[place], part, is_first=number == 0),
                }
                for (place, number, part), vector in zip(numbered, vectors, strict=True)
            ],
        )
        last = window[-1]["seq"] if window else episode["done"]
        await transaction.run(Q["advance_turns"], space=space, episode=episode["id"], turns=last)
        turns = [window[place]["turn_id"] for place in wanted]
        await queue_for_counting(deps, transaction, space, TURN, turns)
    return len(wanted)


def _is_searchable(deps: RetrievalDeps, space: SpaceId, row: Mapping[str, Any]) -> bool:
    with_tools = deps.terms(space).retrieval.index_tool_turns
    return bool(row["content"].strip()) and (row["role"] in SPOKEN or (with_tools and row["role"] == TOOL))


def _columns(row: Mapping[str, Any], part: TurnPart, *, is_first: bool) -> dict[str, Any]:
    named = _SPEAKER.match(row["content"])
    return {
        "turn": row["turn_id"],
        "seq": row["seq"],
        "at": row["at"],
        "role": row["role"],
        "origin": row["origin"],
        "speaker": named[1].lower() if named else None,
        "content": part.content,
        "context": part.context,
        "words": truncate_middle(row["content"]) if is_first else "",
        "around": part.context,
        "text_hash": exact_hash(part.written),
    }


def split_turn(rows: Sequence[Mapping[str, Any]], place: int) -> list[TurnPart]:
    """Split a turn into parts, each with the day and its neighbors."""
    row = rows[place]
    before = rows[place - 1]["content"][-AROUND_CHARS:] if place else ""
    after = rows[place + 1]["content"][:AROUND_CHARS] if place + 1 < len(rows) else ""
    around = "\n".join(filter(None, (before, after)))
    return [
        TurnPart(content=text, context=around, written=embedding_text(row["at"], text, around))
        for text in split_text(truncate_middle(row["content"]))
    ]


def truncate_middle(text: str) -> str:
    """Return what is searchable of a turn: all of it, or the beginning and end if it is too long to index."""
    half = SEARCHABLE_CHARS // 2
    return text if len(text) <= SEARCHABLE_CHARS else f"{text[:half]}\n{text[-half:]}"


def embedding_text(at: datetime, content: str, context: str) -> str:
    """Format a part for embedding: the day, the part, then its surroundings."""
    return f"{at.date().isoformat()} {content.strip()}\n{context}"


def split_text(text: str) -> list[str]:
    """Split a text at sentence ends into pieces that a model reads whole; joined they are the text."""
    pieces: list[str] = []
    current = ""
    for sentence in _sentences(text):
        if current and not _fits(current + sentence):
            pieces.append(current)
            current = ""
        current += sentence
    return [*pieces, current] if current.strip() or not pieces else [*pieces[:-1], pieces[-1] + current]


def _sentences(text: str) -> list[str]:
    """Return each sentence with the blanks after it; one that never ends is cut by length."""
    edges = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    whole = [text[start:end] for start, end in pairwise(edges) if start < end]
    return [sentence[at : at + PART_CHARS] for sentence in whole for at in range(0, len(sentence), PART_CHARS)]


def _fits(text: str) -> bool:
    return len(text) <= PART_CHARS and estimate_tokens(text) <= PART_TOKENS


async def embed_turns(deps: RetrievalDeps, space: SpaceId) -> int:
    """Embed parts without a vector of the current embedder; returns how many.

    A busy machine may exceed the embedder's time limit: what was made is stored and the rest retried. After
    some tries without a single vector the rest waits for the next run.
    """
    embedder = usable_embedder(deps.embedder())
    made, left = 0, TRIES
    while embedder is not None and left:
        rows = await deps.store.all(Q["unembedded_turns"], space=space, model=embedder.name, limit=TURNS)
        written = [embedding_text(row["at"], row["content"], row["context"]) for row in rows]
        vectors = await _embed_texts(deps, written)
        found = [
            (row, text, vector) for row, text, vector in zip(rows, written, vectors, strict=True) if vector is not None
        ]
        if not rows:
            break
        if not found:
            left -= 1
            continue
        async with deps.store.transaction() as transaction:
            for row, text, vector in found:
                await _put_vector(transaction, space, row, text, vector, embedder)
        made += len(found)
    return made


async def _put_vector(
    transaction: Transaction, space: SpaceId, row: Mapping[str, Any], text: str, vector: Vector, embedder: Embedder
) -> None:
    await transaction.run(
        Q["put_turn_vector"],
        space=space,
        turn=row["turn_id"],
        part=row["part"],
        model=embedder.name,
        text_hash=exact_hash(text),
        embedding=to_halfvec(vector),
    )


async def _embed_texts(deps: RetrievalDeps, texts: Sequence[str]) -> list[Vector | None]:
    """Embed texts; none where that fails. Small batches finish well within the embedder's time limit even on
    a busy machine, and one that does not takes no others with it."""
    embedder = usable_embedder(deps.embedder())
    found: list[Vector | None] = []
    while embedder is not None and len(found) < len(texts):
        piece = await _embed_batch(embedder, texts[len(found) : len(found) + PIECE])
        if piece is None:
            break
        found += piece
    return found + [None] * (len(texts) - len(found))


async def _embed_batch(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None] | None:
    """Embed a few texts; none if the embedder does not answer at all."""
    try:
        return list(await embedder.embed(texts, EmbeddingPurpose.STORE, kind=EPISODIC))
    except PartlyEmbedded as partly:
        return list(partly.vectors)
    except ProviderRefused:
        return [None] * len(texts)
    except ProviderDown:
        return None


async def unindex_redacted_turns(transaction: Transaction, space: SpaceId) -> list[UUID]:
    """Unindex turns with redacted words and their neighbors, which hold some of these words; returns the
    turns.

    They are indexed again from what is left.
    """
    rows = await transaction.all(Q["unindex_cut_turns"], space=space, mark=MARK)
    return [row["turn_id"] for row in rows]
