"""The docs hold what the code holds: names occur, links lead somewhere, examples run."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import reference
from tests.architecture.source import ROOT, tracked_files

DOCS = ROOT / "docs"
FENCE = re.compile(r"^( *)```(?P<info>[^\n]*)\n(?P<code>.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")

WORDS = [
    "space",
    "agent",
    "session",
    "episode",
    "cause",
    "origin",
    "memory",
    "weight",
    "confidence",
    "concept",
    "dimension",
    "edge",
    "saliency",
    "recollection",
    "judgement",
    "conflict",
    "outcome",
    "proposal",
    "verdict",
    "censor",
]
"""The design's words; each has one line in the glossary."""

SYNONYMS = {
    "belief": "memory",
    "knowledge item": "memory",
    "knowledge base": "memory",
    "ticket": "conflict or proposal",
    "tenant": "space",
    "workspace": "space",
    "guardrail": "censor",
    "user feedback": "outcome",
    "approval request": "proposal",
}
"""Other people's words for what has a name here, and that name."""


def pages_of_ours() -> list[Path]:
    """Every page at the root and in `docs`, but for the spec, which speaks of other systems too."""
    return [
        path
        for path in tracked_files()
        if path.suffix == ".md" and (path.parent == ROOT or DOCS in path.parents) and DOCS / "spec" not in path.parents
    ]


def examples() -> list[tuple[str, str]]:
    return [
        (f"{path.relative_to(ROOT).as_posix()}:{path.read_text()[: block.start()].count(chr(10)) + 1}", block["code"])
        for path in pages_of_ours()
        for block in FENCE.finditer(path.read_text())
        if block["info"].split() == ["python", "test"]
    ]


def broken_links(path: Path) -> list[str]:
    text = FENCE.sub("", path.read_text())
    targets = [found["target"] for found in LINK.finditer(text)]
    return [f"{path.relative_to(ROOT)} → {target}" for target in targets if not _leads_somewhere(path, target)]


def _leads_somewhere(page: Path, target: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return True
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not anchor or anchor in anchors(file.read_text()))


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def whole_reference() -> str:
    return "\n".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.md")))


def names_of_errors() -> list[str]:
    """Every error's name as doors show it."""
    return [error.class_name() for error in reference.walk_errors()]


def names_of_metrics() -> list[str]:
    registry = importlib.import_module("festinger.observability.metrics").REGISTRY
    return [family.name for family in registry.collect()]


def commands_in(text: str) -> set[str]:
    """The words after `festinger` wherever a page shows a command line: one, or two where a second follows."""
    shown = "\n".join(block["code"] for block in FENCE.finditer(text) if block["info"].strip() == "sh")
    shown += "\n" + "\n".join(re.findall(r"`([^`\n]+)`", text))
    return set(re.findall(r"(?:^|\s)festinger ([a-z][a-z-]+(?: [a-z][a-z-]+)?)", shown, re.MULTILINE))


def exists(shown: str, known: set[str]) -> bool:
    """Whether the words are a command, a command and its first argument, or a whole family of commands."""
    families = {command.partition(" ")[0] for command in known if " " in command}
    return shown in known | families or shown.partition(" ")[0] in known


@pytest.mark.requirement("X-113")
def test_the_rendered_pages_are_what_the_code_says():
    renders = {**reference.pages(), "README.md": reference.index_page}
    written = {path.name: path.read_text() for path in (DOCS / "reference").glob("*.md")}

    assert [name for name, render in renders.items() if written.get(name) != render()] == [], "run `make docs`"


@pytest.mark.requirement("X-113")
def test_every_command_event_and_table_stands_in_the_reference():
    text = whole_reference()
    names = [f"festinger {command.path}" for command in reference.commands()]
    names += [table.name for table in reference.tables()]
    if importlib.util.find_spec("festinger.events.catalogue"):
        names += importlib.import_module("festinger.events.catalogue").CATALOGUE

    assert [name for name in names if f"`{name}" not in text] == []


@pytest.mark.requirement("X-113")
@pytest.mark.parametrize(("page", "names"), [("errors.md", names_of_errors), ("metrics.md", names_of_metrics)])
def test_every_error_and_metric_stands_on_its_page(page: str, names):
    path = DOCS / "reference" / page
    written = path.read_text() if path.exists() else " ".join(names())

    assert [name for name in names() if name not in written] == []


@pytest.mark.requirement("X-113")
def test_every_word_of_the_design_has_one_line_in_the_glossary():
    defined = re.findall(r"^\| ([a-z]+) \|", (DOCS / "glossary.md").read_text(), re.MULTILINE)

    assert [word for word in WORDS if defined.count(word) != 1] == []
    assert len(defined) == len(set(defined))


@pytest.mark.requirement("U-77")
def test_docs_and_templates_use_our_word_for_each_thing():
    ours = set(pages_of_ours())
    texts = {path: path.read_text() for path in tracked_files() if path.suffix in (".html", ".jinja") or path in ours}
    found = [
        f"{path.relative_to(ROOT)}: “{other}” is called {word} here"
        for path, text in texts.items()
        for other, word in SYNONYMS.items()
        if re.search(rf"\b{other}s?\b", text, re.IGNORECASE)
    ]

    assert found == []


def test_every_link_leads_somewhere():
    assert [link for path in pages_of_ours() for link in broken_links(path)] == []


def test_the_links_of_the_spec_lead_somewhere():
    assert broken_links(DOCS / "spec" / "README.md") == []


def test_a_link_into_nothing_is_noticed():
    page = ROOT / "README.md"

    assert not _leads_somewhere(page, "docs/no-such-page.md")
    assert not _leads_somewhere(page, "SECURITY.md#no-such-title")
    assert _leads_somewhere(page, "SECURITY.md#known-limits")


def test_every_page_is_reached_from_the_first_one():
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = [found["target"].partition("#")[0] for found in LINK.finditer(FENCE.sub("", page.read_text()))]
        waiting += [(page.parent / name).resolve() for name in targets if name and not re.match(r"[a-z]+:", name)]

    assert [str(page.relative_to(ROOT)) for page in pages_of_ours() if page not in reached] == []


@pytest.mark.requirement("X-113")
@pytest.mark.parametrize(("place", "code"), [pytest.param(*one, id=one[0]) for one in examples()])
def test_an_example_runs(place: str, code: str, tmp_path: Path, database_url: str):
    home = {"HOME": str(tmp_path), "FESTINGER_HOME": str(tmp_path / "home"), "FESTINGER_DATABASE_URL": database_url}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{place}: {done.stderr}"


def test_the_first_page_has_an_example_of_the_library():
    assert [place for place, _ in examples() if place.startswith("README.md:")]


def test_every_command_that_a_page_shows_exists():
    known = {command.path for command in reference.commands()}
    shown = {name: path for path in pages_of_ours() for name in commands_in(path.read_text())}

    assert {name: str(path.relative_to(ROOT)) for name, path in shown.items() if not exists(name, known)} == {}


def test_every_task_that_a_page_shows_exists():
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {
        name: path
        for path in pages_of_ours()
        for name in re.findall(r"(?:^|`)make ([a-z][a-z-]+)", path.read_text(), re.MULTILINE)
    }

    assert {name: str(path.relative_to(ROOT)) for name, path in shown.items() if name not in tasks} == {}


def test_every_setting_that_a_page_shows_exists():
    keys = importlib.import_module("festinger.settings.keys").KEYS
    sections = {name.partition(".")[0] for name in keys if "." in name}
    shown = {
        (name, path)
        for path in pages_of_ours()
        for name in re.findall(r"`([a-z_]+(?:\.[a-z_0-9]+)+)`", path.read_text())
        if name.partition(".")[0] in sections
    }

    assert {(name, str(path.relative_to(ROOT))) for name, path in shown if name not in keys} == set()


def test_the_first_page_says_what_it_is_how_to_start_and_what_is_missing():
    text = (ROOT / "README.md").read_text()
    doors = re.findall(r"^\| ([a-zA-Z ]+) \|", text, re.MULTILINE)

    assert ("make run" in text, "make test" in text) == (True, True)
    assert set(doors) >= {"proxy", "library", "MCP server", "agent", "web console", "command line"}
    assert "## Limits" in text


@pytest.mark.requirement("F-78")
def test_the_security_page_says_how_to_report_what_counts_and_what_is_known():
    text = (ROOT / "SECURITY.md").read_text()

    assert [title for title in ("Reporting", "In scope", "Known limits") if f"\n## {title}\n" not in text] == []
    assert [who for who in ("same user", "root", "upstream") if who not in text] == []


def test_the_pictures_fetch_nothing():
    drawn = [path for path in tracked_files() if path.suffix == ".svg" and DOCS in path.parents]

    assert drawn
    assert [path.name for path in drawn if re.search(r"(href|src|url)\s*[=(]", path.read_text())] == []
