"""The report that a stranger opens."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from benchmarks.scorecard import write_report
from benchmarks.tally import MetricTally, counted
from tests.benchmarks.schema import assert_fits_the_schema
from tests.benchmarks.test_report import a_counted_run, a_run


class Tags(HTMLParser):
    """Collects tags, and fails where they do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_one_file_without_script_or_foreign_asset(tmp_path: Path):
    write_report(a_counted_run(True, False), tmp_path)

    page = (tmp_path / "scorecard.html").read_text()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.names
    assert "svg" in tags.names
    assert re.findall(r"(?:src|href)=[\"'](?!#)|url\(|@import|https?://", page) == []
    assert "prefers-color-scheme:dark" in page


def test_every_plot_has_its_unit_and_the_same_as_a_table(tmp_path: Path):
    write_report(a_counted_run(True, True, True, False), tmp_path)

    page = (tmp_path / "scorecard.html").read_text()
    assert "found: how many (more is better, goal &gt;= 0.5)" in page
    assert "share</text>" in page
    assert page.count("<svg") == page.count("as a table")
    assert "<td>festinger</td><td>0.75</td>" in page


def test_items_hold_no_texts_unless_asked(tmp_path: Path):
    run = a_counted_run(True)
    items = [counted("a", right=False, told={"text": "a secret sentence"})]
    run = replace(run, tallies=[MetricTally(metric="found", system="festinger", items=items)])

    write_report(run, tmp_path / "without")
    write_report(run, tmp_path / "with", with_texts=True)

    bare = (tmp_path / "without" / "items" / "found.jsonl").read_text()
    assert json.loads(bare) == {"id": "a", "system": "festinger", "part": 0.0, "whole": 1.0, "right": False}
    assert "a secret sentence" in (tmp_path / "with" / "items" / "found.jsonl").read_text()


def test_results_and_tables_lie_beside_the_page(tmp_path: Path):
    write_report(a_run(slow=3.0), tmp_path)

    assert_fits_the_schema(json.loads((tmp_path / "results.json").read_text()))
    assert "| slow | ms | 3.00 |  | <= 2 | NO |" in (tmp_path / "scorecard.md").read_text()


def test_what_others_wrote_is_shown_and_not_obeyed(tmp_path: Path):
    run = a_run()
    hostile = replace(run.systems[1], reason="<script>alert(1)</script>")

    write_report(replace(run, systems=[run.systems[0], hostile]), tmp_path)

    assert "<script>" not in (tmp_path / "scorecard.html").read_text()
