import stat
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.conftest import MONDAY

from festinger.errors import CannotStart
from festinger.store.erasure import ErasureEntry, append_entries, open_erasure_ledger, read_entries

FIRST = ErasureEntry(space="main", kind="memory", id="018f3a5e", mark="aa", at=MONDAY)
SECOND = ErasureEntry(space="work", kind="memory", id="018f3a5f", mark="bb", at=MONDAY + timedelta(days=1))


@pytest.mark.requirement("X-38")
def test_what_was_forgotten_is_read_back_in_order_by_another_process(tmp_path: Path) -> None:
    append_entries(open_erasure_ledger(tmp_path / "forgotten"), [FIRST])
    append_entries(open_erasure_ledger(tmp_path / "forgotten"), [SECOND])

    assert read_entries(open_erasure_ledger(tmp_path / "forgotten")) == [FIRST, SECOND]


@pytest.mark.requirement("X-38")
def test_words_are_known_again_by_a_salted_mark_and_never_written(tmp_path: Path) -> None:
    ledger = open_erasure_ledger(tmp_path / "a", secret=lambda count: b"a" * count)
    other = open_erasure_ledger(tmp_path / "b", secret=lambda count: b"b" * count)

    mark = ledger.mark("Ada  lives in LONDON\n")
    append_entries(ledger, [ErasureEntry(space="main", kind="memory", id="1", mark=mark, at=MONDAY)])

    assert mark == open_erasure_ledger(tmp_path / "a").mark("ada lives in London")
    assert mark != ledger.mark("Ada lives in Paris")
    assert mark != other.mark("ada lives in London")
    assert "ondon" not in ledger.path.read_text()
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_a_line_that_a_crash_cut_off_swallows_no_other_and_is_told(tmp_path: Path) -> None:
    ledger = open_erasure_ledger(tmp_path / "forgotten")
    append_entries(ledger, [FIRST])
    with ledger.path.open("a") as file:
        file.write('{"space":"main","ki')
    append_entries(ledger, [SECOND])

    with capture_logs() as told:
        assert read_entries(ledger) == [FIRST, SECOND]
    assert [(line["event"], line["line"]) for line in told] == [("unreadable line in the forget ledger", 3)]


def test_a_ledger_whose_making_was_cut_off_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "forgotten").write_text('{"format":1,"sa')

    append_entries(open_erasure_ledger(tmp_path / "forgotten"), [FIRST])

    assert read_entries(open_erasure_ledger(tmp_path / "forgotten")) == [FIRST]


def test_a_ledger_without_its_salt_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "forgotten").write_text("no ledger\n")

    with pytest.raises(CannotStart, match="damaged"):
        open_erasure_ledger(tmp_path / "forgotten")


def test_nothing_forgotten_writes_nothing(tmp_path: Path) -> None:
    ledger = open_erasure_ledger(tmp_path / "forgotten")
    before = ledger.path.read_bytes()

    append_entries(ledger, [])

    assert ledger.path.read_bytes() == before
