"""Which numbers does Festinger show of itself?"""

import re
from pathlib import Path

import pytest
from tests.reference import metrics_page

from festinger.observability.metrics import LISTED, REGISTRY, SECONDS, MetricInfo, render_metrics

ROOT = Path(__file__).parents[2]
ROOMS = {path.name for path in (ROOT / "src" / "festinger").iterdir() if path.is_dir()}

OF_ALL_ROOMS = {"festinger_degraded_total", "festinger_dropped_total"}
"""Counters that every room moves; their names are the specification's."""

AS_SPECIFIED = {
    "festinger_dormant",
    "festinger_outcomes_rate",
    "festinger_outcomes_total",
    "festinger_proposals_held",
    "festinger_proposals_open",
    "festinger_proposals_paused",
    "festinger_proposals_producer_value",
    "festinger_proposals_promotion_rate",
    "festinger_proxy_breakers_open",
    "festinger_proxy_sessions",
    "festinger_recall_arm_seconds",
    "festinger_recall_degraded_total",
    "festinger_recall_seconds",
    "festinger_recall_unrecorded_total",
    "festinger_recalls_total",
    "festinger_surfacings_pending",
}
"""Names that the specification gives without the room or without a unit."""

UNITS = {"total", "seconds", "bytes", "usd", "count", "connections", "requests", "ratio", "tokens"}

USER_TEXT = {"text", "query", "cue", "user", "agent", "session", "url", "path", "message", "error", "model", "space"}


@pytest.mark.parametrize("metric", LISTED, ids=lambda metric: metric.name)
def test_a_metric_is_named_by_room_noun_and_unit(metric: MetricInfo):
    if metric.name in OF_ALL_ROOMS | AS_SPECIFIED:
        return
    named = re.fullmatch(r"festinger_([a-z]+)_([a-z_]+)_([a-z]+)", metric.name)

    assert named is not None
    assert named[1] in ROOMS
    assert named[3] in UNITS


@pytest.mark.parametrize("metric", LISTED, ids=lambda metric: metric.name)
def test_no_label_takes_text_of_a_user(metric: MetricInfo):
    assert not USER_TEXT & set(metric.labels)
    assert metric.meaning.endswith(".")


def test_the_list_is_all_that_is_registered():
    assert {metric.name.removesuffix("_total") for metric in LISTED} == {one.name for one in REGISTRY.collect()}
    assert len({metric.name for metric in LISTED}) == len(LISTED)


def test_histograms_reach_from_a_millisecond_to_ten_seconds():
    assert (SECONDS[0], SECONDS[-1]) == (0.001, 10.0)
    assert list(SECONDS) == sorted(SECONDS)


def test_all_metrics_are_shown_under_their_scraped_names():
    shown = render_metrics().decode()

    for metric in LISTED:
        assert f"# TYPE {metric.scraped_name} {metric.kind}" in shown


def test_the_reference_page_is_the_one_that_the_list_renders():
    written = (ROOT / "docs" / "reference" / "metrics.md").read_text()

    assert written == metrics_page(), "run `make docs`"
