"""`festinger bench` on sets of a few sentences."""

import json
from pathlib import Path

import pytest
from benchmarks.catalogue import SUITES
from tests.benchmarks.schema import assert_fits_the_schema
from tests.benchmarks.test_extraction import rows
from tests.cli.shell import Said, Shell


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, found in rows().items():
        (tmp_path / name).mkdir()
        lines = "".join(json.dumps(row) + "\n" for row in found)
        (tmp_path / name / "sentences.jsonl").write_text(lines)
    return tmp_path


def bench(shell: Shell, data: Path, *arguments: str) -> Said:
    return shell("bench", *arguments, "--data", str(data))


@pytest.mark.requirement("S-02")
def test_a_run_writes_its_document_and_its_report(bare_shell: Shell, data: Path):
    said = bench(bare_shell, data, "extract", "--json", str(data / "r.json"), "--report", str(data / "out"))

    assert said.code == 0, said.err
    written = json.loads((data / "r.json").read_text())
    assert_fits_the_schema(written)
    assert [one["folder"] for one in written["data"]] == ["semeval2010_t8", "wcl"]
    assert "wcl.precision" in said.out
    assert "is_a" in said.out
    assert (data / "out" / "scorecard.html").is_file()


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("extract", 0),
        ("extract --check", 4),
        ("loops", 2),
        ("nonsense", 2),
        ("show", 2),
        ("show nonsense", 3),
        ("extract --compare /nowhere.json", 2),
        ("extract --limit 1 --raise-floors", 2),
    ],
)
def test_the_exit_code_says_how_it_went(bare_shell: Shell, data: Path, asked: str, code: int):
    said = bench(bare_shell, data, *asked.split())

    assert said.code == code, said.err


def test_an_unknown_suite_is_named(bare_shell: Shell, data: Path):
    assert "`nonsense` is not a suite" in bench(bare_shell, data, "nonsense").err


def test_the_list_names_every_metric_with_its_goal(bare_shell: Shell):
    said = bare_shell("bench", "list", COLUMNS="200")

    assert said.code == 0
    assert [metric.name for suite in SUITES.values() for metric in suite.metrics if metric.name not in said.out] == []
    assert "<= 0.8" in said.out


def test_a_database_of_the_person_is_never_opened(bare_shell: Shell):
    said = bare_shell("bench", "foundation", "--database", "postgresql://127.0.0.1:1/nowhere")

    assert (said.code, "throw-away store" in said.err) == (2, True)


@pytest.mark.requirement("S-09")
def test_data_that_is_not_there_is_bad_input(bare_shell: Shell, tmp_path: Path):
    assert bench(bare_shell, tmp_path / "nowhere", "extract").code == 2
    assert bare_shell("bench", "extract").code == 2


def test_a_check_names_what_is_missed(bare_shell: Shell, data: Path):
    said = bench(bare_shell, data, "extract", "--check")

    assert "wcl.precision: the goal is >= 0.93, it is 0.5." in said.err
    assert "wcl.precision: the floor is" in said.err
    assert "wrong are w2" in said.err


@pytest.mark.requirement("S-61")
def test_what_went_wrong_can_be_read(bare_shell: Shell, data: Path):
    said = bench(bare_shell, data, "show", "wcl.precision", "--wrong")

    assert said.code == 0, said.err
    assert said.lines == [
        "w2 wrong",
        "  text: The zorse is a nuisance.",
        "  found: zorse ISA nuisance",
        "  term: Zorse",
        "  parents: ",
    ]


@pytest.mark.requirement("S-09")
def test_a_limited_run_is_partial_and_held_to_no_floor(bare_shell: Shell, data: Path):
    said = bench(bare_shell, data, "extract", "--limit", "1", "--json", str(data / "r.json"))

    assert json.loads((data / "r.json").read_text())["partial"] is True
    assert "floor" not in said.err


@pytest.mark.requirement("S-05")
def test_two_runs_have_one_digest_and_nothing_fell(bare_shell: Shell, data: Path):
    first, second = data / "1.json", data / "2.json"
    bench(bare_shell, data, "extract", "--json", str(first))
    said = bench(bare_shell, data, "extract", "--json", str(second), "--compare", str(first))

    digests = [json.loads(path.read_text())["digest"] for path in (first, second)]
    assert digests[0] == digests[1]
    assert "it fell" not in said.err


def test_baselines_may_be_left_out(bare_shell: Shell, data: Path):
    assert "is_a" not in bench(bare_shell, data, "extract", "--baselines", "none").out
    assert "is_a" in bench(bare_shell, data, "extract", "--baselines", "is_a").out


@pytest.mark.requirement("S-07")
def test_a_smoke_run_draws_nothing_and_minds_floors_alone(bare_shell: Shell, data: Path):
    said = bench(bare_shell, data, "extract", "--smoke", "--check", "--json", str(data / "r.json"))

    written = json.loads((data / "r.json").read_text())
    assert (written["config"]["smoke"], written["config"]["bootstrap"]) == (True, 0)
    assert "the goal is" not in said.err
    assert said.code == 4
