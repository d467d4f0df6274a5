"""What was spooled comes back in its order, whatever was torn off or garbled on the way."""

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.capture.spool import Spool, decode_records
from festinger.store.repositories.request_log import MalformedLine, decode_spool_line, encode_spool_line

records = st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\n", b" ")), max_size=8)

PLENTY = 10**6


def everything(spool: Spool, *, most: int = 3) -> list[bytes | MalformedLine]:
    """All that waits, batch by batch."""
    found: list[bytes | MalformedLine] = []
    while batch := spool.next(most):
        found += batch
        spool.done()
    return found


@pytest.mark.requirement("P-47")
@given(records)
def test_lines_read_back_as_the_records_that_they_were_made_of(given_records: list[bytes]):
    data = b"".join(map(encode_spool_line, given_records))

    assert decode_records(data) == (given_records, len(data))


@pytest.mark.requirement("P-47", "F-14")
@given(records.filter(bool), st.data())
def test_a_torn_end_costs_its_own_record_and_no_other(given_records: list[bytes], draw: st.DataObject):
    lines = [encode_spool_line(record) for record in given_records]
    cut = draw.draw(st.integers(min_value=0, max_value=len(lines[-1]) - 1))
    whole = b"".join(lines[:-1])

    assert decode_records(whole + lines[-1][:cut]) == (given_records[:-1], len(whole))


@pytest.mark.requirement("F-14")
@given(st.binary(min_size=1, max_size=60).filter(lambda data: b"\n" not in data), st.data())
def test_a_changed_byte_is_noticed(record: bytes, draw: st.DataObject):
    line = encode_spool_line(record)[:-1]
    at = draw.draw(st.integers(min_value=0, max_value=len(line) - 1))
    other = draw.draw(st.integers(min_value=0, max_value=255).filter(lambda byte: byte != line[at]))

    assert isinstance(decode_spool_line(line[:at] + bytes([other]) + line[at + 1 :]), MalformedLine)


@pytest.mark.requirement("P-47")
def test_records_come_back_in_the_order_in_which_they_were_added(tmp_path: Path):
    spool = Spool(tmp_path / "spool", name="1")
    spool.append([b"one", b"two"], limit=PLENTY)
    spool.append([b"three"], limit=PLENTY)

    assert everything(spool, most=2) == [b"one", b"two", b"three"]
    assert spool.waiting == 0


def test_what_is_taken_comes_again_until_it_is_done(tmp_path: Path):
    spool = Spool(tmp_path / "spool", name="1")
    spool.append([b"one", b"two"], limit=PLENTY)

    assert spool.next(1) == [b"one"]
    assert spool.next(1) == [b"one"]
    spool.done()
    assert spool.next(1) == [b"two"]


def test_records_that_are_added_while_others_are_read_come_after_them(tmp_path: Path):
    spool = Spool(tmp_path / "spool", name="1")
    spool.append([b"one"], limit=PLENTY)
    spool.next(5)
    spool.append([b"two"], limit=PLENTY)
    spool.done()

    assert everything(spool) == [b"two"]


@pytest.mark.requirement("P-47")
def test_a_long_file_is_followed_by_another_and_removed_once_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("festinger.proxy.capture.spool.SEGMENT_BYTES", 20)
    spool = Spool(tmp_path / "spool", name="1")
    for record in (b"one", b"two", b"three", b"four", b"five"):
        spool.append([record], limit=PLENTY)
    before = sorted(path.name for path in (tmp_path / "spool").iterdir())
    found = everything(spool, most=1)

    assert found == [b"one", b"two", b"three", b"four", b"five"]
    assert before == ["1-000001.spool", "1-000002.spool", "1.spool"]
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["1-000002.spool"]


@pytest.mark.requirement("P-47")
def test_only_its_owner_can_read_a_spool(tmp_path: Path):
    spool = Spool(tmp_path / "spool", name="1")
    spool.append([b"one"], limit=PLENTY)
    spool.set_aside(b"rubbish")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "spool").iterdir()}
    assert modes == {"1.spool": 0o600, "spool.bad": 0o600}
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700


@pytest.mark.requirement("P-47")
def test_a_full_spool_takes_no_more(tmp_path: Path):
    spool = Spool(tmp_path / "spool", name="1")
    room = len(encode_spool_line(b"one") + encode_spool_line(b"two"))

    assert spool.append([b"one", b"two", b"three"], limit=room) == 2
    assert spool.append([b"four"], limit=room) == 0
    assert everything(spool) == [b"one", b"two"]
    assert spool.append([b"five"], limit=room) == 1


@pytest.mark.requirement("P-47")
def test_the_next_process_takes_over_what_a_dead_one_left(tmp_path: Path):
    dead = Spool(tmp_path / "spool", name="1")
    dead.append([b"one", b"two"], limit=PLENTY)
    dead.close()
    spool = Spool(tmp_path / "spool", name="2")
    spool.append([b"three"], limit=PLENTY)

    spool.adopt_unheld_files()

    assert everything(spool) == [b"one", b"two", b"three"]
    spool.close()
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_a_living_process_holds_is_left_to_it(tmp_path: Path):
    living = Spool(tmp_path / "spool", name="1")
    living.append([b"one"], limit=PLENTY)
    spool = Spool(tmp_path / "spool", name="2")

    assert spool.adopt_unheld_files() == 0
    assert everything(spool) == []
    assert everything(living) == [b"one"]


@pytest.mark.requirement("P-47", "F-14")
def test_of_a_spoiled_file_all_is_read_that_can_be(tmp_path: Path):
    (tmp_path / "spool").mkdir()
    spoiled = [
        encode_spool_line(b"one"),
        b"deadbeef rubbish\n",
        encode_spool_line(b"three"),
        encode_spool_line(b"four")[:-3],
    ]
    (tmp_path / "spool" / "1.spool").write_bytes(b"".join(spoiled))
    spool = Spool(tmp_path / "spool", name="2")
    spool.adopt_unheld_files()

    assert everything(spool) == [
        b"one",
        MalformedLine(line=b"deadbeef rubbish", reason="garbled", number=2, file="1.spool"),
        b"three",
        MalformedLine(line=encode_spool_line(b"four")[:-3], reason="torn", number=4, file="1.spool"),
    ]
    assert spool.waiting == 0


def test_a_record_longer_than_one_read_comes_back_whole(tmp_path: Path):
    spool = Spool(tmp_path / "spool", name="1")
    long = b"x" * (5 * 2**20)
    spool.append([b"one", long, b"three"], limit=10**8)

    assert everything(spool) == [b"one", long, b"three"]


@pytest.mark.requirement("F-14")
def test_a_full_disk_costs_what_did_not_fit_and_nothing_that_lay_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spool = Spool(tmp_path / "spool", name="1")
    spool.append([b"one"], limit=PLENTY)
    real = os.pwrite

    def half(handle: int, data: bytes, at: int) -> int:
        if len(data) < 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[: len(data) // 2], at)

    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", half)
        with pytest.raises(OSError, match="No space left"):
            spool.append([b"two", b"three"], limit=PLENTY)
    spool.append([b"four"], limit=PLENTY)

    assert everything(spool) == [b"one", b"four"]


@pytest.mark.requirement("F-14")
def test_a_file_that_cannot_be_opened_is_left_alone_and_the_others_are_read(tmp_path: Path):
    (tmp_path / "spool" / "0.spool").mkdir(parents=True)
    (tmp_path / "spool" / "1.spool").write_bytes(encode_spool_line(b"one"))
    spool = Spool(tmp_path / "spool", name="2")

    spool.adopt_unheld_files()

    assert everything(spool) == [b"one"]


@pytest.mark.requirement("P-47")
def test_a_sealed_file_is_adopted_by_another_process_while_its_writer_goes_on(tmp_path: Path):
    server, worker = Spool(tmp_path / "spool", name="1"), Spool(tmp_path / "spool", name="2")
    found: list[bytes | MalformedLine] = []
    for record in (b"one", b"two", b"three"):
        server.append([record], limit=PLENTY)
        worker.adopt_unheld_files()
        found += everything(worker)
        server.seal()
    waiting = server.waiting
    worker.adopt_unheld_files()
    found += everything(worker, most=5)
    server.seal()

    assert found == [b"one", b"two", b"three"]
    assert waiting == len(encode_spool_line(b"three"))
    assert server.waiting == 0
    server.close()
    worker.close()
    assert list((tmp_path / "spool").iterdir()) == []


def test_records_of_several_files_come_in_one_batch_and_in_order(tmp_path: Path):
    server, worker = Spool(tmp_path / "spool", name="1"), Spool(tmp_path / "spool", name="2")
    for number in range(12):
        server.append([b"%d" % number], limit=PLENTY)
        server.seal()
    worker.adopt_unheld_files()

    assert worker.next(5) == [b"0", b"1", b"2", b"3", b"4"]
    worker.done()
    assert everything(worker, most=100) == [b"%d" % number for number in range(5, 12)]


def test_with_many_sealed_files_waiting_the_current_one_grows_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("festinger.proxy.capture.spool.MOST_SEALED", 2)
    server = Spool(tmp_path / "spool", name="1")
    for number in range(9):
        server.append([b"%d" % number], limit=PLENTY)
        server.seal()

    assert len(list((tmp_path / "spool").iterdir())) == 3


@pytest.mark.requirement("P-47")
def test_what_waits_for_another_store_is_left_alone(tmp_path: Path):
    other = Spool(tmp_path / "spool", name="0123abcd.1")
    other.append([b"one"], limit=PLENTY)
    other.close()
    mine, old = Spool(tmp_path / "spool", name="fedc9876.2"), Spool(tmp_path / "spool", name="1")
    old.append([b"two"], limit=PLENTY)
    old.close()
    mine.adopt_unheld_files()

    assert everything(mine) == [b"two"]
