"""The world over HTTP: stating facts, conflicts and their decisions, runs, reloading, asking why."""

from pathlib import Path

import pytest
from tests.web.deps import Desk, deps

from festinger.jobs.worker import WorkerPool
from festinger.store.queries import Query
from festinger.store.repositories.auth import AccessRole

BEHIND_OUR_BACK = Query(
    room="tests",
    name="behind_our_back",
    purpose="a change that tells nobody",
    sql="insert into config (space_id, key, value, updated_at, updated_by)"
    " values ('*', 'events.retention_days', '8', now(), 'x')",
)

REPO = "gnommoweb -isa repo"
CONTAINER = "gnommoweb -isa container"


async def state(at: Desk, fact: str, *, key: str | None = None):
    return await at.ask("POST", "/iknowthat", body={"fact": fact}, key=key)


@pytest.mark.requirement("W-86")
async def test_a_fact_is_inserted_then_corroborated_and_a_collision_becomes_a_conflict(
    database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        first, again, other = [await state(at, fact) for fact in (REPO, REPO, CONTAINER)]

    assert (first.status, again.status, other.status) == (201, 200, 202)
    assert first.json["status"] == "inserted"
    assert first.json["edge"] == {
        "concept": "gnommoweb",
        "parent": "repo",
        "dimension": "type",
        "is_isa": True,
        "confidence": pytest.approx(0.8),
        "source": "gutask",
    }
    assert "gnommoweb" in first.json["new_tokens"]
    assert again.json["status"] == "corroborated"
    conflict = other.json["conflict"]
    assert (conflict["existing"]["parent"], conflict["incoming"]["parent"]) == ("repo", "container")
    assert (conflict["collision_type"], conflict["priority"]) == ("isa_isa", 10)


@pytest.mark.requirement("W-86")
async def test_only_a_person_states_a_fact_with_full_confidence(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        agent, reviewer = await at.new_key(AccessRole.AGENT), await at.new_key(AccessRole.REVIEWER)
        facts = {None: "dobby -isa elf", agent: "rex -isa dog", reviewer: "atlas -isa server"}
        edges = [(await state(at, fact, key=key)).json["edge"] for key, fact in facts.items()]

    assert [edge["confidence"] for edge in edges] == [pytest.approx(0.8), pytest.approx(0.8), 1.0]


@pytest.mark.requirement("W-86")
@pytest.mark.parametrize("body", [{"fact": "gnommoweb repo"}, {"fact": ""}, {}, {"fact": "x", "facts": ["y"]}])
async def test_what_is_no_fact_is_refused_with_the_grammar(body: dict[str, object], database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("POST", "/iknowthat", body=body)

    assert (got.status, got.json["error"]["name"]) == (400, "bad_fact")
    assert "-isa" in got.json["error"]["hint"]


@pytest.mark.requirement("W-86")
async def test_several_facts_stand_together_or_not_at_all(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        bad = await at.ask("POST", "/iknowthat", body={"facts": [REPO, "nonsense"]})
        after_bad = await at.ask("GET", "/admin/api/concepts/gnommoweb")
        good = await at.ask("POST", "/iknowthat", body={"facts": [REPO, "dobby -isa agent"]})

    assert (bad.status, after_bad.status) == (400, 404)
    assert [item["status"] for item in good.json["items"]] == ["inserted", "inserted"]


@pytest.mark.requirement("W-86")
async def test_without_a_persons_key_it_is_the_agents_word(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        await state(at, REPO)
        await state(at, "dobby -isa agent", key=reviewer)
        by_nobody = (await at.ask("GET", "/admin/api/concepts/gnommoweb")).json
        by_person = (await at.ask("GET", "/admin/api/concepts/dobby")).json

    assert {cause["origin"] for edge in by_nobody["edges"] for cause in edge["causes"]} == {"model"}
    assert {cause["origin"] for edge in by_person["edges"] for cause in edge["causes"]} == {"person"}


@pytest.mark.requirement("W-80")
async def test_conflicts_are_listed_by_status_and_one_can_be_read(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await state(at, REPO)
        made = (await state(at, CONTAINER)).json["conflict"]["id"]
        pending = await at.ask("GET", "/conflicts?status=pending")
        resolved = await at.ask("GET", "/conflicts?status=resolved")
        one = await at.ask("GET", f"/conflicts/{made}")
        wrong = await at.ask("GET", "/conflicts?status=odd")
        unknown = await at.ask("GET", "/conflicts/018f3a5e-7b21-7000-8000-000000000001")

    assert [item["id"] for item in pending.json["items"]] == [made]
    assert resolved.json["items"] == []
    assert one.json["concept"] == "gnommoweb"
    assert (wrong.status, unknown.status, unknown.json["error"]["name"]) == (422, 404, "no_such_conflict")


@pytest.mark.requirement("W-81", "W-82")
async def test_a_person_decides_and_takes_it_back(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        await state(at, REPO)
        made = (await state(at, CONTAINER)).json["conflict"]["id"]
        agent = await at.ask("POST", f"/conflicts/{made}/dismiss", body={}, key=await at.new_key(AccessRole.AGENT))
        bad = await at.ask("POST", f"/conflicts/{made}/resolve", body={"decision": "maybe"}, key=reviewer)
        decided = await at.ask("POST", f"/conflicts/{made}/resolve", body={"decision": "update"}, key=reviewer)
        now = (await at.ask("GET", "/admin/api/concepts/gnommoweb")).json["edges"]
        undone = await at.ask("POST", f"/conflicts/{made}/undo", key=reviewer)
        dismissed = await at.ask("POST", f"/conflicts/{made}/dismiss", body={"note": "a repo"}, key=reviewer)

    assert agent.status == 403
    assert (bad.status, bad.json["error"]["name"]) == (422, "bad_decision")
    assert (decided.status, decided.json["status"]) == (200, "resolved")
    assert [edge["edge"]["parent"] for edge in now] == ["container"]
    assert undone.json["status"] == "pending"
    assert (dismissed.json["status"], dismissed.json["resolution"]["reasoning"]) == ("dismissed", "a repo")


@pytest.mark.requirement("W-73")
async def test_a_run_can_be_started_once_at_a_time_and_followed(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await state(at, REPO)
        await state(at, CONTAINER)
        begun = await at.ask("POST", "/resolve/run")
        again = await at.ask("POST", "/resolve/run")
        await WorkerPool(at.app.jobs, shutdown_seconds=5).drain()
        run = await at.ask("GET", f"/resolve/runs/{begun.json['run_id']}")

    assert (begun.status, begun.json["pending"]) == (202, 1)
    assert (again.status, again.json["error"]["name"]) == (409, "already_running")
    assert (run.json["state"], run.json["seen"]) == ("done", 1)


@pytest.mark.requirement("W-46", "X-62")
async def test_reloading_brings_every_cache_up_to_date(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await state(at, REPO)
        async with at.app.store.transaction() as transaction:
            await transaction.run(BEHIND_OUR_BACK)
        before = at.app.settings.now.events.retention_days
        got = await at.ask("POST", "/reload")
        after = at.app.settings.now.events.retention_days

    assert got.status == 200
    assert (before, after) == (30, 8)
    assert got.json.keys() == {"concepts", "edges", "pending", "version", "ms"}
    assert got.json["edges"] >= 1


@pytest.mark.requirement("W-99")
async def test_a_word_that_is_not_known_comes_with_its_nearest_spellings(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await state(at, REPO)
        got = await at.ask("GET", "/admin/api/concepts/gnomoweb")

    assert (got.status, got.json["error"]["name"]) == (404, "no_such_concept")
    assert "gnommoweb" in got.text
