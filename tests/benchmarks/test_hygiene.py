"""What the suite of a clean store counts, and that a few days really pass through the door."""

from pathlib import Path

import pytest
from benchmarks.hygiene import METRICS, asks_model, counts
from benchmarks.month import Material, MonthMessage, MonthMessageKind, month
from benchmarks.month_door import month_door
from benchmarks.month_kept import ActiveMonthItem, SentMonthMessage, edges_now, held, live, origin_of
from benchmarks.tally import MetricTally
from benchmarks.truths import Form, Truth, TruthSaying

FIRST = TruthSaying(truth="t", form=Form.FIRST, text="Anna lives in Oslo.")
CHANGED = TruthSaying(truth="t", form=Form.CHANGED, text="Anna moved to Bergen.")
STAYS = TruthSaying(truth="s", form=Form.FIRST, text="Ben plays the cello.")
TRUTHS = (Truth(id="t", sayings=(FIRST, CHANGED)), Truth(id="s", sayings=(STAYS,)))


FACTS = (
    "Carla repairs old clocks in Porto.",
    "The library of Graz opens at nine.",
    "Dorian has three sisters.",
    "Emil is allergic to walnuts.",
    "Freya studied geology in Tartu.",
    "Goran owns a blue van.",
)


UNDECIDED = (
    "The miller repaired the wooden gate near the river",
    "The miller repaired wooden gate near the river bank",
)
"""Of which no rule is sure."""


def kept(
    saying: TruthSaying | None, kind: MonthMessageKind | None = MonthMessageKind.DURABLE, store: str = "memory"
) -> ActiveMonthItem:
    return ActiveMonthItem(store=store, text="…", kind=kind, saying=saying)


def values(tallies: list[MetricTally]) -> dict[str, float]:
    return {tally.metric.removeprefix("hygiene."): tally.value for tally in tallies}


@pytest.mark.requirement("S-31")
def test_a_clean_store_is_clean():
    assert values(counts("us", [kept(CHANGED), kept(STAYS)], TRUTHS)) == {
        "junk": 0,
        "re_ingested": 0,
        "near_twins": 0,
        "kept": 1,
    }


@pytest.mark.requirement("S-31")
def test_what_no_durable_statement_stands_behind_is_junk():
    found = values(counts("us", [kept(STAYS), kept(None, MonthMessageKind.CHATTER), kept(None, None)], TRUTHS))

    assert found["junk"] == pytest.approx(2 / 3)
    assert found["re_ingested"] == 0


@pytest.mark.requirement("S-31")
def test_what_came_back_from_our_own_notes_is_counted():
    assert values(counts("us", [kept(STAYS), kept(None, MonthMessageKind.ECHO)], TRUTHS))["re_ingested"] == 0.5


@pytest.mark.requirement("S-31")
def test_the_same_truth_twice_in_one_store_is_a_twin_and_in_two_stores_is_none():
    assert values(counts("us", [kept(STAYS), kept(STAYS)], TRUTHS))["near_twins"] == 0.5
    assert values(counts("us", [kept(STAYS), kept(STAYS, store="edge")], TRUTHS))["near_twins"] == 0


@pytest.mark.requirement("S-31")
@pytest.mark.parametrize(
    ("sayings", "share"),
    [([], 0), ([FIRST], 0), ([FIRST, CHANGED], 0), ([CHANGED], 0.5), ([STAYS, CHANGED], 1)],
    ids=["nothing", "as it was", "as it was and is", "as it is", "all"],
)
def test_a_truth_is_kept_if_it_is_held_as_it_is_now(sayings: list[TruthSaying], share: float):
    assert values(counts("us", [kept(each) for each in sayings], TRUTHS))["kept"] == share


def test_words_are_traced_to_what_a_person_wanted_kept_first():
    chatter = SentMonthMessage(
        message=MonthMessage(role="user", kind=MonthMessageKind.ECHO), text="So, Ben plays the cello. Right"
    )
    wanted = SentMonthMessage(
        message=MonthMessage(role="user", kind=MonthMessageKind.DURABLE, saying=STAYS),
        text="Remember that Ben plays the cello.",
    )

    assert origin_of("Ben plays the cello", [chatter, wanted]) is wanted.message
    assert origin_of("ben plays the cello", [chatter]) is chatter.message
    assert origin_of("Ben sells cellos", [chatter, wanted]) is None


def test_every_goal_of_a_clean_store_stands_with_its_metric():
    goals = {metric.name: metric.goal.value for metric in METRICS if metric.goal}

    assert goals == {
        "hygiene.junk": 0.05,
        "hygiene.kept": 0.95,
        "hygiene.re_ingested": 0,
        "hygiene.near_twins": 0.01,
        "hygiene.secrets": 0,
        "hygiene.by_hand": 0,
        "hygiene.asks_model": 0.1,
    }


@pytest.mark.requirement("S-31")
async def test_a_day_passes_through_the_door_and_what_was_wanted_is_held(database_url: str, tmp_path: Path):
    material = Material(facts=FACTS, policy="Be kind to people.", results=('{"seats": 3}',))
    lived = month(material, seed=1, days=1, sessions=6)
    async with month_door(tmp_path / "home", seed=1, database_url=database_url, embedding__model="none:") as door:
        born = await edges_now(door)
        record = await live(lived, door)
        found = await held(door, record, born=born)
        before = await asks_model(door)
        for text in UNDECIDED:
            await door.memory("clerk", "calls").learn(text)
        after = await asks_model(door)

    assert after.n == before.n + 2 > 5
    assert after.value * after.n == pytest.approx(before.value * before.n + 1), "the second one waits"
    assert len([heard for session in record.values() for heard in session]) >= 60
    assert all(item.right for item in counts("us", found, lived.truths)[-1].items)
    assert sum(each.is_summary for each in found) == 0
