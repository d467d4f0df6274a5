"""The catalogue says what the requirements say."""

import re
from pathlib import Path

import pytest

from festinger.errors import FestingerError
from festinger.events.catalogue import (
    AGENT,
    AUDIT,
    CATALOGUE,
    DOORS,
    FOUNDATION,
    JUDGE,
    MEMORY,
    OUTCOMES,
    PROPOSALS,
    PROXY,
    RELIABILITY,
    RETRIEVAL,
    WORLD,
    find_schema,
)

SPEC = Path(__file__).parent.parent.parent / "docs" / "spec"
LISTED = re.compile(r"`([a-z_]+)` \{([^}]*)\}")
ROOMS = {
    "foundation": FOUNDATION,
    "console": DOORS,
    "reliability": RELIABILITY,
    "proxy": PROXY,
    "world": WORLD,
    "proposals": PROPOSALS,
    "agent": AGENT,
}

GONE = {"inbox_digest"}
"""Events of parts that were taken out again; `tests/open.toml` says why."""


def events_section(file: str) -> str:
    text = (SPEC / f"{file}.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return next((part for part in reversed(parts) if re.match(r"(\d+\.? )?Events", part)), "")


def promised(file: str) -> dict[str, set[str]]:
    """Every event of a requirements file with the fields of its payload."""
    section = events_section(file).partition("\nRead")[0]
    found = {name: fields_in(fields) for name, fields in LISTED.findall(section)}
    for names, fields in re.findall(r"^\| (`[^|]+) \| ([^|]+) \|$", section, re.MULTILINE):
        found |= {name: fields_in(fields) for name in re.findall(r"`(\w+)`", names)}
    return found


def fields_in(text: str) -> set[str]:
    bare = re.sub(r"\([^)]*\)", "", text)
    return {name for part in bare.split(",") if (name := re.split(r"[:\s]", part.strip())[0])}


@pytest.mark.requirement("X-41")
@pytest.mark.parametrize("file", ROOMS)
def test_the_catalogue_has_the_events_of_the_requirements_with_their_fields(file: str):
    listed = {name: set(shape.fields) for name, shape in ROOMS[file].items()}

    assert listed == {name: fields for name, fields in promised(file).items() if name not in GONE}


@pytest.mark.requirement("X-41")
def test_an_event_of_any_room_is_listed_only_as_the_requirements_have_it():
    everywhere: dict[str, set[str]] = {}
    for path in SPEC.glob("*.md"):
        if path.stem not in ("README", "scorecard"):
            everywhere |= promised(path.stem)

    assert {name: set(shape.fields) for name, shape in CATALOGUE.items()}.items() <= everywhere.items()


def test_no_two_rooms_tell_the_same_event():
    assert len(CATALOGUE) == sum(len(room) for room in [*ROOMS.values(), JUDGE, MEMORY, OUTCOMES, RETRIEVAL])


def test_an_unlisted_event_is_a_fault():
    with pytest.raises(FestingerError, match="`unheard`"):
        find_schema("unheard")


def test_what_people_do_is_kept_for_the_audit():
    assert {"setting_changed", "login", "key_made", "key_revoked", "restored", "export_finished"} <= set(AUDIT)
    assert "provider_down" not in AUDIT
