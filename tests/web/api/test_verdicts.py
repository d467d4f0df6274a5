"""Verdicts over HTTP: what each does, who may give one, and how a caller is kept from deciding blindly."""

from pathlib import Path

import pytest
from tests.web.inbox import WHAT, Inbox, inbox

from festinger.store.repositories.auth import AccessRole


@pytest.mark.requirement("H-87")
async def test_each_verdict_does_what_it_says_and_leaves_one_row(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        cards = {
            verdict: await at.proposed(f"Change for {verdict}")
            for verdict in ("approve", "reject", "deepen", "defer", "duplicate")
        }
        more = {"duplicate": {"of": cards["approve"]["id"][:18]}, "reject": {"note": "We tried it."}}
        said = {
            verdict: await at.decide(card, verdict, **more.get(verdict, {}))
            for verdict, card in cards.items()
            if verdict != "approve"
        }
        said["approve"] = await at.decide(cards["approve"], "approve")

        assert {verdict: got.status for verdict, got in said.items()} == dict.fromkeys(said, 200)
        assert {verdict: got.json["state"] for verdict, got in said.items()} == {
            "approve": "applied",
            "reject": "rejected",
            "deepen": "promoted",
            "defer": "deferred",
            "duplicate": "duplicate",
        }
        rows = {row["kind"]: row for row in await at.table("verdict")}
        assert set(rows) == set(said)
        assert {(row["author"], row["channel"], row["verified"]) for row in rows.values()} == {("ann", "api", True)}
        assert rows["reject"]["note"] == "We tried it."


@pytest.mark.requirement("U-13", "H-47")
async def test_nobody_but_a_reviewer_decides_whatever_the_body_says_and_each_try_is_written_down(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        keys = [at.bot, await at.deps.new_key(AccessRole.PROXY, name="proxy"), at.deps.key]
        tried = [await at.decide(card, "approve", key=key, by="ann", author="ann") for key in keys]
        many = await at.ask("POST", "/verdicts", key=at.bot, body={"verdict": "reject", "ids": [card["id"]]})
        keyless = await at.deps.ask("POST", f"/admin/api/proposals/{card['id']}/verdict", key=None, body={})

        assert [got.status for got in (*tried, many, keyless)] == [403, 403, 403, 403, 401]
        assert [
            (row["author"], row["verified"], row["result"])
            for row in sorted(await at.table("verdict"), key=lambda row: (row["received_at"], row["id"]))
        ] == [
            ("bot", False, "unverified"),
            ("proxy", False, "unverified"),
            ("root", False, "unverified"),
            ("bot", False, "unverified"),
        ]
        shown = (await at.ask("GET", f"/{card['id']}")).json
        assert (shown["state"], len(shown["verdicts"])) == ("promoted", 4)
        undone = await at.ask("POST", f"/{card['id']}/undo", key=at.bot)
        assert undone.status == 403


@pytest.mark.requirement("H-87")
async def test_whoever_saw_another_version_is_stopped_and_whoever_comes_late_is_told_the_decision(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        version = card["version"]
        stale = await at.decide(card, "approve", headers={"if-match": f'"{version + 1}"'})
        odd = await at.decide(card, "approve", headers={"if-match": "new"})
        taken = await at.decide(card, "approve", headers={"if-match": f'"{version}"'})
        late = await at.decide(card, "reject")

        assert (stale.status, stale.json["error"]["name"]) == (412, "stale")
        assert odd.status == 422
        assert (taken.status, taken.json["result"]) == (200, "applied")
        assert (late.status, late.json["error"]["name"]) == (409, "already_decided")
        assert late.json["error"]["details"]["state"] == "applied"


@pytest.mark.requirement("H-48", "H-87")
async def test_the_same_message_counts_once_and_another_under_its_key_is_refused(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card, other = await at.proposed(), await at.proposed("Cache the answers")
        key = {"idempotency-key": "one"}
        first = await at.decide(card, "approve", headers=key)
        again = await at.decide(card, "approve", headers=key)
        replayed = await at.decide(other, "approve", headers=key)
        bens = await at.decide(
            other, "approve", headers=key, key=await at.deps.new_key(AccessRole.REVIEWER, name="ben")
        )

        assert first.json == again.json
        assert len(await at.table("task")) == 2
        assert (replayed.status, replayed.json["error"]["name"]) == (409, "replayed")
        assert bens.status == 200


@pytest.mark.requirement("H-87")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"verdict": "hurrah"}, 422),
        ({"verdict": "duplicate"}, 422),
        ({"verdict": "approve", "edits": {"state": "applied"}}, 422),
        ({"verdict": "defer", "until": "yesterday"}, 422),
        ({"note": "nothing said"}, 422),
    ],
    ids=["no verdict", "of nothing", "no such field", "no moment", "nothing"],
)
async def test_a_verdict_that_cannot_be_read_changes_nothing(
    body: dict[str, object], status: int, database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        got = await at.ask("POST", f"/{card['id']}/verdict", body=body)

        assert got.status == status
        assert (await at.ask("GET", f"/{card['id']}")).json["state"] == "promoted"


@pytest.mark.requirement("H-46", "H-87")
async def test_a_proposal_is_thought_over_twice_and_no_more(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        said = [await at.decide(card, verdict) for verdict in ("deepen", "too-vague", "deepen")]

        assert [got.status for got in said] == [200, 200, 409]
        assert said[2].json["error"]["name"] == "too_deep"


@pytest.mark.requirement("H-49", "H-87")
async def test_what_has_moved_is_stale_until_it_is_built_anew(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        memory = await _learn(at, "The server has 16 GB")
        card = await at.proposed(type="memory_change", payload={"op": "archive", "ids": [memory]})
        await at.deps.ask(
            "PATCH", f"/admin/api/memories/{memory}", key=at.ann, body={"content": "The server has 17 GB"}
        )
        shown = (await at.ask("GET", f"/{card['id']}")).json
        stale = await at.decide(card, "approve")
        rebuilt = (await at.ask("POST", f"/{card['id']}/rebuild")).json
        done = await at.decide(card, "approve", headers={"if-match": str(rebuilt["version"])})

        assert shown["effect"]["changed"] == [f"memory:{memory}"]
        assert (stale.status, stale.json["error"]["name"]) == (409, "stale")
        assert (rebuilt["state"], rebuilt["effect"]["changed"]) == ("promoted", [])
        assert (done.status, done.json["state"]) == (200, "applied")


@pytest.mark.requirement("H-57", "H-87")
async def test_an_approval_is_taken_back_and_only_then_can_be_taken_up_again(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        early = await at.ask("POST", f"/{card['id']}/undo")
        await at.decide(card, "approve")
        undone = await at.ask("POST", f"/{card['id']}/undo")
        again = await at.ask("POST", f"/{card['id']}/undo")
        reopened = await at.decide(card, "reopen")

        assert (early.status, undone.status, again.status) == (409, 200, 200)
        assert (undone.json["state"], undone.json["effect"]["undone_by"]) == ("undone", "ann")
        assert [row["state"] for row in await at.table("task")] == ["dropped"]
        assert reopened.json["state"] == "promoted"


@pytest.mark.requirement("H-57", "H-87")
async def test_what_later_changes_stand_on_is_not_taken_back(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        memory = await _learn(at, "The server has 16 GB")
        edit = {"op": "edit", "ids": [memory], "text": "The server has 17 GB"}
        card = await at.proposed(type="memory_change", payload=edit)
        await at.decide(card, "approve")
        later = {"content": "The server has 18 GB"}
        await at.deps.ask("PATCH", f"/admin/api/memories/{memory}", key=at.ann, body=later)
        blocked = await at.ask("POST", f"/{card['id']}/undo")

        assert (blocked.status, blocked.json["error"]["name"]) == (409, "undo_blocked")
        assert (await at.ask("GET", f"/{card['id']}")).json["state"] == "applied"


@pytest.mark.requirement("H-50")
async def test_of_many_each_gets_its_own_answer_and_what_changes_behaviour_is_decided_one_by_one(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        plain, decided = await at.proposed(), await at.proposed("Cache the answers")
        await at.decide(decided, "reject")
        censor = {"pattern": "zebra", "on": ["output"], "reason": "No zebras."}
        rule = await at.proposed("Warn of zebras", type="censor_rule", payload=censor)

        def body(*cards: dict[str, object]) -> dict[str, object]:
            return {"verdict": "approve", "ids": [card["id"] for card in cards]}

        refused = await at.ask("POST", "/verdicts", body=body(plain, rule))
        some = await at.ask("POST", "/verdicts", body=body(plain, decided))
        none = await at.ask("POST", "/verdicts", body=body())

        assert (refused.status, refused.json["error"]["name"]) == (409, "one_by_one")
        assert (some.json["done"], some.json["of"]) == (1, 2)
        assert [(each["result"], each["detail"]) for each in some.json["items"]] == [
            ("applied", ""),
            ("already", "This proposal is rejected already."),
        ]
        assert none.status == 422


@pytest.mark.requirement("H-58")
async def test_tasks_are_listed_and_closed_by_a_reviewer_alone(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        await at.proposed(approve=True)
        (task,) = (await at.ask("GET", "/tasks", key=at.bot)).json["items"]
        refused = await at.ask("POST", f"/tasks/{task['id']}", key=at.bot)
        closed = await at.ask("POST", f"/tasks/{task['id']}", body={"state": "dropped"})
        again = await at.ask("POST", f"/tasks/{task['id']}")

        assert (task["title"], task["state"]) == (WHAT, "open")
        assert refused.status == 403
        assert (closed.json["state"], closed.json["closed_by"]) == ("dropped", "ann")
        assert again.status == 409
        assert (await at.ask("GET", "/tasks")).json["items"] == []
        assert len((await at.ask("GET", "/tasks?state=all")).json["items"]) == 1


@pytest.mark.requirement("H-22")
async def test_a_pair_is_joined_parted_and_then_not_suggested_again(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        one, other = await at.proposed("Add retry logic"), await at.proposed("Add retries logic")
        pair = await at.suggest(one, other)

        (listed,) = (await at.ask("GET", "/pairs")).json["items"]
        refused = await at.ask("POST", f"/pairs/{pair}", key=at.bot, body={"accept": True})
        joined = await at.ask("POST", f"/pairs/{pair}", body={"accept": True})
        parted = await at.ask("POST", f"/pairs/{pair}/split")

        assert {listed["a_what"], listed["b_what"]} == {"Add retry logic", "Add retries logic"}
        assert refused.status == 403
        assert (joined.json["state"], joined.json["proposal"]) == ("accepted", one["id"])
        assert parted.json["proposals"] == [one["id"], other["id"]]
        assert (await at.ask("GET", "/pairs")).json["items"] == []


@pytest.mark.requirement("H-23")
async def test_what_is_held_is_let_go_by_a_reviewer(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card = (await at.sight()).json["proposal"]
        await at.change("held = 'like_rejected'")
        held = (await at.ask("GET", "?held=true")).json["items"]
        refused = await at.ask("POST", f"/{card['id']}/release", key=at.bot)
        released = await at.ask("POST", f"/{card['id']}/release")
        again = await at.ask("POST", f"/{card['id']}/release")

        assert [each["held"] for each in held] == ["like_rejected"]
        assert (refused.status, released.status, again.status) == (403, 200, 404)
        assert released.json["held"] is None


async def test_a_muted_producer_is_named_and_lifted_by_a_reviewer(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for number in range(5):
            await at.sight(f"Change number {number}")
        await at.change("state = 'promoted', promoted_at = last_seen")
        for each in (await at.ask("GET")).json["items"]:
            await at.decide(each, "reject")
        muted = (await at.deps.ask("GET", "/admin/api/inbox")).json["muted"]
        held = (await at.sight("Cache the answers")).json["proposal"]
        key = {"producer": "api", "category": "reliability"}
        refused = await at.ask("POST", "/lift", key=at.bot, body=key)
        lifted = await at.ask("POST", "/lift", body=key)

        assert [(each["producer"], each["category"]) for each in muted] == [("api", "reliability")]
        assert held["held"] == "producer_muted"
        assert refused.status == 403
        assert lifted.json["released"] == 1
        assert (await at.deps.ask("GET", "/admin/api/inbox")).json["muted"] == []


async def _learn(at: Inbox, text: str) -> str:
    learned = await at.deps.ask("POST", "/admin/api/memories", key=at.ann, body={"text": text})
    return str(learned.json["memory"]["id"])


@pytest.mark.requirement("H-21")
async def test_a_program_approves_one_of_two_opposites_only_once_it_has_seen_the_other(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        one, other = await at.proposed("Retry the failed query"), await at.proposed("Fail, do not retry")
        await at.suggest(one, other, "opposite")

        blind = await at.decide(one, "approve")
        both = {"verdict": "approve", "ids": [one["id"], other["id"]]}
        many = await at.ask("POST", "/verdicts", body={**both, "seen": [other["id"]]})
        shown = (await at.ask("GET", f"/{other['id']}")).json["pairs"]
        seen = await at.decide(other, "approve", seen=[one["id"][:18]])

        assert (blind.status, blind.json["error"]["name"]) == (409, "unseen")
        assert f"`{other['id']}`" in blind.json["error"]["hint"]
        assert [each["result"] for each in many.json["items"]] == ["applied", "failed"]
        assert [(pair["relation"], pair["what"]) for pair in shown] == [("opposite", one["what"])]
        assert (seen.status, seen.json["state"]) == (200, "applied")
