"""The settings are written down: on the reference page, and as the specification asks for them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.reference import settings_page

from festinger.errors import UnknownSetting
from festinger.settings.keys import ALIASES, KEYS, REMOVED, SECTIONS, find_setting_key, format_value
from festinger.settings.proposals import CATEGORIES

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"

ROOMS_TO_COME = {
    "api", "cli", "import", "mcp",
}  # fmt: skip
"""Sections of the specification whose rooms are not built yet. A room that comes takes its name out here,
and with it every key of its table must be in the tree."""

KEYS_TO_COME = {
    "auth.writes_per_second",
    "console.docs",
    "console.enabled",
    "store.row_security",
}  # fmt: skip
"""Keys of sections that exist, whose part of the room is not built yet: a key that does nothing misleads."""

KEYS_GONE = REMOVED - {"retrieval.mutation_agents"}
"""Keys of parts that were taken out again; the specification never named the rest."""

WORDED = {
    "home": "",  # the usual place of the user, which differs for root
    "llm.write": "auto",  # a room that reads with it names it without a default
    "proxy.allow_management": "false",  # callers on this machine always may
    "outcomes.passive_span": "0.1",  # a number is shown without its last zero
    "proxy.label": KEYS["proxy.label"].default,  # one short line
    "proxy.side_patterns": ", ".join(KEYS["proxy.side_patterns"].default),  # a list of its own
    "retrieval.dormant_kinds": "episodic, reflection, narrative, tension, insight",
    "retrieval.newer_first_window": "0.3",  # written with two digits there
    "proposals.categories": ", ".join(CATEGORIES),  # listed at the requirement
    "proposals.excluded_categories": "",
    "proposals.reject_suppress_days": "30, 90, 365",
    "proposals.webhook.urls": "",
    "proposals.value_mute_at": "-0.4",  # written with a typographic minus there
    "proposals.rate_high": "0.3",  # a number is shown without its last zero
}
"""Defaults that the specification gives in words."""

UNITS = {" s": 1, " h": 3600, " MiB": 2**20}


def spec_keys() -> Iterator[tuple[str, str]]:
    """Every key that a settings table of the specification names, with the default given there."""
    for path in sorted(SPEC.glob("*.md")):
        for names, defaults in rows(path.read_text()):
            yield from zip(names, defaults, strict=True)


def rows(text: str) -> Iterator[tuple[list[str], list[str]]]:
    for table in re.findall(r"^#+ [\d. ]*Settings\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^\| `.*\|$", table, re.MULTILINE):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            names = list(full_names(cells[0]))
            yield names, list(defaults_of(cells[1], names))


def full_names(cell: str) -> Iterator[str]:
    section = ""
    for name in re.findall(r"`([^`]+)`", cell):
        if "." in name.strip("."):
            section = name.rpartition(".")[0]
            yield name
        elif name in KEYS:
            yield name
        else:
            yield ALIASES.get(name) or f"{section or 'world'}.{name.strip('.')}"


def defaults_of(cell: str, names: list[str]) -> Iterator[str]:
    parts = re.split(r" / |, ", cell) if len(names) > 1 else [cell]
    if len(parts) != len(names):
        parts = [cell] * len(names)
    for part in parts:
        yield part.strip().strip("`")


def as_shown(default: str) -> str:
    """A default of the specification in the form in which settings are shown."""
    for unit, factor in UNITS.items():
        if default.endswith(unit):
            return str(int(default.removesuffix(unit)) * factor)
    return "" if default.startswith("–") else default


PLAIN = {
    name: default for name, default in spec_keys() if not re.search(r"[*<]", name) and not default.startswith("see ")
}
"""Keys by name; patterns of names, and rows that point to another table, are left out."""


@pytest.mark.requirement("X-17")
def test_the_reference_page_is_the_one_that_the_tree_renders():
    written = (ROOT / "docs" / "reference" / "settings.md").read_text()

    assert written == settings_page(), "run `make docs`"


@pytest.mark.requirement("X-17")
def test_the_page_names_every_key_with_its_meaning():
    for key in KEYS.values():
        assert f"| `{key.name}` |" in settings_page()
        assert key.meaning in settings_page()


def test_the_tables_of_the_specification_are_found():
    assert len(PLAIN) > 200
    assert {"store.pool_max", "jobs.keep_done_days", "llm.system2", "proxy.body_max_bytes"} <= PLAIN.keys()
    assert (PLAIN["store.pool_min"], PLAIN["jobs.max_waiting"], PLAIN["llm.chat"]) == ("1", "100000", "–")


@pytest.mark.requirement("X-17")
def test_the_tree_has_every_key_that_the_specification_names_for_its_sections():
    here = {name for name in PLAIN if name.partition(".")[0] not in ROOMS_TO_COME}

    assert here - KEYS.keys() == KEYS_TO_COME | KEYS_GONE


def test_a_setting_that_is_gone_is_no_setting_and_says_so():
    assert not REMOVED & KEYS.keys()
    for name in REMOVED:
        with pytest.raises(UnknownSetting, match=f"`{re.escape(name)}` is no longer a setting; remove it"):
            find_setting_key(name)


def test_no_room_that_is_still_to_come_has_a_section_already():
    assert not ROOMS_TO_COME & {section.partition(".")[0] for section in SECTIONS}
    assert not KEYS_TO_COME & KEYS.keys()


@pytest.mark.requirement("X-17")
@pytest.mark.parametrize("name", sorted(PLAIN.keys() & KEYS.keys()))
def test_the_tree_gives_the_default_that_the_specification_gives(name: str):
    wanted = WORDED.get(name, as_shown(PLAIN[name]))

    assert format_value(KEYS[name], KEYS[name].default) == wanted
