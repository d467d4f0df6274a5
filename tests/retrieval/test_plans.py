"""How much does each way of searching read of a large memory?"""

from typing import Any
from uuid import UUID

import pytest
from tests.plans import most_read, most_read_by_kept_plan
from tests.retrieval.recalling import Recaller

from festinger.retrieval.search import LOOKED_AT, NO_MODEL, Q
from festinger.settings.memory_sections import RetrievalSettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query
from festinger.store.vectors import EmbeddingModelSpec, bind_model, ensure_index

MODEL = EmbeddingModelSpec(name="scripted:near", dims=64)
STORED, EMBEDDED = 8_000, 1_500
FEW = 500
"""Vectors up to which a search by meaning reads all; a space with more is searched by the index."""
READS_ALL = frozenset({"memories_whole", "memories_ranked", "turns_whole"})
"""Ways that are chosen for few vectors only."""
NARROWED = frozenset({"narrowed", "memories_counted", "turns_counted", "memories_dated", "turns_dated"})
"""Ways that are planned for each cue."""
MOST_READ = 2 * RetrievalSettings().words_pool + 4 * LOOKED_AT
"""Rows that one way may read: what it looks at closely, and a little more."""

FILL = """
insert into memory (space_id, id, content, fold, gist, origin, trust, tags, created_at, updated_at)
select m.space_id, md5(n::text)::uuid, 'Crate ' || n || ' stands in hall ' || n %% 700, decode(md5(n::text), 'hex'),
    decode(md5(n::text), 'hex'), m.origin, m.trust,
    case when %(tagged)s then array['depot', 'shelf' || n %% 2000, 'kind:box'] else '{}' end, m.created_at - n * interval '1 minute', m.updated_at
from memory m, generate_series(1, %(count)s) as n;
insert into memory_vector (space_id, memory_id, model, purpose, dims, text_hash, embedding, at)
select m.space_id, m.id, 'scripted:near', 'store', 64, m.fold, (
    select array_agg(sin(hashtext(m.id::text || i)) order by i) from generate_series(1, 64) as i)::real[]::halfvec,
    m.created_at
from memory m where m.content like 'Crate%%' limit %(embedded)s;
insert into turn_index (space_id, turn_id, part, episode_id, seq, agent_id, session_id, at, role, origin, trust,
    content, content_tsv, len, model, text_hash, embedding)
select m.space_id, m.id, 0, m.id, 1, 'default', 's', m.created_at, 'user', 'person', 1.0,
    m.content, setweight(m.content_tsv, 'A'), 5, v.model, m.fold, v.embedding
from memory m left join memory_vector v on v.memory_id = m.id and v.purpose = 'store' where m.content like 'Crate%%';
insert into identifier_part (space_id, part, type, ref)
select m.space_id, 'crate' || ascii(m.content) + length(m.content) %% 5, 'memory', m.id from memory m;
"""


@pytest.mark.requirement("R-13")
@pytest.mark.parametrize("tagged", [False, True], ids=["nothing is tagged", "everything is tagged"])
async def test_no_way_of_searching_reads_much_more_than_it_gives(
    store: Store, monkeypatch: pytest.MonkeyPatch, tagged: bool
):
    mind = Recaller(store)
    await mind.put("The kiln is cold.")
    given = {"count": STORED, "embedded": EMBEDDED, "tagged": tagged}
    async with store.transaction() as transaction:
        for statement in filter(str.strip, FILL.split(";")):
            await transaction.connection.execute(statement.encode(), given)
        for index in ("memory_words", "memory_called", "turn_index_words"):
            # What a vacuum does by and by: what waits to be put into an index makes every look at it dear.
            await transaction.connection.execute("select gin_clean_pending_list(%(i)s::regclass)", {"i": index})
        await transaction.connection.execute(b"analyze memory, memory_vector, turn_index, identifier_part")
    await ensure_index(store, "memory_vector", MODEL, purpose="store")
    await ensure_index(store, "turn_index", MODEL, column="embedding")
    await mind.settle()
    cues = (
        "Was crate 17 in hall 33 of shelf4 yesterday?",
        "Who locked the depot today?",
        "Which carpenter painted wooden boats, ladders, benches and doors beside Lake Orta last summer?",
    )
    asked = [await searched(mind, cue, monkeypatch) | {"few": FEW} for cue in cues]

    read = {
        part: max([await count_read(store, {part, "narrowed"}, each) for each in asked])
        for part in sorted(Q["candidates"].choices - READS_ALL)
    }
    read |= {
        f"{part} by a kept plan": max([await count_read(store, {part}, each) for each in asked])
        for part in sorted(Q["candidates"].choices - READS_ALL - NARROWED)
    }
    less = [each | {"exclude": [UUID(int=1), UUID(int=2)]} for each in asked]
    read |= {
        f"{part} without some by a kept plan": max(
            [await count_read(store, {part, "excluding"}, each) for each in less]
        )
        for part in sorted(Q["candidates"].choices - READS_ALL - NARROWED)
    }

    assert {part: count for part, count in read.items() if count > MOST_READ} == {}


async def test_what_is_known_of_a_hit_is_looked_up_alone_before_the_server_has_any_statistics(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    mind = Recaller(store)
    await mind.put("The kiln is cold.")
    async with store.transaction() as transaction:
        for statement in filter(str.strip, FILL.split(";")):
            given = {"count": STORED, "embedded": EMBEDDED, "tagged": False}
            await transaction.connection.execute(statement.encode(), given)
    asked = await searched(mind, "Is the kiln cold?", monkeypatch, name="fetch")

    async with store.transaction() as transaction:
        read = await most_read_by_kept_plan(transaction, bind_model(Q["fetch"], MODEL).only(frozenset()), asked)

    assert read <= MOST_READ


async def searched(
    mind: Recaller, cue: str, monkeypatch: pytest.MonkeyPatch, *, name: str = "candidates"
) -> dict[str, Any]:
    """The parameters with which a cue is searched, in one of the statements."""
    found: dict[str, Any] = {}
    real = Transaction._execute

    async def execute(transaction: Transaction, query: Query, parameters: Any) -> Any:
        if query.name == name:
            found.update(parameters)
        return await real(transaction, query, parameters)

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "_execute", execute)
        await mind.recall(cue)
    mind.forget_unwritten()
    return found


async def count_read(store: Store, parts: set[str], asked: dict[str, Any]) -> int:
    """The rows that the busiest scan of some ways of searching reads; without filters, by the plan that is kept."""
    query = bind_model(Q["candidates"], MODEL if asked["probe"] is not None else NO_MODEL).only(frozenset(parts))
    async with store.transaction() as transaction:
        await transaction.connection.execute(b"set local hnsw.ef_search = 200")
        if "narrowed" in parts:
            return await most_read(transaction, query.sql, asked)
        return await most_read_by_kept_plan(transaction, query, asked)
