"""Data sets are read soundly or not at all, and a part of them is always the same part."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.data import Data, one_of
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput


def a_set(folder: Path, *lines: str, name: str = "pairs.jsonl") -> Path:
    (folder / "some").mkdir(exist_ok=True)
    path = folder / "some" / name
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.jsonl.gz"])
def test_a_file_is_read_packed_or_not_and_remembered_with_its_sum(tmp_path: Path, name: str):
    path = a_set(tmp_path, '{"id": 1}', '{"id": 2}', name=name)
    data = Data(folder=tmp_path)

    assert data.rows("some", "pairs", needs=("id",)) == [{"id": 1}, {"id": 2}]
    (file,) = data.read.values()
    assert (file.set, file.name, file.rows) == ("some", name, 2)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.requirement("S-09")
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("nonsense", "line 2 is not JSON"),
        ("", "line 2 is not JSON"),
        ("[]", "line 2 is not an object"),
        ('{"text": 1}', "line 2 has no `id`"),
    ],
)
def test_a_bad_line_is_told_with_its_file_and_number(tmp_path: Path, line: str, what: str):
    path = a_set(tmp_path, '{"id": 1}', line, '{"id": 3}')

    with pytest.raises(BadInput) as refused:
        Data(folder=tmp_path).rows("some", "pairs", needs=("id",))

    assert refused.value.message == f"`{path}`, {what}."


@pytest.mark.requirement("S-09")
def test_what_is_missing_is_named(tmp_path: Path):
    a_set(tmp_path, "{}")
    (tmp_path / "some" / "broken.jsonl.gz").write_bytes(b"not gzip")
    data = Data(folder=tmp_path)

    faults: list[tuple[Callable[[], object], str]] = [
        (lambda: Data().require(["some"]), "`some` is needed"),
        (lambda: data.require(["some", "other"]), "other"),
        (lambda: data.rows("some", "texts"), "texts.jsonl"),
        (lambda: data.rows("some", "broken"), "no gzip"),
    ]
    for wrong, told in faults:
        with pytest.raises(BadInput) as refused:
            wrong()
        assert told in refused.value.message


@pytest.mark.requirement("S-09")
def test_an_unknown_label_is_refused_with_its_item():
    assert one_of({"id": "x", "label": "same"}, "label", ("same",), file="some/pairs") == "same"
    with pytest.raises(BadInput) as refused:
        one_of({"id": "x", "label": "odd"}, "label", ("same",), file="some/pairs")

    assert refused.value.message == "`some/pairs`: item `x` has the unknown label 'odd'."


def test_a_file_may_be_looked_for_without_reading_it(tmp_path: Path):
    a_set(tmp_path, "{}")

    assert [Data(folder=tmp_path).has("some", name) for name in ("pairs", "texts")] == [True, False]


def test_the_third_is_the_same_everywhere_and_tears_no_group_apart():
    names = [f"item {number}" for number in range(30)]
    twice = [*names, *names]

    kept = Data(third=True).sampled(twice, by=str)

    assert kept == [name for name in twice if hashlib.sha256(name.encode()).digest()[0] % 3 == 0]
    assert 0 < len(kept) < len(twice)


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(1, 10))
def test_a_limit_counts_groups_and_keeps_the_order(items: list[str], limit: int):
    kept = Data(limit=limit).sampled(items, by=str)

    assert len(set(kept)) == min(limit, len(set(items)))
    assert kept == [item for item in items if item in set(kept)]
    assert Data().sampled(items, by=str) == items


def test_a_row_is_whatever_json_it_was(tmp_path: Path):
    row = {"id": "é", "nested": {"a": [1, None]}}
    a_set(tmp_path, json.dumps(row))

    assert Data(folder=tmp_path).rows("some", "pairs") == [row]
