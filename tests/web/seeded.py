"""A whole server with a little life behind it, for the pages of the console in a browser and for pictures of them.

`python -m tests.web.seeded FOLDER` takes a picture of every page, wide and narrow, in light and dark.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests import database
from tests.jobs.deps import rows
from tests.stories.stage import Stage, stage
from tests.web.chromium import Browser, start

from festinger.client.memory import Memory
from festinger.ids import DEFAULT_AGENT, EVERY_SPACE, MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.services.access import issue_key
from festinger.services.agent import choose_chat_scope, say
from festinger.services.nights import run_night
from festinger.store.repositories.auth import AccessRole
from festinger.world.learn import write_claims
from festinger.world.recall import SourceText

WRONG, RIGHT = "The staging database listens on port 5432.", "The staging database listens on port 5433."
SAID = "Which port does the staging database listen on?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    at: Stage
    link: str
    pages: dict[str, str]
    """Every page by a short name."""
    wrong: str
    """The memory that is to be corrected."""

    @property
    def url(self) -> str:
        return self.at.url

    def enter(self, browser: Browser) -> None:
        """Log in by the link, in the thread of the browser."""
        browser.open(f"{self.url}/admin/login?code={self.link}")
        browser.press("Log in")


async def talk(at: Stage, *said: str, reply: str = "I see.") -> None:
    messages: list[dict[str, str]] = []
    for text in said[:-1]:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]
    messages.append({"role": "user", "content": said[-1]})
    at.model.says(reply)
    await at.post("/api/chat", {"model": "llama3", "stream": False, "messages": messages})


async def _remember(at: Stage) -> str:
    memory = Memory(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("desk"), _app=at.app)
    wrong = await memory.learn(WRONG, subject="staging database", tags=("infrastructure",))
    await memory.learn("The staging database is backed up every night at two.", subject="staging database")
    await memory.learn("Clara is my sister and lives in Lisbon.", subject="Clara")
    await memory.learn("Clara prefers to be called after six in the evening.", subject="Clara", kind="preference")
    await memory.learn("Run the migrations before the tests.", kind="procedural", tags=("decision",))
    await memory.learn("The printer's driver is Gutenprint.", subject="printer")
    await memory.learn("The printer's driver is Foomatic.", subject="printer", origin="model")
    old = await memory.learn("The office plant is watered on Mondays.", subject="office plant")
    assert old.memory is not None
    await memory.archive(old.memory.id)
    assert wrong.memory is not None
    return str(wrong.memory.id)


async def _state_facts(at: Stage) -> None:
    facts = ["gnommoweb -isa website", "gnommoweb -ispart intranet in context of network", "website -isa artifact"]
    await at.post("/iknowthat", {"facts": [*facts, "gnommoapi -isa service", "service -isa artifact"]})
    await at.post("/iknowthat", {"fact": "gnommoweb -isa container"})
    room, text = at.app.world, "Acme is a vendor."
    scope = Scope(space=MAIN_SPACE, agent=AgentId("a1"), session=SessionId("s1"))
    async with at.app.store.transaction() as transaction:
        await room.recollector.learn(transaction, scope, SourceText(message=text, text=text, origin=Origin.TOOL))
    await write_claims(room.deps, MAIN_SPACE, text)


async def _think(at: Stage) -> None:
    """A conversation with an agent that has a boundary, a habit of long standing and goals."""
    memory = Memory(space=MAIN_SPACE, agent=AgentId("ada"), session=SessionId("desk"), _app=at.app)
    await memory.learn("Never send mail on my behalf.", immutable=True)
    habit = await memory.learn("I prefer short answers without lists.", kind="preference")
    assert habit.memory is not None
    heavy = "update memory set weight_alpha = 9, weight_beta = 2 where id = %(id)s returning 1"
    await rows(at.app.store, heavy, id=habit.memory.id)
    for text in (
        "My goal is to run a marathon by May.",
        "We plan to move the staging database to Postgres 18.",
        "My goal is to read a book a month.",
        "I finished reading my book a month ago: that goal of a book a month is done.",
        "Which port does the staging database listen on?",
    ):
        scope = await choose_chat_scope(at.app, MAIN_SPACE, AgentId("ada"))
        await say(at.app, scope, text)


async def _propose(at: Stage) -> str:
    _, secret = await issue_key(at.app, "bob", role=AccessRole.REVIEWER, space=EVERY_SPACE, agent=None, by="test")
    draft = {"category": "reliability", "scope": "tools", "why": "It fails at night.", "how": "Wait, then ask again."}
    key = {"X-Festinger-Key": secret}
    made = await at.post("/admin/api/proposals", {"what": "Retry the failed query", **draft}, **key)
    await at.post("/admin/api/proposals", {"what": "Ask before deleting a branch", **draft}, **key)
    return str(made.body["proposal"]["id"])


async def _loop(at: Stage) -> None:
    said = {"session": "s1", "rule": "same_call", "level": 2, "count": 6, "key": "", "did": "nudge,temperature"}
    cut = {"session": "s2", "rule": "stale", "channel": "text", "chars": 2480}
    async with at.app.store.transaction() as transaction:
        for name, payload in (("loop_detected", said), ("loop_recovered", said), ("loop_cut", cut)):
            await at.app.outbox.emit(transaction, name, space=MAIN_SPACE, subject="session:s1", payload=payload)


async def ignore_progress(_done: int, _total: int, _step: str) -> None:
    """Nobody watches."""


@asynccontextmanager
async def seeded(url: str, folder: Path, **flags: Any) -> AsyncIterator[Seeded]:
    """A server with memories, a conversation, a conflict, proposals and something in quarantine."""
    async with stage(url, folder, **flags) as at:
        wrong = await _remember(at)
        await _state_facts(at)
        proposal = await _propose(at)
        reply = "It listens on port 5432."
        await talk(at, SAID, reply=reply)
        await talk(at, SAID, "My name is Ann and I live in Bergen. What is gnommoweb?", reply=reply)
        await at.kept()

        async def heard() -> object:
            return await rows(at.app.store, "select 1 from memory where turn_id in (select turn_id from episode_turn)")

        await at.until(heard)
        await _think(at)
        await _loop(at)
        (episode,) = await rows(at.app.store, "select id from episode where agent_id <> 'ada' limit 1")
        conflicts = await at.pending()
        (archived,) = await rows(at.app.store, "select id from memory where subject = 'office plant'")
        night = await run_night(at.app, space=MAIN_SPACE, report=ignore_progress)
        pages = {
            "overview": "/admin",
            "memories": "/admin/memories",
            "search": f"/admin/memories?q={quote('which port has staging')}",
            "memory": f"/admin/memories/{wrong}",
            "archived": f"/admin/memories/{archived['id']}",
            "subjects": "/admin/about",
            "about": "/admin/about/Clara",
            "conversations": "/admin/conversations",
            "conversation": f"/admin/conversations/{episode['id']}",
            "mind": "/admin/mind/ada",
            "inbox": "/admin/inbox",
            "proposal": f"/admin/inbox/{proposal}",
            "conflicts": "/admin/conflicts",
            "conflict": f"/admin/conflicts/{conflicts[0]['id']}",
            "world": "/admin/world",
            "word": "/admin/world?concept=gnommoweb&depth=2",
            "nights": "/admin/nights",
            "night": f"/admin/nights/{night}",
            "outcomes": "/admin/outcomes",
            "loops": "/admin/loops",
            "changes": "/admin/changes",
            "health": "/admin/health",
            "docs": "/admin/docs",
            "doc": "/admin/docs/explanation/architecture",
            "reference": "/admin/docs/reference/settings",
            "found": "/admin/docs?q=port",
        }
        yield Seeded(at=at, link=await at.app.logins.invite("ann"), pages=pages, wrong=wrong)


def take_pictures(browser: Browser, there: Seeded, folder: Path) -> None:
    there.enter(browser)
    for name, path in there.pages.items():
        for width, scheme in ((1280, "light"), (360, "light"), (1280, "dark")):
            browser.prefer(scheme)
            browser.narrow(width)
            browser.open(there.url + path)
            height = min(int(browser.run("return document.documentElement.scrollHeight")), 4000)
            browser.narrow(width, height=height)
            browser.driver.save_screenshot(str(folder / f"{name}-{width}-{scheme}.png"))


async def _take_pictures(url: str, there: Path, browser: Browser, folder: Path) -> None:
    async with seeded(url, there / "home") as home:
        await asyncio.to_thread(take_pictures, browser, home, folder)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fst-") as made:
        there = Path(made)
        url = database.clone(there)
        browser = Browser(driver=start(there))
        try:
            asyncio.run(_take_pictures(url, there, browser, folder))
        finally:
            browser.driver.quit()
            database.stop_server(there)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
