"""Nobody sees what is not theirs, by whichever way it is searched."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.jobs.deps import rows
from tests.retrieval.recalling import Recaller

from festinger.errors import ProviderDown
from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.store.pool import Store

DAY = timedelta(days=1)
CUE = "what about the harbour festival on 2026-01-04?"
TEXT = "The harbour festival has fireworks."
SAID = "Tell me of the harbour festival again."
SEED = "The lighthouse was painted."

ARMS: Mapping[str, Mapping[str, Any]] = {
    "vector": {"cue": "zzz", "words": False},
    "words": {"cue": "harbour festival fireworks", "words": True},
    "time": {"cue": "what was on 2026-01-04?", "words": True},
    "company": {"cue": "lighthouse", "words": True},
    "name": {"cue": "city", "words": True},
}
"""Cues that only one way of searching can answer."""
ONLY_MEMORIES = ("company", "name")
"""Ways on which no turn lies."""


class Scene:
    """The same texts in two spaces and of two agents, one of them with all that filters ask for."""

    def __init__(self, store: Store, arm: str) -> None:
        cue = ARMS[arm]["cue"]
        self.mind = Recaller(store, near={cue: 1.0, TEXT: 0.9}, settings={"abstain": False, "fusion": "rrf"})
        self.arm, self.cue = arm, cue

    async def build(self) -> None:
        mind = self.mind
        other = await mind.open_space("other")
        when = mind.hands.now - DAY
        for space in (MAIN_SPACE, other):
            for agent in ("default", "second"):
                await mind.learn(
                    TEXT, space=space, agent=agent, subject="harbour", tags=("city",), event_time=when, shared=False
                )
                await mind.say(SAID, space=space, agent=agent, session="talk", at=when)
                await mind.settle(space)
        if self.arm != "vector":
            mind.near.fault = ProviderDown("away")
        if self.arm == "company":
            await self.bring_together()

    async def bring_together(self) -> None:
        """Let what answers the cue lead on to everything else, whoever's it is."""
        about: dict[str, Any] = {"subject": "harbour", "tags": ("city",)}
        [seed] = await self.mind.put(SEED, shared=True, event_time=self.mind.hands.now - DAY, **about)
        async with self.mind.store.transaction() as transaction:
            await transaction.connection.execute(
                "insert into memory_co_access (space_id, memory_id_a, memory_id_b, co_access_count,"
                " last_co_accessed, last_cause) select m.space_id, least(m.id, %(seed)s), greatest(m.id, %(seed)s),"
                " 9, %(at)s, '' from memory m where m.id <> %(seed)s and m.space_id = %(space)s",
                {"seed": seed, "space": MAIN_SPACE, "at": self.mind.hands.now},
            )

    async def found(self, **asked: Any) -> list[tuple[str, str]]:
        recalled = await self.mind.recall(self.cue, limit=50, **asked)
        return sorted((item.type, item.text) for item in recalled.items if item.text != SEED)


MEMORY, TURN = ("memory", TEXT), ("turn", SAID)

FILTERS: Mapping[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "nothing": ({}, [MEMORY, TURN]),
    "kind": ({"kinds": ["fact"]}, [MEMORY]),
    "other kind": ({"kinds": ["insight"]}, []),
    "turns": ({"kinds": ["turn"]}, [TURN]),
    "subject": ({"subject": "harbour"}, [MEMORY]),
    "other subject": ({"subject": "station"}, []),
    "tags": ({"tags": ["city"]}, [MEMORY]),
    "other tags": ({"tags": ["city", "sea"]}, []),
    "origin": ({"origins": ["person"]}, [MEMORY, TURN]),
    "other origin": ({"origins": ["tool"]}, []),
}


@pytest.mark.requirement("R-06")
@pytest.mark.parametrize("arm", ARMS)
async def test_no_filter_lets_a_foreign_row_through_by_any_way(store: Store, arm: str):
    """Every filter against every way of searching; a foreign row would be there twice."""
    scene = Scene(store, arm)
    await scene.build()
    # Vectors of turns are as far as all others; the nearest fifty are searched, so turns come by them too.
    now = scene.mind.hands.now
    timed: Mapping[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
        "since": ({"since": now - 2 * DAY}, [MEMORY, TURN]),
        "too late": ({"since": now - DAY / 2}, []),
        "until": ({"until": now}, [MEMORY, TURN]),
        "too early": ({"until": now - 2 * DAY}, []),
    }

    for name, (asked, wanted) in {**FILTERS, **timed}.items():
        by_this_way = [each for each in wanted if arm not in ONLY_MEMORIES or each == MEMORY]
        assert await scene.found(**asked) == by_this_way, f"{name} by {arm}"
    assert await scene.found(agent="nobody") == []
    scene.mind.forget_unwritten()


@pytest.mark.requirement("R-06")
@pytest.mark.parametrize("arm", ARMS)
async def test_what_is_excluded_comes_by_no_way(store: Store, arm: str):
    scene = Scene(store, arm)
    await scene.build()
    items = [item for item in (await scene.mind.recall(scene.cue, limit=50)).items if item.text != SEED]

    assert items
    assert await scene.found(exclude=[item.id for item in items]) == []
    scene.mind.forget_unwritten()


async def test_what_is_being_said_right_now_is_not_brought_to_mind(by_words: Recaller):
    await by_words.say("The harbour festival starts tonight.", session="now")
    await by_words.settle()

    assert await by_words.texts("harbour festival", session="now") == []
    assert await by_words.texts("harbour festival", session="later") == ["The harbour festival starts tonight."]


async def test_a_shared_memory_is_seen_by_every_agent(by_words: Recaller):
    await by_words.learn("The office closes at six.", shared=True)

    assert await by_words.texts("when does the office close?", agent="second") == ["The office closes at six."]


async def test_what_a_tool_gave_is_not_searched(by_words: Recaller):
    await by_words.say("harbour festival log line", role="tool", origin=Origin.TOOL)
    await by_words.settle()

    assert await by_words.texts("harbour festival") == []


@pytest.mark.requirement("R-06")
async def test_two_tenants(store: Store):
    """The same texts in two spaces and of two agents: no call of many, however filtered, brings a foreign row."""
    scene = Scene(store, "vector")
    await scene.build()
    mind, chance = scene.mind, random.Random(5)
    owners = {
        row["id"]: (row["space_id"], row["agent_id"])
        for row in await rows(
            store,
            "select space_id, id, agent_id from memory union all select space_id, turn_id, agent_id from turn_index",
        )
    }
    spaces = sorted({space for space, _ in owners.values()})
    now, came = mind.hands.now, 0
    for _ in range(120):
        space, agent = SpaceId(chance.choice(spaces)), chance.choice(["default", "second"])
        asked: dict[str, Any] = {
            "kinds": chance.choice([None, ["fact"], ["turn"]]),
            "origins": chance.choice([None, ["person"]]),
            "tags": chance.choice([(), ["city"]]),
            "since": chance.choice([None, now - 2 * DAY]),
            "as_of": chance.choice([None, now]),
        }
        cue = chance.choice(["zzz", "harbour festival fireworks", "what was on 2026-01-04?"])
        found = (await mind.recall(cue, space=space, agent=agent, limit=50, **asked)).items
        came += len(found)
        assert all(owners[item.id] == (space, agent) for item in found), asked

    assert came > 100
    mind.forget_unwritten()
