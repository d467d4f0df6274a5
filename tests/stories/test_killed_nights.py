"""A night whose process is killed for good, in every step: what comes out is what an undisturbed night leaves.

The database itself stops the process: a trigger falls asleep where the test wants it, in the middle of a transaction,
and the process that waits for it is killed.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg
import pytest
from tests.cli.shell import patiently
from tests.consolidation.sleeper import Sleeper, TalkingModel, insights, numbers_in, sleeping, with_model
from tests.consolidation.test_nights import INSIGHT
from tests.jobs.deps import rows
from tests.store.homes import REPOSITORY
from tests.stories.test_nights import TEA, eventful, give_weight, prepare_all_steps

from festinger.consolidation.apply import undo_night
from festinger.consolidation.night import load_night_report
from festinger.consolidation.reflect import GROUP_QUESTION, InsightsAnswer, QuestionsAnswer
from festinger.consolidation.run import UNITS, run_night
from festinger.errors import AlreadyRunning
from festinger.ids import MAIN_SPACE

SETTINGS: dict[str, Any] = {"consolidation__derived_share": 0.9}
HERBS = (
    "basil",
    "chives",
    "dill",
    "fennel",
    "hyssop",
    "lovage",
    "mint",
    "oregano",
    "parsley",
    "sage",
    "tarragon",
    "thyme",
)

SURVEY, END = "survey", "end"
"""The first step of a night and its last act, which write no unit of their own."""
PLANNED, APPLIED = "planned", "applied"
"""The two transactions of a unit."""

TRAP = """
create table trap (place text);
create function spring() returns trigger language plpgsql as $$
begin
    if exists (select from trap where place = tg_argv[0] or place = tg_argv[0] || ' ' || new.step) then
        perform pg_sleep(25);
    end if;
    return new;
end $$;
create trigger survey before update on night for each row
    when (old.step = '' and new.step <> '') execute function spring('survey');
create trigger planned before insert on night_unit for each row when (not new.is_done) execute function spring('planned');
create trigger applied before insert on night_item for each row execute function spring('applied');
create trigger ended before update on night for each row when (new.state = 'done') execute function spring('end');
"""
TRAPPED = "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"


def busy() -> TalkingModel:
    """A model with several questions, good insights, and drafts that are dropped."""
    model = eventful()
    asked = ["What is known of the garden?", "Which herbs grow in the garden?"]
    model.answers[QuestionsAnswer] = lambda _prompt: QuestionsAnswer(reasoning="r", questions=asked)

    def think(prompt: str) -> InsightsAnswer:
        texts = {
            asked[0]: INSIGHT,
            asked[1]: "Herbs of many kinds do well",
            GROUP_QUESTION: "So much is told of one place",
        }
        text = next(text for question, text in texts.items() if question in prompt)
        return insights((text, numbers_in(prompt)[:4]), ("Ann has 4242 gardens", [1, 2]), ("Ann rests", [900]))

    model.answers[InsightsAnswer] = think
    return model


@dataclass(frozen=True)
class NightProcesses:
    """Starts nights in processes of their own."""

    starter: "subprocess.Popen[str]"
    arguments: tuple[str, ...]
    log: Path

    def start(self, night: UUID, now: datetime, *, seed: int) -> int:
        """Start a night; return the id of its process."""
        assert self.starter.stdin is not None
        self.starter.stdin.write(json.dumps([*self.arguments, str(night), now.isoformat(), seed]) + "\n")
        self.starter.stdin.flush()
        return self.read()

    def read(self) -> int:
        assert self.starter.stdout is not None
        line = self.starter.stdout.readline()
        assert line, self.log.read_text()
        return int(line)

    def kill_at(self, place: str, process: int, connection: "psycopg.Connection[Any]") -> None:
        """Wait until a process is in the trap, kill it for good, and let the database notice."""
        for _ in patiently():
            assert psutil.pid_exists(process), f"it ended before {place}: {self.log.read_text()}"
            if (trapped := connection.execute(TRAPPED).fetchone()) is not None:
                os.kill(process, signal.SIGKILL)
                assert self.read() == -signal.SIGKILL
                connection.execute("delete from trap")
                connection.execute("select pg_terminate_backend(%s)", trapped)
                return
        raise AssertionError(f"it never came to {place}")


@contextmanager
def night_processes(database_url: str, folder: Path) -> Iterator[NightProcesses]:
    command, log = [sys.executable, "-m", "tests.consolidation.night_process"], folder / "nights.log"
    with log.open("w") as lines:
        starter = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=lines, text=True
        )
    with starter:
        yield NightProcesses(starter=starter, arguments=(database_url, str(folder)), log=log)


async def plant_herbs(at: Sleeper, agents: Sequence[str]) -> None:
    """More than one recall brings, in two groups that overlap."""
    for agent in agents:
        for number, herb in enumerate(HERBS * 2):
            text = f"Ann grows {herb} in the garden"
            await at.tell(text, session=f"h{number % 5}", tags=("herbs",), origin="model", agent=agent)


async def begin_when_free(at: Sleeper, agent: str) -> UUID:
    """Begin a night as soon as the database has noticed that nobody runs one any more."""
    for _ in patiently():
        with suppress(AlreadyRunning):
            return await at.begin(agent=agent)
    raise AssertionError("the killed night still counts as running")


@pytest.mark.requirement("C-10", "C-16")
@pytest.mark.parametrize("part", [PLANNED, APPLIED])
async def test_a_night_killed_for_good_in_every_step_leaves_the_rows_of_an_undisturbed_one(
    database_url: str, tmp_path: Path, part: str
):
    places = [SURVEY, *(f"{part} {step}" for step in UNITS), END]
    async with sleeping(database_url, tmp_path, **SETTINGS) as at:
        await plant_herbs(at, ("calm", "doomed"))
        await prepare_all_steps(at, ("calm", "doomed"))
        for each in await at.memories("fact"):
            if each.content == TEA:
                await give_weight(at, each.id, alpha=1.0, beta=1.2)
        before = await tables_of(at, "doomed", STANDING)
        calm = await at.begin(agent="calm")
        await run_night(with_model(at.deps, busy()), MAIN_SPACE, calm)
        night = await at.begin(agent="doomed")
        with (
            psycopg.connect(database_url, autocommit=True) as connection,
            night_processes(database_url, tmp_path) as by,
        ):
            connection.execute(TRAP)
            for seed, place in enumerate(places, 100):
                connection.execute("insert into trap values (%s)", [place])
                by.kill_at(place, by.start(night, at.hands.now, seed=seed), connection)
                assert await begin_when_free(at, "doomed") == night
            by.start(night, at.hands.now, seed=99)
            assert by.read() == 0, by.log.read_text()

        expected = await tables_of(at, "calm", TABLES)
        assert await tables_of(at, "doomed", TABLES) == expected
        told, calmly = [await load_night_report(at.deps, MAIN_SPACE, each) for each in (night, calm)]
        assert [masked(line) for line in told.lines] == [masked(line) for line in calmly.lines]
        assert {"uncited", "unsupported", "weakened"} <= set(told.counts)
        assert told.safety
        assert told.left_over
        await undo_night(at.deps, MAIN_SPACE, night, by="ada")
        assert await tables_of(at, "doomed", STANDING) == before


OWN = "from memory where agent_id = %(agent)s"
TABLES = {
    "memory": f"select * {OWN}",
    "memory_sighting": "select * from memory_sighting where agent_id = %(agent)s",
    "memory_link": f"select * from memory_link where from_id in (select id {OWN})",
    "memory_change": f"select * from memory_change where memory_ids && array(select id {OWN})",
    "night": "select * from night where agent_id = %(agent)s",
    "night_item": f"select * from night_item where memory_id in (select id {OWN})",
    "night_unit": "select u.* from night_unit u join night n on n.id = u.night_id where n.agent_id = %(agent)s",
    "safety_event": f"select * from safety_event where memory_id in (select id {OWN})",
    "event": "select name, payload from event where payload ->> 'agent' = %(agent)s",
}
"""What belongs to an agent of all that a night writes."""
STANDING = {
    "memory": f"{TABLES['memory']} and status = 'active'",
    "memory_link": f"select * from memory_link where undone_at is null and from_id in (select id {OWN} and status = 'active')",
}
"""What an undo leaves."""
HIDDEN = ("key", "unit_key", "seq", "updated_at", "version")
"""Made of ids, of what other agents do, or moved on by every change."""
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def masked(text: str, names: dict[str, str] | None = None) -> str:
    """A text with what a memory says in place of its id, and without other ids."""
    text = UUIDS.sub(lambda found: (names or {}).get(found[0], "#"), text)
    return re.sub(r"\[[0-9a-f-]{18}\]", "[#]", text)


async def tables_of(at: Sleeper, agent: str, tables: Mapping[str, str]) -> dict[str, list[str]]:
    """All rows of an agent, by what memories say instead of by id."""
    names = {str(row["id"]): row["content"] for row in await rows(at.app.store, TABLES["memory"], agent=agent)}
    found = {}
    for table, query in tables.items():
        lines = []
        for row in await rows(at.app.store, query, agent=agent):
            kept = {name: value for name, value in row.items() if name not in HIDDEN}
            lines.append(masked(json.dumps(kept, default=str, sort_keys=True), names).replace(agent, "AGENT"))
        found[table] = sorted(lines)
    return found
