"""Every command on an empty store: one JSON document on stdout, nothing on stderr that is not progress."""

import json
from collections.abc import Callable

import pytest
from tests.cli.shell import Said, Shell

Prepare = Callable[[Shell], list[str]]


def words(*given: str) -> Prepare:
    return lambda _shell: list(given)


def remembered(*given: str) -> Prepare:
    def prepare(shell: Shell) -> list[str]:
        learned = shell("learn", "The server has 16 GB", "--json").json
        return [*given, learned["memory"]["id"]]

    return prepare


def replaced(shell: Shell) -> list[str]:
    shell("learn", "The server has 16 GB")
    return ["undo", shell("learn", "The server has 32 GB", "--json").json["change"]]


def revoked(shell: Shell) -> list[str]:
    return ["keys", "revoke", shell("keys", "make", "laptop", "--json").json["id"]]


def removed(shell: Shell) -> list[str]:
    return ["models", "remove", shell("models", "add", "ollama", "tiny", "--json").json["id"]]


def renamed(shell: Shell) -> list[str]:
    shell("spaces", "create", "team")
    return ["spaces", "rename", "team", "crew"]


def deleted(shell: Shell) -> list[str]:
    shell("spaces", "create", "team")
    return ["spaces", "delete", "team", "--yes"]


def reset(shell: Shell) -> list[str]:
    shell("settings", "set", "jobs.max_waiting", "700")
    return ["settings", "reset", "jobs.max_waiting"]


def restored(shell: Shell) -> list[str]:
    shell("backup", "one.dump")
    return ["restore", "one.dump", "--replace", "--yes"]


def cancelled(shell: Shell) -> list[str]:
    return ["jobs", "cancel", str(shell("jobs", "run", "prune_events", "--json").json["job"])]


def on_a_censor(operation: str) -> Prepare:
    return lambda shell: ["censor", operation, shell("censor", "add", "zebra", "--json").json["id"]]


def struck(shell: Shell) -> list[str]:
    made = shell("censor", "add", "zebra", "--json").json["id"]
    shell("censor", "check", "a zebra", "--count")
    return ["censor", "false-positive", made]


PROPOSE = ("inbox", "propose", "Cache the answers", "--category", "performance", "--scope", "tools")


def on_a_proposal(*given: str) -> Prepare:
    return lambda shell: [*given, shell(*PROPOSE, "--json").json["proposal"]["id"]]


def on_two_proposals(*given: str, option: str = "") -> Prepare:
    def prepare(shell: Shell) -> list[str]:
        ids = [
            shell(*PROPOSE[:2], what, *PROPOSE[3:], "--json").json["proposal"]["id"]
            for what in ("Cache the answers", "Retry the query")
        ]
        return [*given, ids[0], *([option] if option else []), ids[1]]

    return prepare


def on_an_approved_one(operation: str) -> Prepare:
    return lambda shell: [*operation.split(), shell(*PROPOSE, "--approve", "--json").json["proposal"]["id"]]


def on_a_rejected_one(shell: Shell) -> list[str]:
    made = shell(*PROPOSE, "--json").json["proposal"]["id"]
    shell("reject", made)
    return ["inbox", "reopen", made]


def on_a_reviewer(operation: str) -> Prepare:
    def prepare(shell: Shell) -> list[str]:
        shell("reviewer", "add", "Ada")
        return ["reviewer", operation, "Ada"]

    return prepare


COMMANDS: dict[str, Prepare] = {
    "status": words("status"),
    "recall": words("recall", "what is gnommoweb?"),
    "learn": words("learn", "The server has 16 GB"),
    "memories": words("memories"),
    "memories list": words("memories", "list"),
    "memories show": remembered("memories", "show"),
    "why": remembered("why"),
    "history": remembered("history"),
    "changes": words("changes"),
    "undo": replaced,
    "judgements": words("judgements"),
    "judgements list": words("judgements", "list", "--waiting"),
    "iknowthat": words("iknowthat", "gnommoweb -isa repo"),
    "conflicts": words("conflicts"),
    "conflicts list": words("conflicts", "list"),
    "resolve run": words("resolve", "run"),
    "forget": words("forget", "--session", "s1", "--yes"),
    "repair": words("repair", "--session", "s1"),
    "refusals": words("refusals"),
    "refusals list": words("refusals", "list"),
    "reembed": words("reembed"),
    "outcomes": words("outcomes"),
    "outcomes list": words("outcomes", "list"),
    "outcomes metrics": words("outcomes", "metrics"),
    "outcomes verify": words("outcomes", "verify"),
    "inbox": words("inbox"),
    "inbox list": words("inbox", "list"),
    "inbox show": on_a_proposal("inbox", "show"),
    "inbox promote": words("inbox", "promote", "--dry-run"),
    "inbox propose": words(*PROPOSE),
    "inbox pairs": words("inbox", "pairs"),
    "inbox held": words("inbox", "held"),
    "inbox tasks": words("inbox", "tasks"),
    "inbox undo": on_an_approved_one("inbox undo"),
    "inbox rebuild": on_a_proposal("inbox", "rebuild"),
    "inbox reopen": on_a_rejected_one,
    "approve": on_a_proposal("approve"),
    "reject": on_a_proposal("reject", "--note", "no"),
    "defer": on_a_proposal("defer", "--days", "3"),
    "deepen": on_a_proposal("deepen"),
    "duplicate": on_two_proposals("duplicate", option="--of"),
    "reviewer": words("reviewer"),
    "reviewer list": words("reviewer", "list"),
    "reviewer add": words("reviewer", "add", "Ada"),
    "reviewer off": on_a_reviewer("off"),
    "episodes": words("episodes"),
    "episodes list": words("episodes", "list"),
    "censor": words("censor"),
    "censor list": words("censor", "list"),
    "censor add": words("censor", "add", "zebra"),
    "censor check": words("censor", "check", "a zebra"),
    "censor escalate": on_a_censor("escalate"),
    "censor demote": on_a_censor("demote"),
    "censor off": on_a_censor("off"),
    "censor false-positive": struck,
    "censors check": words("censors", "check", "a zebra"),
    "login": words("login"),
    "settings": words("settings"),
    "settings list": words("settings", "list"),
    "settings get": words("settings", "get", "proxy.upstream"),
    "settings set": words("settings", "set", "jobs.max_waiting", "700"),
    "settings reset": reset,
    "models": words("models"),
    "models list": words("models", "list"),
    "models add": words("models", "add", "ollama", "tiny"),
    "models remove": removed,
    "keys": words("keys"),
    "keys list": words("keys", "list"),
    "keys make": words("keys", "make", "laptop"),
    "keys revoke": revoked,
    "spaces": words("spaces"),
    "spaces list": words("spaces", "list"),
    "spaces create": words("spaces", "create", "team"),
    "spaces rename": renamed,
    "spaces delete": deleted,
    "jobs": words("jobs"),
    "jobs list": words("jobs", "list"),
    "jobs schedule": words("jobs", "schedule"),
    "jobs run": words("jobs", "run", "prune_events"),
    "jobs retry": words("jobs", "retry", "--all"),
    "jobs cancel": cancelled,
    "migrate": words("migrate"),
    "backup": words("backup", "two.dump"),
    "restore": restored,
    "secrets rotate": words("secrets", "rotate"),
    "version": words("version"),
}
"""Those that end well on an empty store. `doctor`, `events`, `models test`, `jobs drop` and `calibrate` have tests
of their own; `serve` and `worker` stay, `bench` measures, `demo` opens a store of its own."""


@pytest.mark.requirement("X-95")
@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_answers_with_one_json_document_and_nothing_else(path: str, shell: Shell):
    said = shell(*COMMANDS[path](shell), "--json", "--quiet")

    assert said.code == 0, said.err
    json.loads(said.out)
    assert said.err == ""


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("keys", "festinger keys make"),
        ("models", "festinger models add"),
        ("jobs", "festinger jobs schedule"),
        ("jobs --dead", "Nothing has died"),
        ("episodes", "festinger serve"),
        ("censor", "festinger censor add"),
        ("reviewer", "festinger reviewer add"),
    ],
)
def test_an_empty_list_says_what_to_do_next(path: str, says: str, shell: Shell):
    said = shell(*path.split())

    assert said.code == 0
    assert says in said.out


@pytest.mark.parametrize("path", ["settings", "spaces", "status", "jobs schedule"])
def test_a_table_that_is_piped_has_one_line_a_row_and_neither_frames_nor_colours(path: str, shell: Shell):
    said = shell(*path.split())

    assert said.code == 0
    assert not set(said.out) & set("│─┃━\x1b")
    assert [line for line in said.lines if line != line.rstrip()] == []
    if path == "settings":
        listed = shell(*path.split(), "--json").json
        assert len(said.lines) == len(listed) + 1


def test_quiet_leaves_the_result_and_takes_the_messages(shell: Shell):
    said = shell("keys", "make", "laptop", "--quiet")

    assert said.out.startswith("fst_")
    assert said.err == ""


def test_a_space_that_is_not_there_is_not_found_by_any_command_that_takes_one(shell: Shell):
    for path in ("settings", "status", "events", "models", "keys make x", "settings get proxy.upstream"):
        said: Said = shell(*path.split(), "--space", "nowhere")

        assert (path, said.code) == (path, 3)
        assert "There is no space `nowhere`." in said.err
        assert said.out == ""


CORPUS = ("[red]x[/red]", "[/]", "\x1b[31mx\x1b]0;t\x07", "a\r\nb", "\x9b2J", ":smile:", "\u202eevil", "{{7*7}}")


def test_text_of_others_is_shown_as_text_by_every_command_that_shows_it(shell: Shell):
    for text in CORPUS:
        shell("keys", "make", text)
        shell("models", "add", "ollama", text)
    shell("settings", "set", "llm.judge", "ollama:[red]x[/red]")
    shown = {path: shell(*path.split()).out for path in ("keys", "models", "settings", "events", "status")}
    refused = [shell("spaces", "create", text).err + shell("settings", "get", text).err for text in CORPUS]
    told = "".join([*shown.values(), *refused])

    assert not {sign for sign in told if (ord(sign) < 32 and sign != "\n") or 0x7F <= ord(sign) < 0xA0}
    assert "\u202e" not in told
    for text in ("[red]x[/red]", "[/]", "\\x1b[31mx", "a\\r\\nb", "\\x9b2J", ":smile:", "{{7*7}}"):
        assert text in shown["keys"]
        assert text in shown["models"]
        assert text.replace("\\r\\n", " ") in "".join(refused)
    assert "ollama:[red]x[/red]" in shown["settings"]
