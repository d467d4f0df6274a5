"""From a cue to the few memories worth showing, or an honest nothing."""

from datetime import timedelta
from typing import Any

import pytest
from tests.jobs.desk import rows
from tests.memory.remembering import DAY
from tests.retrieval.recalling import Recaller

from festinger.errors import BadInput, ProviderDown, StoreDown
from festinger.ids import MAIN_SPACE
from festinger.memory.revising import archive, supersede
from festinger.retrieval.counting import recount
from festinger.retrieval.record import find_recall, prune_recalls, recalls
from festinger.retrieval.replay import replay
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
    await recount(mind.searching, MAIN_SPACE)


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"cue": "  "}, "cue"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"kinds": ["rumour"]}, "kinds"),
        ({"include": ["merged"]}, "include"),
        ({"blend": "wild"}, "blend"),
        ({"origins": ["ghost"]}, "origins"),
        ({"tokens": -1}, "tokens"),
    ],
    ids=["blank cue", "no items", "too many", "kind", "include", "blend", "origin", "tokens"],
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
    await recount(by_words.searching, MAIN_SPACE)

    assert await by_words.texts("green") == ["The green chair is on.", "The green lamp is on."]


async def test_only_what_stands_comes_unless_more_is_asked_for(by_words: Recaller):
    learnt = await by_words.learn("The spare key lies under the mat.")
    assert learnt.memory is not None
    await archive(by_words.desk, MAIN_SPACE, learnt.memory.id, by="test")
    await recount(by_words.searching, MAIN_SPACE)

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
        await supersede(by_words.desk, MAIN_SPACE, paris.memory.id, berlin.memory.id, by="test", reason="")
    await recount(by_words.searching, MAIN_SPACE)

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
async def test_three_questions_to_the_store_and_nothing_written_before_the_answer(
    mind: Recaller, watched: Watched
):
    mind.near.near |= {"green tea": 1.0}
    await learn_all(mind)
    await mind.recall("green tea")
    watched.asked.clear()

    await mind.recall("green tea")

    assert watched.asked == ["limit_statement", "read_cue", "candidates", "fetch"]
    assert await rows(mind.store, "select * from recall") == []


async def test_afterwards_it_is_written_down_and_only_counts(by_words: Recaller):
    await learn_all(by_words)
    before = await rows(
        by_words.store, "select id, weight_alpha, weight_beta, confidence from memory order by id"
    )

    found = await by_words.recall("green tea sk-live")
    await by_words.written()

    kept = await find_recall(by_words.searching, MAIN_SPACE, found.id)
    assert [hit["id"] for hit in kept["hits"] if hit["shown"]] == [str(item.id) for item in found.items]
    assert all(hit["why"]["sentence"] for hit in kept["hits"])
    assert by_words.read == [item.id for item in found.items]
    after = await rows(
        by_words.store, "select id, weight_alpha, weight_beta, confidence from memory order by id"
    )
    assert after == before


async def test_what_cannot_be_written_down_fails_no_recall(
    by_words: Recaller, monkeypatch: pytest.MonkeyPatch
):
    await learn_all(by_words)
    found = await by_words.recall("green tea")

    async def broken(*_given: Any) -> None:
        raise StoreDown("gone")

    monkeypatch.setattr(by_words.searching.outbox, "emit", lambda *_a, **_k: broken())
    await by_words.written()

    assert found.items
    assert await recalls(by_words.searching, MAIN_SPACE) == []


async def test_every_item_says_why(by_words: Recaller):
    await learn_all(by_words)

    [item] = (await by_words.recall("cello", explain=True)).items

    assert item.why is not None
    assert item.why["arms"] == {"words": 1}
    assert item.why["terms"] == ["cello"]
    assert item.why["evidence"] == 1.0
    assert item.why["weight"]["alpha"] == 1.0
    assert "learnt by a person on 2026-01-05" in item.why["sentence"]
    assert (await by_words.recall("cello")).items[0].why is None


@pytest.mark.requirement("R-75")
async def test_a_recall_is_told_as_it_was_and_what_changed_since(by_words: Recaller):
    old = await by_words.learn("The limit is 512 tokens.")
    await recount(by_words.searching, MAIN_SPACE)
    found = await by_words.recall("what is the limit?")
    await by_words.written()
    by_words.forward()
    new = await by_words.learn("Nobody keeps to a limit any more.")
    assert old.memory
    assert new.memory
    await supersede(by_words.desk, MAIN_SPACE, old.memory.id, new.memory.id, by="test", reason="")

    told = await replay(by_words.searching, MAIN_SPACE, found.id)

    assert [hit["id"] for hit in told["then"]["items"]] == [str(old.memory.id)]
    assert [item["id"] for item in told["now"]["items"]] == [str(new.memory.id)]
    assert {change["ref"]: change["because"] for change in told["changed"]} == {
        str(old.memory.id): "superseded",
        str(new.memory.id): "new memory",
    }
    assert len(await recalls(by_words.searching, MAIN_SPACE)) == 1


@pytest.mark.requirement("R-76")
async def test_a_budget_of_tokens_is_kept_and_nothing_is_cut(by_words: Recaller):
    await learn_all(
        by_words, ("Tea is green.", "Tea is a drink that people in many lands like to drink hot.", "Tea.")
    )

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
    assert await recalls(by_words.searching, MAIN_SPACE) == []


async def test_a_blood_type_is_found_a_year_later(by_words: Recaller):
    await by_words.learn("My blood type is AB negative.")
    by_words.forward(timedelta(days=400))
    await learn_all(by_words)

    assert (await by_words.texts("what is my blood type?"))[0] == "My blood type is AB negative."
