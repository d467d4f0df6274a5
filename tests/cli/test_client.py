"""Commands that ask a running server say the same as those that open the store."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.shell import Said, Served, Shell
from typer.testing import CliRunner

from festinger.cli import gutask

REPO, CONTAINER = "gnommoweb -isa repo", "gnommoweb -isa container"


@contextmanager
def served(shell: Shell) -> Iterator[tuple[Served, str]]:
    """A running server on the shell's database, and its address."""
    with shell.server("--no-worker") as server:
        server.wait_until("/admin/readyz", 200)
        yield server, f"http://127.0.0.1:{server.port}"


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)


def test_every_command_of_the_world_says_the_same_at_a_server(shell: Shell):
    key = shell("keys", "make", "desk", "--role", "reviewer").out.strip()
    with served(shell) as (_, url):

        def there(*words: str) -> Said:
            return shell(*words, "--server", url, FESTINGER_KEY=key)

        stated = [there("iknowthat", REPO), there("iknowthat", REPO), there("iknowthat", CONTAINER)]
        conflict = there("conflicts", "--json").json[0]["id"]
        for words in (
            ("conflicts",),
            ("conflicts", "--all", "--json"),
            ("conflicts", "show", conflict[:23]),
            ("conflicts", "show", conflict, "--json"),
            ("concept", "gnommoweb"),
            ("concept", "gnommoweb", "--json"),
            ("concept", "nobody"),
            ("conflicts", "show", "ffffffff-ffff"),
        ):
            here, other = shell(*words), there(*words)
            assert (words, without_times(other.out), other.err, other.code) == (
                words,
                without_times(here.out),
                here.err,
                here.code,
            )
        decided = there("conflicts", "resolve", conflict[:23], "update", "--json").json
        undone = there("conflicts", "undo", conflict, "--json").json
        dismissed = there("conflicts", "dismiss", conflict, "--note", "a typo", "--json").json
        run = there("resolve", "run", "--dry-run", "--json")
        keyless = shell("conflicts", "undo", conflict, "--server", url)

    assert [said.code for said in stated] == [0, 0, 3]
    assert [said.out.split(": ")[1] for said in stated[:2]] == ["inserted.\n", "corroborated.\n"]
    assert (decided["status"], undone["status"], dismissed["status"]) == ("resolved", "pending", "dismissed")
    assert dismissed["resolution"]["reasoning"] == "a typo"
    assert (run.code, run.json["pending"]) == (0, 0)
    assert keyless.code == 6


def gut(*words: str, **environment: str) -> Said:
    result = CliRunner().invoke(gutask.command_line(), list(words), env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Said(code=result.exit_code, out=result.stdout, err=result.stderr)


@pytest.mark.requirement("W-87")
def test_gutask_states_facts_at_the_server_with_exit_codes_of_its_own(shell: Shell):
    with served(shell) as (_, url):
        said = [gut("iknowthat", fact, "--server", url) for fact in (REPO, REPO, CONTAINER, "gnommoweb repo")]
        lines = CliRunner().invoke(
            gutask.command_line(),
            ["iknowthat", "-", "--server", url],
            input="dobby -isa agent\n\nkreacher -isa agent\n",
        )
        found = shell("concept", "dobby", "--json").json

    assert [each.code for each in said] == [0, 0, 3, 2]
    assert said[0].out == "gnommoweb is a repo [type]: inserted.\n"
    assert "collides" in said[2].out
    assert "-isa" in said[3].err
    assert lines.stdout.count("inserted") == 2
    # Without a key it may be the agent itself that calls.
    assert [cause["origin"] for cause in found["edges"][0]["causes"]] == ["model"]


@pytest.mark.requirement("W-87")
@pytest.mark.parametrize("command", ["festinger", "gutask"])
def test_a_named_server_that_does_not_answer_is_exit_1(command: str, shell: Shell):
    # Port 1 of this machine belongs to a service that nobody runs, and no test can be given it.
    words = ("iknowthat", REPO, "--server", "http://127.0.0.1:1")
    said = shell(*words) if command == "festinger" else gut(*words)

    assert said.code == 1
    assert "http://127.0.0.1:1" in said.err


@pytest.mark.requirement("W-87")
def test_gutask_opens_the_store_itself_when_no_server_is_named_and_none_answers(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gutask, "HERE", "http://127.0.0.1:1")
    assert shell.database is not None
    said = gut("iknowthat", REPO, "--json", "--database", shell.database)

    assert (said.code, json.loads(said.out)["status"]) == (0, "inserted")
    assert shell("concept", "gnommoweb").code == 0


@pytest.mark.requirement("W-87")
def test_gutask_knows_one_command_and_is_installed():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="gutask")

    assert script.value == "festinger.cli.gutask:main"
    assert gut("conflicts").code == 2


def test_the_other_server_is_asked_in_the_space_that_is_named(shell: Shell):
    shell("spaces", "create", "team")
    with served(shell) as (_, url):
        said = shell("iknowthat", REPO, "--space", "team", "--server", url)
        unknown = shell("conflicts", "--space", "nowhere", "--server", url)

    assert said.code == 0
    assert shell("concept", "gnommoweb", "--space", "team").code == 0
    assert shell("concept", "gnommoweb").code == 3
    assert unknown.code == 3
