"""The page of the inbox: what a person sees there, and what pressing does."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.web.inbox import PROPOSALS, WHAT, inbox
from tests.web.visitor import forms_of, visitor, visitor_with_key

from festinger.store.repositories.auth import AccessRole

PAGE = "/admin/inbox"
HIDDEN = "Retry \u202ethe\u200b <b>failed</b> query"


@pytest.mark.requirement("H-81")
async def test_a_proposal_is_approved_by_pressing_and_undone_at_once(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        ann = await visitor(at.deps)
        page = await ann.get(PAGE)
        sent = await ann.press(page, "Approve")
        after = await ann.get(sent.headers["location"])
        undone = await ann.press(after, "Undo")

        assert sent.status == undone.status == 303
        assert f"<strong>{WHAT}</strong> is applied." in after.text
        (verdict,) = await at.table("verdict")
        assert (verdict["author"], verdict["channel"], verdict["fields"]["version"]) == (
            "ann",
            "console",
            card["version"],
        )
        assert (await at.ask("GET", f"/{card['id']}")).json["state"] == "undone"


@pytest.mark.requirement("H-48", "H-81")
async def test_a_form_that_is_sent_twice_counts_once_and_one_of_an_older_version_not_at_all(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        await at.proposed()
        ann = await visitor(at.deps)
        page = await ann.get(PAGE)
        vague = await ann.press(page, "Too vague")
        stale = await ann.press(page, "Approve")
        fresh = await ann.get(PAGE)
        twice = [await ann.press(fresh, "Approve") for _ in range(2)]

        assert (vague.status, stale.status) == (303, 412)
        assert [got.status for got in twice] == [303, 303]
        assert len(await at.table("task")) == 1


@pytest.mark.requirement("H-81")
async def test_each_verdict_has_its_button(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        other = await at.proposed("Cache the answers")
        ann = await visitor(at.deps)
        done = {}
        for label, typed in (
            ("Reject", {"note": "We tried it."}),
            ("Defer", {"until": "2026-03-01"}),
            ("Deepen", {}),
            ("Duplicate", {"of": other["id"][:18]}),
        ):
            card = await at.proposed(f"Change for {label}")
            await ann.press(await ann.get(f"{PAGE}/{card['id']}"), label, **typed)
            done[label] = (await at.ask("GET", f"/{card['id']}")).json

        assert {label: card["state"] for label, card in done.items()} == {
            "Reject": "rejected",
            "Defer": "deferred",
            "Deepen": "promoted",
            "Duplicate": "duplicate",
        }
        assert done["Defer"]["deferred_until"] == "2026-03-01T00:00:00Z"
        assert done["Deepen"]["reevaluations"] == 1
        said = await ann.get(f"{PAGE}/{done['Reject']['id']}")
        assert "reject by ann over console; rejected. We tried it." in said.text
        await ann.press(said, "Reopen")
        assert (await at.ask("GET", f"/{done['Reject']['id']}")).json["state"] == "promoted"


async def test_what_is_approved_may_be_changed_first(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed(why="It fails\u200b at night.")
        ann = await visitor(at.deps)
        page = await ann.get(f"{PAGE}/{card['id']}")
        await ann.press(page, "Approve as changed", **{"edit-what": "Retry it twice"})

        (task,) = await at.table("task")
        (verdict,) = await at.table("verdict")
        assert task["title"] == "Retry it twice"
        assert verdict["fields"]["edits"] == {"what": "Retry it twice"}


@pytest.mark.requirement("H-85")
async def test_a_card_shows_hidden_characters_causes_beside_counts_and_the_effect_as_text_alone(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        for _ in range(3):
            seen = (await at.sight(HIDDEN, why="See http://evil.example")).json["proposal"]
        await at.change("state = 'promoted', promoted_at = last_seen")
        ann = await visitor(at.deps)
        shown = [(await ann.get(path)).text for path in (PAGE, f"{PAGE}/{seen['id']}")]

        for text in shown:
            assert not set(text) & set("\u202e\u200b")
            assert "<b>failed</b>" not in text
            assert 'href="http' not in text
            assert "1 distinct cause (3 sightings)" in text
            assert "in session s1</a>, 2026-01-05, 3×" in text
            assert "Makes a task for a person; nothing else changes." in text
        assert "Retry ⟦U+202E⟧the⟦U+200B⟧ &lt;b&gt;failed&lt;/b&gt; query" in shown[1]


@pytest.mark.requirement("H-50")
async def test_several_are_decided_together_and_each_says_what_came_of_it(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        cards = [await at.proposed(f"Change number {number}") for number in range(3)]
        ann = await visitor(at.deps)
        page = await ann.get(PAGE)
        await at.decide(cards[0], "reject")
        marked = {f"pick-{card['id']}": "yes" for card in cards[:2]}
        some = await ann.press(page, "Approve all markedReject all markedDefer all marked", verdict="approve", **marked)
        none = await ann.press(page, "Approve all markedReject all markedDefer all marked", verdict="approve")

        assert "1 of 2 were decided." in some.text
        assert "This proposal is rejected already." in some.text
        assert none.status == 422


@pytest.mark.requirement("H-58")
async def test_around_the_cards_stands_what_else_waits(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        one, other = await at.proposed("Add retry logic"), await at.proposed("Add retries logic")
        await at.suggest(one, other)
        await at.proposed("Cache the answers", approve=True)
        await at.sight("Log less")
        for fact in ("gnommoweb -isa repo", "gnommoweb -isa container"):
            await at.deps.ask("POST", "/iknowthat", key=None, body={"fact": fact})
        ann = await visitor(at.deps)
        page = await ann.get(PAGE)

        assert "<strong>too few</strong>: 1 more cause" in page.text
        assert "gnommoweb (type): repo / container" in page.text
        await ann.press(page, "They are one")
        await ann.press(page, "Done")
        assert (await at.ask("GET", f"/{other['id']}")).json["state"] == "duplicate"
        assert [task["state"] for task in await at.table("task")] == ["done"]


@pytest.mark.requirement("H-71")
async def test_what_is_held_back_is_named_and_let_go_by_pressing(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for number in range(5):
            await at.sight(f"Change number {number}")
        await at.change("state = 'promoted', promoted_at = last_seen")
        for each in (await at.ask("GET")).json["items"]:
            await at.decide(each, "reject")
        first, second = (await at.sight("Log less")).json, (await at.sight("Log more")).json
        ann = await visitor(at.deps)
        page = await ann.get(PAGE)
        await ann.press(page, "Release")
        released = [(await at.ask("GET", f"/{each['proposal']['id']}")).json["held"] for each in (first, second)]
        await ann.press(page, "Lift")
        lifted = await at.ask("GET", "?held=true")

        assert "api is muted for reliability" in page.text
        assert sorted(map(str, released)) == ["None", "producer_muted"]
        assert lifted.json["items"] == []


@pytest.mark.requirement("H-18", "H-40")
async def test_what_went_quiet_is_put_off_or_did_not_help_is_listed_apart(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        await at.proposed("Old and quiet")
        at.hands.forward(timedelta(days=90))
        helped = (await at.proposed("Cache the answers", approve=True))["id"]
        await at.decide(await at.proposed("Not now"), "defer", until="2026-07-01T00:00:00Z")
        await at.proposed("Fresh and open")
        at.hands.forward(timedelta(days=15))
        for session in ("s1", "s2"):
            await at.sight("Cache the answers", session=session)
        ann = await visitor(at.deps)
        data = (await ann.get(f"{PAGE}.json")).json
        page = (await ann.get(PAGE)).text

        assert [each["what"] for group in data["groups"] for each in group["cards"]] == ["Fresh and open"]
        assert [each["what"] for each in data["quiet"]] == ["Old and quiet"]
        assert [each["what"] for each in data["put_off"]] == ["Not now"]
        assert [each["id"] for each in data["still_seen"]] == [helped]
        assert (data["open"], data["in_all"]) == (1, 2)
        for title in ("Gone quiet", "Put off", "Applied but still seen"):
            assert title in page


@pytest.mark.requirement("H-34")
async def test_a_full_inbox_says_so_on_its_page_in_readiness_and_in_status(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path, proposals__inbox_limit=1) as at:
        await at.proposed()
        ann = await visitor(at.deps)
        page = (await ann.get(PAGE)).text
        ready = await at.deps.ask("GET", "/admin/readyz")
        status = (await at.deps.ask("GET", "/admin/api/status")).json

        assert "Nothing more is put before you: inbox full (1 of 1)." in page
        assert "inbox full (1 of 1)" in ready.text
        assert status["proposals"]["paused"] == "inbox full (1 of 1)"


async def test_without_an_embedder_what_is_about_the_same_stands_together(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for what, scope in (("One", "tools"), ("Two", "cache"), ("Three", "tools")):
            await at.proposed(what, scope=scope)
        ann = await visitor(at.deps)
        groups = (await ann.get(f"{PAGE}.json")).json["groups"]

        assert [(group["title"], sorted(card["what"] for card in group["cards"])) for group in groups] == [
            ("reliability: cache", ["Two"]),
            ("reliability: tools", ["One", "Three"]),
        ]


@pytest.mark.requirement("H-51")
async def test_a_person_proposes_with_the_form_and_nobody_hurries_it_through(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        ann = await visitor(at.deps)
        sent = await ann.press(await ann.get(PAGE), "Propose", what="Cache the answers", category="cost", scope="tools")
        shown = await ann.get(sent.headers["location"])

        assert "Cache the answers" in shown.text
        assert [(row["state"], row["producer"]) for row in await at.table("proposal")] == [("promoted", "person")]


async def test_whoever_is_no_reviewer_sees_the_cards_and_no_buttons(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        card = await at.proposed()
        root = await visitor_with_key(at.deps, AccessRole.ADMIN)
        page = await root.get(PAGE)
        tried = await root.post(f"{PAGE}/{card['id']}/verdict", {"verdict": "approve"})

        assert "Deciding needs a reviewer." in page.text
        assert ">Approve<" not in page.text
        assert tried.status == 403


async def test_every_page_says_how_many_things_wait(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        await at.proposed()
        await at.proposed("Cache the answers", approve=True)
        ann = await visitor(at.deps)
        told = '<span class="count" title="things that wait for a person">2</span>'
        pages = ("/admin", PAGE, "/admin/conflicts", "/admin/world", "/admin/loops", "/admin/outcomes")

        assert [path for path in pages if told not in (await ann.get(path)).text] == []
        assert told not in (await at.deps.ask("GET", "/admin", key=None)).text


async def test_cards_come_page_by_page(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for number in range(12):
            await at.proposed(f"Change number {number}")
        ann = await visitor(at.deps)
        first = (await ann.get(f"{PAGE}.json")).json
        second = (await ann.get(f"{PAGE}.json?cursor={first['more']}")).json
        seen = [each["what"] for page in (first, second) for group in page["groups"] for each in group["cards"]]

        assert sorted(seen) == sorted(f"Change number {number}" for number in range(12))
        assert second["more"] is None
        assert (await at.deps.ask("GET", f"{PROPOSALS}?standing=open&limit=200", key=at.ann)).json["next"] is None


@pytest.mark.requirement("H-21")
async def test_a_card_shows_its_opposite_and_so_its_forms_say_that_it_was_seen(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        cards = [await at.proposed(what) for what in ("Log more", "Log less", "Cache more", "Cache less")]
        ann = await visitor(at.deps)
        before = await ann.get(f"{PAGE}/{cards[0]['id']}")
        await at.suggest(cards[0], cards[1], "opposite")
        await at.suggest(cards[2], cards[3], "opposite")

        unseen = await ann.press(before, "Approve")
        page = await ann.get(PAGE)
        marked = {f"pick-{cards[2]['id']}": "yes"}
        alone = await ann.press(await ann.get(f"{PAGE}/{cards[0]['id']}"), "Approve")
        together = await ann.press(
            page, "Approve all markedReject all markedDefer all marked", verdict="approve", **marked
        )

        assert unseen.status == 409
        assert page.text.count("Opposes <a ") == 4
        assert alone.status == 303
        assert "1 of 1 were decided." in together.text


@pytest.mark.parametrize("fields", [{}, {"producer": "", "category": ""}, {"producer": "x" * 200, "category": "y"}])
async def test_a_form_that_names_no_producer_is_refused(database_url: str, tmp_path: Path, fields: dict[str, str]):
    async with inbox(database_url, tmp_path) as at:
        ann = await visitor(at.deps)
        page = await ann.get(PAGE)
        token = next(form.fields["token"] for form in forms_of(page) if "token" in form.fields)
        got = await ann.post(f"{PAGE}/lift", {**fields, "token": token})

    assert got.status == 422
