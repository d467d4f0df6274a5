"""From a cue to the few memories worth showing, or an honest nothing."""

from datetime import timedelta
from typing import Any

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import DAY, says
from tests.retrieval.recalling import Recaller

from festinger.clock import iso
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import BadInput, ProviderDown, StoreDown
from festinger.ids import MAIN_SPACE
from festinger.memory.edit import archive, supersede
from festinger.memory.learn.statement import TurnWithTrust
from festinger.observability.metrics import STORE_ROUND_TRIPS
from festinger.retrieval.index.terms import recount_words
from festinger.retrieval.log import find_recall, load_recalls, prune_recalls
from festinger.retrieval.recall import rerun_and_compare_recall
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query

THINGS = (
    "Alice drinks green tea in the morning.",
    "Bob repairs old bicycles.",
    "The printer on the third floor is out of toner.",
    "Carol plays the cello in an orchestra.",
)


async def learn_all(mind: Recaller, texts: tuple[str, ...] = THINGS) -> None:
    for text in texts:
        await mind.learn(text)
    await recount_words(mind.searching, MAIN_SPACE)


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"cue": "  "}, "cue"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"kinds": ["rumour"]}, "kinds"),
        ({"include": ["merged"]}, "include"),
        ({"origins": ["ghost"]}, "origins"),
        ({"tokens": -1}, "tokens"),
    ],
    ids=["blank cue", "no items", "too many", "kind", "include", "origin", "tokens"],
)
async def test_what_nobody_can_mean_is_refused_by_name(by_words: Recaller, asked: dict[str, Any], named: str):
    with pytest.raises(BadInput, match=f"`{named}`"):
        await by_words.recall(**{"cue": "tea", **asked})


@pytest.mark.requirement("R-01")
async def test_moments_that_cannot_be_are_refused_by_name(by_words: Recaller):
    now = by_words.hands.now
    with pytest.raises(BadInput, match="`since`"):
        await by_words.recall("tea", since=now, until=now - DAY)
    with pytest.raises(BadInput, match="`as_of`"):
        await by_words.recall("tea", as_of=now + DAY)
    with pytest.raises(BadInput, match="`valid_at`"):
        await by_words.recall("tea", valid_at=now.replace(tzinfo=None))


@pytest.mark.requirement("R-01")
async def test_a_long_cue_is_read_from_its_end(by_words: Recaller):
    await learn_all(by_words)

    found = await by_words.recall("lorem " * 2000 + "green tea")

    assert "cue_cut" in found.degraded


async def test_what_shares_the_words_comes_first(by_words: Recaller):
    await learn_all(by_words)

    assert (await by_words.texts("who repairs a bicycle?"))[0] == THINGS[1]


@pytest.mark.requirement("R-71")
async def test_nonsense_brings_nothing_and_says_how_much_was_not_good_enough(mind: Recaller):
    mind.near.near |= {"qwx plorf zzt": 1.0, THINGS[0]: 0.1}
    await learn_all(mind)

    found = await mind.recall("qwx plorf zzt")

    assert found.items == ()
    assert found.abstained
    assert found.below_threshold == len(THINGS)
    assert found.sentence == "nothing relevant remembered (4 below the threshold)"


@pytest.mark.requirement("R-71")
async def test_strict_drops_what_is_weak_and_counts_it(mind: Recaller):
    mind.near.near |= {"what does Alice drink?": 1.0, THINGS[0]: 0.7, THINGS[1]: 0.2}
    await learn_all(mind)

    loose = await mind.recall("what does Alice drink?")
    strict = await mind.recall("what does Alice drink?", strict=True)

    assert [item.weak for item in loose.items] == [False, True, True, True]
    assert [item.text for item in strict.items] == [THINGS[0]]
    assert strict.below_threshold == 3


async def test_without_the_gate_everything_comes(store: Store):
    mind = Recaller(store, without_embedder=True, settings={"abstain": False})
    await learn_all(mind)

    assert not (await mind.recall("bicycles and tea")).abstained
    mind.forget_unwritten()


@pytest.mark.requirement("R-04")
async def test_the_same_store_gives_the_same_answer(mind: Recaller):
    mind.near.near |= {"who drinks tea?": 1.0, THINGS[0]: 0.6, THINGS[1]: 0.6}
    await learn_all(mind)

    first, second = await mind.recall("who drinks tea?"), await mind.recall("who drinks tea?")

    assert [(item.id, item.score) for item in first.items] == [(item.id, item.score) for item in second.items]


@pytest.mark.requirement("R-04")
async def test_of_equals_the_later_comes_first(by_words: Recaller):
    await by_words.learn("The green lamp is on.", event_time=by_words.hands.now - 2 * DAY)
    await by_words.learn("The green chair is on.", event_time=by_words.hands.now - DAY)
    await recount_words(by_words.searching, MAIN_SPACE)

    assert await by_words.texts("green") == ["The green chair is on.", "The green lamp is on."]


async def test_only_what_stands_comes_unless_more_is_asked_for(by_words: Recaller):
    learnt = await by_words.learn("The spare key lies under the mat.")
    assert learnt.memory is not None
    await archive(by_words.deps, MAIN_SPACE, learnt.memory.id, by="test")
    await recount_words(by_words.searching, MAIN_SPACE)

    assert await by_words.texts("spare key") == []
    assert await by_words.texts("spare key", include=["archived"]) == ["The spare key lies under the mat."]


@pytest.mark.requirement("R-07")
async def test_moved(by_words: Recaller):
    """Paris, then Berlin: today Berlin, and Paris for whoever asks what was believed before."""
    paris = await by_words.learn("Dana lives in Paris.", subject="Dana")
    before = by_words.hands.now
    by_words.forward(2 * DAY)
    berlin = await by_words.learn("Dana lives in Berlin.", subject="Dana")
    assert paris.memory
    assert berlin.memory
    if (await by_words.memory(paris)).status.value == "active":
        await supersede(by_words.deps, MAIN_SPACE, paris.memory.id, berlin.memory.id, by="test", reason="")
    await recount_words(by_words.searching, MAIN_SPACE)

    assert await by_words.texts("where does Dana live?") == ["Dana lives in Berlin."]
    assert await by_words.texts("where does Dana live?", as_of=before + DAY) == ["Dana lives in Paris."]


@pytest.mark.requirement("R-08")
async def test_without_an_embedder_words_serve_and_it_says_so(by_words: Recaller):
    await learn_all(by_words)

    found = await by_words.recall("cello")

    assert [item.text for item in found.items] == [THINGS[3]]
    assert found.degraded == ("embedder",)


@pytest.mark.requirement("R-08")
async def test_an_embedder_that_dies_is_gone_without_until_it_is_back(mind: Recaller):
    mind.near.near |= {"cello": 1.0, THINGS[3]: 0.8}
    await learn_all(mind)

    mind.near.fault = ProviderDown("away")
    away = await mind.recall("cello")
    mind.near.fault = None
    back = await mind.recall("cello")

    assert away.degraded == ("embedder",)
    assert [item.text for item in away.items] == [THINGS[3]]
    assert back.degraded == ()
    assert back.items[0].text == THINGS[3]


@pytest.mark.requirement("R-08")
async def test_memories_without_a_vector_are_counted(mind: Recaller):
    mind.near.fault = ProviderDown("away")
    await mind.learn(THINGS[0])
    mind.near.fault = None
    await mind.learn(THINGS[1])

    found = await mind.recall("green tea")

    assert found.degraded == ("vectors 1 of 2 missing",)
    assert found.items[0].text == THINGS[0]


@pytest.mark.requirement("R-08")
async def test_neither_words_nor_vectors_is_an_honest_nothing(by_words: Recaller):
    await learn_all(by_words)

    found = await by_words.recall("what is it?")

    assert (found.abstained, found.below_threshold) == (True, 0)


@pytest.mark.requirement("R-38")
async def test_a_word_that_the_vectors_miss_is_found_first(store: Store):
    code = "Error E4711 means that the disk is full."
    others = [f"Memory number {number} is about something else." for number in range(19)]
    near = {"E4711": 1.0, code: 0.35} | {text: 0.3 + place / 100 for place, text in enumerate(others)}
    mind = Recaller(store, near=near, settings={"abstain": False})
    await learn_all(mind, (*others, code))

    alone = Recaller(store, near=near, settings={"abstain": False, "words_share": 0.0})
    assert (await mind.texts("E4711"))[0] == code
    assert code not in await alone.texts("E4711", limit=5)
    mind.forget_unwritten()
    alone.forget_unwritten()


ROUND_TRIPS = 5
"""Of a recall: three questions, and begin and end of their transaction. Sent in pipelines there are three, but each
costs psycopg more processor time than the round trips that it saves."""


class Watched:
    """Counts the statements of a recall by the kind they begin with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        real = Transaction._execute

        async def execute(transaction: Transaction, query: Query, parameters: Any) -> Any:
            self.asked.append(query.name)
            return await real(transaction, query, parameters)

        monkeypatch.setattr(Transaction, "_execute", execute)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


@pytest.mark.requirement("R-03")
async def test_three_questions_to_the_store_and_nothing_written_before_the_answer(mind: Recaller, watched: Watched):
    mind.near.near |= {"green tea": 1.0}
    await learn_all(mind)
    await mind.recall("green tea")
    watched.asked.clear()
    before = STORE_ROUND_TRIPS._value.get()

    await mind.recall("green tea")

    assert STORE_ROUND_TRIPS._value.get() - before == ROUND_TRIPS
    assert watched.asked == ["read_cue", "candidates", "fetch"]
    assert await rows(mind.store, "select * from recall") == []


async def test_afterwards_it_is_written_down_and_only_counts(by_words: Recaller):
    await learn_all(by_words)
    before = await rows(by_words.store, "select id, weight_alpha, weight_beta, confidence from memory order by id")

    found = await by_words.recall("green tea sk-live")
    await by_words.written()

    kept = await find_recall(by_words.searching, MAIN_SPACE, found.id)
    assert [hit["id"] for hit in kept["hits"] if hit["shown"]] == [str(item.id) for item in found.items]
    assert all(hit["why"]["sentence"] for hit in kept["hits"])
    assert by_words.read == [item.id for item in found.items]
    after = await rows(by_words.store, "select id, weight_alpha, weight_beta, confidence from memory order by id")
    assert after == before


async def test_what_cannot_be_written_down_fails_no_recall(by_words: Recaller, monkeypatch: pytest.MonkeyPatch):
    await learn_all(by_words)
    found = await by_words.recall("green tea")

    async def broken(*_given: Any) -> None:
        raise StoreDown("gone")

    monkeypatch.setattr(by_words.searching.outbox, "emit_all", lambda *_a, **_k: broken())
    await by_words.written()

    assert found.items
    assert await load_recalls(by_words.searching, MAIN_SPACE) == []


async def test_every_item_says_why(by_words: Recaller):
    await learn_all(by_words)

    [item] = (await by_words.recall("cello", explain=True)).items

    assert item.why is not None
    assert item.why["arms"] == {"words": 1}
    assert item.why["terms"] == ["cello"]
    assert item.why["evidence"] == 1.0
    assert item.why["weight"]["alpha"] == 1.0
    assert "learned by a person on 2026-01-05" in item.why["sentence"]
    assert (await by_words.recall("cello")).items[0].why is None


@pytest.mark.requirement("R-75")
async def test_a_recall_is_told_as_it_was_and_what_changed_since(by_words: Recaller):
    old = await by_words.learn("The limit is 512 tokens.")
    await recount_words(by_words.searching, MAIN_SPACE)
    found = await by_words.recall("what is the limit?")
    await by_words.written()
    by_words.forward()
    new = await by_words.learn("Nobody keeps to a limit any more.")
    assert old.memory
    assert new.memory
    await supersede(by_words.deps, MAIN_SPACE, old.memory.id, new.memory.id, by="test", reason="")

    told = await rerun_and_compare_recall(by_words.searching, MAIN_SPACE, found.id)

    assert [hit["id"] for hit in told["then"]["items"]] == [str(old.memory.id)]
    assert [item["id"] for item in told["now"]["items"]] == [str(new.memory.id)]
    assert {change["ref"]: change["because"] for change in told["changed"]} == {
        str(old.memory.id): "superseded",
        str(new.memory.id): "new memory",
    }
    assert len(await load_recalls(by_words.searching, MAIN_SPACE)) == 1


@pytest.mark.requirement("R-76")
async def test_a_budget_of_tokens_is_kept_and_nothing_is_cut(by_words: Recaller):
    await learn_all(by_words, ("Tea is green.", "Tea is a drink that people in many lands like to drink hot.", "Tea."))

    few = await by_words.recall("tea", tokens=8)
    none = await by_words.recall("tea", tokens=0)

    assert {item.text for item in few.items} == {"Tea is green.", "Tea."}
    assert none.items == ()
    assert none.degraded == ("embedder", "tokens")


async def test_what_is_already_shown_is_left_out(by_words: Recaller):
    await learn_all(by_words)
    [item] = (await by_words.recall("cello")).items

    assert await by_words.texts("cello", exclude=[item.id]) == []


async def test_a_store_that_is_gone_is_no_empty_memory(by_words: Recaller):
    await learn_all(by_words)
    await by_words.store.pool.close()

    with pytest.raises(StoreDown):
        await by_words.recall("cello")


async def test_old_recalls_are_let_go(by_words: Recaller):
    await by_words.recall("cello")
    await by_words.written()
    by_words.forward(timedelta(days=31))

    assert await prune_recalls(by_words.searching, MAIN_SPACE) == 1
    assert await load_recalls(by_words.searching, MAIN_SPACE) == []


async def test_a_blood_type_is_found_a_year_later(by_words: Recaller):
    await by_words.learn("My blood type is AB negative.")
    by_words.forward(timedelta(days=400))
    await learn_all(by_words)

    assert (await by_words.texts("what is my blood type?"))[0] == "My blood type is AB negative."


class Broken:
    """A database in which some ways of searching take too long."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.late: set[str] = set()
        real = Transaction._execute

        async def execute(transaction: Transaction, query: Query, parameters: Any) -> Any:
            if query.name == "candidates" and any(f"select '{way}'" in query.sql for way in self.late):
                raise StoreDown("late", kind="too_slow")
            return await real(transaction, query, parameters)

        monkeypatch.setattr(Transaction, "_execute", execute)


@pytest.mark.requirement("R-83")
async def test_a_way_of_searching_that_fails_is_gone_without_and_named(mind: Recaller, monkeypatch: pytest.MonkeyPatch):
    mind.near.near |= {"green tea": 1.0, THINGS[0]: 0.8}
    await learn_all(mind)
    broken = Broken(monkeypatch)

    broken.late = {"vector"}
    by_words = await mind.recall("green tea")
    broken.late = {"words"}
    by_meaning = await mind.recall("green tea")
    broken.late = {"vector", "words"}

    assert ([item.text for item in by_words.items], by_words.degraded) == ([THINGS[0]], ("vector",))
    assert (by_meaning.items[0].text, by_meaning.degraded) == (THINGS[0], ("words", "time"))
    with pytest.raises(StoreDown):
        await mind.recall("green tea")


@pytest.mark.requirement("R-83")
async def test_a_database_that_is_gone_is_not_asked_again_and_again(mind: Recaller, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    async def execute(_transaction: Transaction, query: Query, _parameters: Any) -> Any:
        asked.append(query.name)
        raise StoreDown("gone", kind="lost")

    monkeypatch.setattr(Transaction, "_execute", execute)

    with pytest.raises(StoreDown):
        await mind.recall("green tea")
    assert len(asked) == 1


async def test_everything_that_led_to_a_hit_is_told_and_written_down(mind: Recaller):
    mind.near.near |= {"what does Alice drink?": 1.0, THINGS[0]: 0.7}
    await learn_all(mind)

    found = await mind.recall("what does Alice drink?", explain=True)
    await mind.written()

    told = found.items[0].why
    assert told is not None
    assert {name for name, value in told.items() if value is None} <= {"rerank", "source", "event_time"}
    assert told["arms"] == {"vector": 1, "words": 1}
    assert told["weight"]["effective"] == pytest.approx(0.2)
    kept = await find_recall(mind.searching, MAIN_SPACE, found.id)
    assert kept["hits"][0]["why"] == told


async def test_what_is_disputed_says_so_and_what_is_held_against_it_stays_away(by_words: Recaller):
    by_words.judges.told = says("contradicts")
    stands = await by_words.learn("The harbour opens at six.")
    held = await by_words.learn("The harbour never opens before ten.", origin="model")
    assert stands.memory
    assert held.memory
    assert (await by_words.memory(held)).status.value == "held"

    found = await by_words.recall("when does the harbour open?")

    assert [(item.id, item.disputed) for item in found.items] == [(stands.memory.id, True)]
    more = await by_words.recall("when does the harbour open?", include=["held"])
    assert {item.id for item in more.items} == {stands.memory.id, held.memory.id}


async def test_of_a_persons_two_disputed_words_the_later_comes_first_and_both_say_so(by_words: Recaller):
    by_words.judges.told = says("contradicts")
    earlier = await by_words.learn("The harbour opens at six.")
    later = await by_words.learn("The harbour never opens before ten.")
    assert earlier.memory
    assert later.memory
    assert (await by_words.memory(later)).status.value == "held"

    found = await by_words.recall("when does the harbour open?")

    assert [(item.id, item.disputed) for item in found.items] == [(later.memory.id, True), (earlier.memory.id, True)]


async def test_what_disputes_something_held_for_good_stays_away(by_words: Recaller):
    by_words.judges.told = says("contradicts")
    stands = await by_words.learn("The harbour opens at six.", immutable=True)
    await by_words.learn("The harbour never opens before ten.")
    assert stands.memory

    found = await by_words.recall("when does the harbour open?")

    assert [item.id for item in found.items] == [stands.memory.id]


@pytest.mark.parametrize("status", ["quarantined", "merged"])
async def test_what_nobody_vouches_for_never_comes(by_words: Recaller, status: str):
    await by_words.put("The harbour opens at six.")
    async with by_words.store.transaction() as transaction:
        await transaction.connection.execute(
            "update memory set status = %(status)s, superseded_by = case when %(status)s = 'merged' then id end,"
            " superseded_at = case when %(status)s = 'merged' then created_at end",
            {"status": status},
        )

    everything = ["superseded", "archived", "held", "dormant"]
    assert await by_words.texts("harbour", include=everything) == []


@pytest.mark.requirement("R-37")
async def test_what_lies_in_the_time_that_a_cue_names_comes_sooner_and_nothing_is_left_out(store: Store):
    by_words = Recaller(store, without_embedder=True, settings={"abstain": False})
    now = by_words.hands.now
    await by_words.put("Rowing on the lake.", event_time=now - 40 * DAY)
    await by_words.put("Rowing on the river.", event_time=now - DAY)
    await by_words.put("Skating at the pond.", event_time=now - 40 * DAY)
    await recount_words(by_words.searching, MAIN_SPACE)

    timed = (await by_words.recall("rowing on 2025-11-26", explain=True)).items
    plain = await by_words.texts("rowing")

    assert plain[0] == "Rowing on the river."
    assert timed[0].text == "Rowing on the lake."
    assert "Rowing on the river." in [item.text for item in timed]
    whys = {item.text: item.why for item in timed if item.why}
    assert whys["Rowing on the lake."]["time"] == pytest.approx(0.15)
    assert whys["Rowing on the lake."]["arms"]["time"] == 1
    assert whys["Rowing on the river."]["time"] == 0.0
    by_words.forget_unwritten()


@pytest.mark.requirement("R-32")
async def test_what_is_learnt_late_from_old_words_is_as_old_as_they_are(by_words: Recaller):
    long_ago = by_words.hands.now - 300 * DAY
    said = await by_words.say("Back then I rowed at dawn.", at=long_ago)
    await by_words.settle()
    await by_words.put("I like rowing at dawn.", turns=(TurnWithTrust(id=said, trust=1.0),))
    await by_words.put("I like rowing at dusk.")

    whys = {item.text: item.why for item in (await by_words.recall("rowing", explain=True)).items if item.why}

    assert whys["I like rowing at dawn."]["said_at"] == iso(long_ago)
    assert whys["I like rowing at dawn."]["recency"] == pytest.approx(0.0, abs=1e-6)
    assert whys["I like rowing at dusk."]["recency"] == pytest.approx(1.0)


async def test_a_summary_gives_its_place_to_the_words_that_it_sums_up(by_words: Recaller):
    said = [
        await by_words.say(text)
        for text in ("We could row.", "Or we skate on the pond.", "Rowing on the lake is best.")
    ]
    await by_words.settle()
    [gist] = await by_words.put(
        "The two spoke of rowing on the lake.",
        kind="episodic",
        origin="job",
        turns=tuple(TurnWithTrust(id=each, trust=1.0) for each in said),
    )

    [first, *rest] = (await by_words.recall("who spoke of rowing on the lake")).items
    [alone] = (await by_words.recall("who spoke of rowing on the lake", kinds=["episodic"])).items

    assert (first.id, first.also) == (said[2], (gist,))
    assert gist not in [item.id for item in rest]
    assert alone.id == gist


@pytest.mark.requirement("R-62")
async def test_a_faded_thought_comes_by_a_strong_cue_alone_and_a_persons_word_by_any(store: Store):
    thought, fact = "We mused about lanterns.", "My lantern is blue."
    cue = "drifting thoughts of evening light and water"
    mind = Recaller(store, near={cue: 1.0, thought: 0.80, fact: 0.60})
    [sleeping] = await mind.put(thought, kind="episodic", origin="model")
    await mind.put(fact)
    mind.forward(400 * DAY)
    await mind.put("Bob repairs bicycles.")

    weakly = await mind.texts(cue)
    mind.near.near[thought] = 0.91
    async with store.transaction() as transaction:
        await transaction.connection.execute(
            "update memory_vector set embedding = %(near)s::halfvec where memory_id = %(id)s and purpose = 'store'",
            {"near": str((await mind.near.embed([thought], EmbeddingPurpose.STORE))[0].tolist()), "id": sleeping},
        )
    strongly = await mind.texts(cue)

    assert thought not in weakly
    assert fact in weakly
    assert thought in strongly
    assert thought in await mind.texts("bicycles", include=["dormant"])
    mind.forget_unwritten()


async def test_a_loop_has_one_vote(by_words: Recaller):
    """The same recall over and over in one session: one count a pair, no weight moved, nothing counted by asking again."""
    await learn_all(by_words, ("Tea is green.", "Tea is hot.", "Tea is cheap."))
    columns = "select id, weight_alpha, weight_beta, confidence, last_accessed, access_count from memory order by id"
    before = await rows(by_words.store, columns)

    for _ in range(30):
        found = await by_words.recall("tea", session="loop")
        await by_words.written()
    read = len(by_words.read)
    await rerun_and_compare_recall(by_words.searching, MAIN_SPACE, found.id)

    pairs = await rows(by_words.store, "select co_access_count + temporal_count as times from memory_co_access")
    assert [row["times"] for row in pairs] == [1, 1, 1]
    assert await rows(by_words.store, columns) == before
    assert len(by_words.read) == read == 90
    assert len(await rows(by_words.store, "select id from recall")) == 30


async def test_what_is_stored_asked_and_compared_is_embedded_for_that_purpose(mind: Recaller):
    await mind.learn(THINGS[0])
    await mind.say("I would like some tea.")
    await mind.settle()
    mind.forward()
    stored = {(purpose, text) for purpose, texts in mind.near.asked for text in texts}
    mind.near.asked.clear()

    await mind.recall("tea")

    assert (EmbeddingPurpose.COMPARE, THINGS[0]) in stored
    assert (EmbeddingPurpose.STORE, "2026-01-05 I would like some tea.\n") in stored
    assert mind.near.asked == [(EmbeddingPurpose.QUERY, ("tea",))]


async def test_a_memory_is_as_near_to_its_own_text_as_half_precision_allows(mind: Recaller):
    mind.near.near |= {THINGS[0]: 0.73, "own words": 0.73}
    mind.near._far["own words"] = mind.near._far.setdefault(THINGS[0], 0)
    await mind.learn(THINGS[0])

    [item] = (await mind.recall("own words", explain=True)).items

    assert item.why is not None
    assert item.why["cosine"] == pytest.approx(1.0, abs=0.002)
