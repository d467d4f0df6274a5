"""The inbox from the command line, at the store and at a running server."""

import asyncio
import re
from uuid import UUID

import pytest
from tests.cli.shell import Said, Shell
from tests.jobs.deps import rows

from festinger.cli.context import CommandContext
from festinger.settings.tree import StoreSettings
from festinger.store.pool import open_store

CACHE, RETRY = "Cache the answers", "Retry the failed query"
HIDDEN = "Retry \u202ethe\u200b failed query"


def propose(shell: Shell, what: str = CACHE, *more: str) -> str:
    given = ("inbox", "propose", what, "--category", "reliability", "--scope", "tools", "--json")
    return str(shell(*given, *more).json["proposal"]["id"])


@pytest.mark.requirement("H-58", "H-81")
def test_a_proposal_is_listed_shown_approved_and_undone(shell: Shell):
    made = propose(shell)
    listed = shell("inbox")
    shown = shell("inbox", "show", made[:18])
    approved = shell("approve", made[:18])
    tasks = shell("inbox", "tasks", "--json").json
    empty = shell("inbox")
    undone = shell("inbox", "undo", made, "--json").json

    assert (made in listed.out, "1 cause, 1 sighting" in listed.out) == (True, True)
    assert "waiting for a person: 1" in listed.err
    assert "a yes: Makes a task for a person; nothing else changes." in shown.out
    assert (approved.code, approved.out.strip()) == (0, f"Proposal {made} is applied.")
    assert "a yes: Makes a task" in approved.err
    assert [(task["title"], task["state"]) for task in tasks] == [(CACHE, "open")]
    assert empty.out.strip() == "No proposal waits for a person."
    assert "tasks: 1" in empty.err
    assert (undone["state"], shell("inbox", "tasks").out.strip()) == ("undone", "There is no open task.")


@pytest.mark.requirement("H-81")
def test_each_verdict_has_its_command_and_its_exit_code(shell: Shell):
    ids = [propose(shell, f"Change number {number}") for number in range(5)]
    said = {
        "reject": shell("reject", ids[0], "--note", "We tried it.", "--json").json["state"],
        "defer": shell("defer", ids[1], "--days", "3", "--json").json["state"],
        "deepen": shell("deepen", ids[2], "--json").json["result"],
        "vague": shell("deepen", ids[2], "--vague", "--json").json["result"],
        "duplicate": shell("duplicate", ids[3], "--of", ids[4][:18], "--json").json["state"],
    }
    codes = [
        shell("deepen", ids[2]).code,
        shell("reject", ids[0]).code,
        shell("approve", "ffffffff-ffff").code,
        shell("defer", ids[4], "--days", "3", "--until", "2030-01-01").code,
    ]
    put_off = shell("inbox", "list", "--standing", "put off", "--json").json["items"]

    assert said == {
        "reject": "rejected",
        "defer": "deferred",
        "deepen": "reevaluated",
        "vague": "reevaluated",
        "duplicate": "duplicate",
    }
    assert codes == [4, 4, 3, 2]
    assert [each["id"] for each in put_off] == [ids[1]]
    assert "reject by" in shell("inbox", "show", ids[0]).out
    assert ": We tried it." in shell("inbox", "show", ids[0]).out


@pytest.mark.requirement("H-50")
def test_of_many_each_gets_its_own_line_and_the_exit_code_says_whether_all_were_decided(shell: Shell):
    one, other = propose(shell), propose(shell, RETRY)
    shell("reject", other)
    some = shell("approve", one, other)
    none = shell("reject", one, other)

    assert some.code == none.code == 4
    assert [line.split()[0:2] for line in some.lines[1:]] == [[one, "applied"], [other, "already"]]
    assert "This proposal is rejected already." in some.out
    assert "approve: 1 of 2." in some.err
    assert "reject: 0 of 2." in none.err


@pytest.mark.requirement("H-33")
def test_the_gate_runs_each_morning_and_when_it_is_asked_to(shell: Shell):
    scheduled = shell("jobs", "schedule", "--json").json
    tried = shell("inbox", "promote", "--dry-run", "--json").json
    run = shell("inbox", "promote", "--json").json
    last = shell("status", "--json").json["proposals"]["last run"]

    assert [each["line"] for each in scheduled if each["name"] == "promote_proposals"] == ["0 7 * * *"]
    assert (tried["dry_run"], run["dry_run"], run["considered"]) == (True, False, 0)
    assert last is not None


def test_what_is_approved_may_be_edited_in_a_file_first(shell: Shell):
    made = propose(shell)
    (shell.home / "edit.json").write_text('{"what": "Cache the answers for an hour"}')
    (shell.home / "odd.json").write_text("[1]")

    odd = [shell("approve", made, "--edit", name).code for name in ("odd.json", "none.json")]
    done = shell("approve", made, "--edit", "edit.json")

    assert odd == [2, 2]
    assert done.code == 0
    assert [task["title"] for task in shell("inbox", "tasks", "--json").json] == ["Cache the answers for an hour"]


def test_what_cannot_be_undone_is_approved_with_its_word_alone(shell: Shell):
    memory = shell("learn", "The server has 16 GB", "--json").json["memory"]["id"]
    payload = f'{{"memory_ids": ["{memory}"], "reason": "asked to"}}'
    made = propose(shell, "Forget the server", "--type", "forget_request", "--payload", payload)

    refused = shell("approve", made)
    done = shell("approve", made, "--yes")

    assert (refused.code, done.code) == (2, 0)
    assert "cannot be undone" in refused.err
    assert shell("memories", "show", memory).code == 3


@pytest.mark.requirement("H-85")
def test_hidden_characters_are_shown_by_their_number(shell: Shell):
    made = propose(shell, HIDDEN)
    told = shell("inbox").out + shell("inbox", "show", made).out

    assert "⟦U+202E⟧" in told
    assert not set(told) & set("\u202e\u200b")


def test_a_task_is_closed_and_a_reviewer_who_is_sent_away_decides_no_more(shell: Shell):
    propose(shell, CACHE, "--approve")
    made = propose(shell, RETRY)
    (task,) = shell("inbox", "tasks", "--json").json
    closed = shell("inbox", "tasks", "--done", task["id"][:18], "--json").json
    (me,) = shell("reviewer", "--json").json
    gone = shell("reviewer", "off", me["name"])
    refused = shell("approve", made)

    assert (closed["state"], closed["closed_by"]) == ("done", me["name"])
    assert (gone.code, refused.code) == (0, 6)
    assert "(not verified)" in shell("inbox", "show", made).out


def test_every_command_of_the_inbox_says_the_same_at_a_server(shell: Shell):
    key = shell("keys", "make", "desk", "--role", "reviewer").out.strip()
    bot = shell("keys", "make", "bot", "--role", "agent").out.strip()
    one, other = propose(shell), propose(shell, RETRY)
    shell("reject", other, "--note", "no")
    with shell.server("--no-worker") as server:
        server.wait_until("/admin/readyz", 200)
        url = f"http://127.0.0.1:{server.port}"

        def there(*words: str, key: str = key) -> Said:
            return shell(*words, "--server", url, FESTINGER_KEY=key)

        for words in (
            ("inbox",),
            ("inbox", "list", "--state", "rejected"),
            ("inbox", "show", one[:18]),
            ("inbox", "show", other, "--json"),
            ("inbox", "pairs"),
            ("inbox", "held", "--json"),
            ("inbox", "tasks"),
            ("inbox", "list", "--state", "odd"),
            ("approve", "ffffffff-ffff"),
            ("reject", other),
        ):
            here, away = shell(*words), there(*words)
            assert (words, away.out, away.err, away.code) == (words, here.out, here.err, here.code)
        listed = ("inbox", "list", "--state", "rejected", "--json")
        # Whether meanings are compared depends on the process: a command opens no embedder.
        assert there(*listed).json["items"] == shell(*listed).json["items"]
        refused = there("approve", one, key=bot)
        done = there("approve", one, "--json").json
        undone = there("inbox", "undo", one, "--json").json
        tried = there("inbox", "promote", "--dry-run", "--json").json
        made = there("inbox", "propose", "Log less", "--category", "cost", "--scope", "tools", "--json").json

    assert refused.code == 6
    assert (done["state"], undone["state"], tried["dry_run"]) == ("applied", "undone", True)
    assert (made["proposal"]["state"], made["proposal"]["producer"]) == ("promoted", "person")
    verdicts = shell("inbox", "show", one, "--json").json["verdicts"]
    assert [(each["author"], each["verified"], each["channel"]) for each in verdicts] == [
        ("desk", True, "api"),
        ("bot", False, "api"),
    ]
    assert re.fullmatch(r"[0-9a-f-]{36}", made["proposal"]["id"])


@pytest.mark.requirement("H-21")
def test_of_two_opposites_both_are_shown_and_a_script_says_what_it_has_seen(
    shell: Shell, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    one, other = propose(shell), propose(shell, RETRY)
    asyncio.run(_oppose(database_url, one, other))

    blind = shell("approve", one, "--yes")
    named = shell("approve", one, "--seen", other[:18])
    shell("inbox", "undo", one)
    monkeypatch.setattr(CommandContext, "can_ask_person", True)
    doubted = shell("approve", other, typed="no\n")
    asked = shell("approve", other, typed="approve\n")

    assert (blind.code, f"`{other}`" in blind.err) == (4, True)
    assert (named.code, doubted.code, asked.code) == (0, 2, 0)
    assert f"The opposite:\n{CACHE}" in asked.err


async def _oppose(url: str, *ids: str) -> None:
    """Write a pair as the second pass would."""
    a, b = sorted(ids)
    sql = (
        "insert into proposal_pair (space_id, id, a_id, b_id, relation, similarity, embedder, words, at) values "
        "('main', %(id)s, %(a)s, %(b)s, 'opposite', 0.9, 'hashed:64', '', now()) returning id"
    )
    async with open_store(url, StoreSettings(), door="test") as store:
        await rows(store, sql, id=UUID(int=7), a=a, b=b)
