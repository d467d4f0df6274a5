"""What does a detector say when it fires?"""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import DEFAULT_AGENT, AgentId, Origin
from festinger.proposals.detectors.patterns import DetectorFinding, DetectorName, finding_to_suggestion, slugify_scope

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)


def firing(**more: object) -> DetectorFinding:
    given = {
        "by": DetectorName.LOOP,
        "category": "reliability",
        "scope": "chat",
        "what": "Break it",
        "why": "",
        "at": MONDAY,
        "source": "event-1",
    }
    return DetectorFinding(**given | more)  # type: ignore[arg-type]


def test_a_detector_speaks_as_a_job_at_the_time_of_its_evidence():
    said = finding_to_suggestion(firing(agent=AgentId("ada"), session="s1"))

    assert said.producer == "detector:loop"
    assert said.at == MONDAY
    assert (said.cause.agent, said.cause.session, said.cause.day) == ("ada", "s1", MONDAY.date())
    assert said.cause.origin is Origin.JOB


def test_what_has_no_session_is_its_own_cause():
    said = finding_to_suggestion(firing())

    assert (said.cause.agent, said.cause.session) == (DEFAULT_AGENT, "event-1")


@pytest.mark.parametrize(
    ("name", "scope"),
    [("search", "search"), ("Web.Search v2", "web_search_v2"), ("7zip", "zip"), ("поиск", "tools"), ("", "tools")],
)
def test_a_name_becomes_a_scope(name: str, scope: str):
    assert slugify_scope(name, otherwise="tools") == scope


@given(st.text(max_size=80))
def test_every_name_becomes_a_scope_that_is_allowed(name: str):
    assert re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", slugify_scope(name, otherwise="tools"))
