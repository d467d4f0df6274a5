"""However a stream is cut, the same frames come out of it."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.transport.streams import (
    DONE,
    FrameReader,
    NdjsonReader,
    SseReader,
    StreamFrame,
    WholeJsonReader,
    reader_for,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)


def read(reader: FrameReader, stream: bytes, cuts: list[int]) -> list[StreamFrame]:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    frames = [frame for begin, end in itertools.pairwise(edges) for frame in reader.feed(stream[begin:end])]
    return frames + reader.finish()


CUTS = st.lists(st.integers(0, 400), max_size=30)


@pytest.mark.requirement("P-16")
@given(st.lists(VALUES, max_size=6), CUTS, st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_lines_are_joined_over_any_cut(values: list[object], cuts: list[int], last_ends: bool, end: str):
    stream = end.join(json.dumps(value, ensure_ascii=False) for value in values) + (end if last_ends else "")

    frames = read(NdjsonReader(), stream.encode(), cuts)

    assert [frame.data for frame in frames] == values


@pytest.mark.requirement("P-16")
@given(st.lists(VALUES, max_size=6), CUTS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_openai_events_are_joined_over_any_cut(values: list[object], cuts: list[int], end: str, done: bool):
    lines = [f"data: {json.dumps(value, ensure_ascii=False)}{end}{end}" for value in values]
    stream = f": a comment{end}{end}" + "".join(lines) + (f"data: [DONE]{end}{end}" if done else "")

    frames = read(SseReader(), stream.encode(), cuts)

    assert [frame.data for frame in frames] == values + ([DONE] if done else [])


@pytest.mark.requirement("P-16")
@given(st.lists(st.tuples(st.from_regex(r"[a-z_.]{1,20}", fullmatch=True), VALUES), max_size=6), CUTS)
def test_named_events_keep_their_names_over_any_cut(events: list[tuple[str, object]], cuts: list[int]):
    stream = "".join(f"event: {name}\ndata: {json.dumps(value)}\n\n" for name, value in events)

    frames = read(SseReader(), stream.encode(), cuts)

    assert [(frame.event, frame.data) for frame in frames] == events


@pytest.mark.requirement("P-16")
@given(VALUES, CUTS)
def test_one_document_is_read_at_its_end(value: object, cuts: list[int]):
    frames = read(WholeJsonReader(), json.dumps(value, ensure_ascii=False, indent=1).encode(), cuts)

    assert [frame.data for frame in frames] == [value]


@pytest.mark.requirement("P-16", "F-16")
@given(st.binary(max_size=300), CUTS, st.sampled_from([NdjsonReader, SseReader, WholeJsonReader]))
def test_garbage_is_never_an_error_and_any_cut_of_it_gives_the_same(garbage: bytes, cuts: list[int], kind: type):
    whole, cut = kind(), kind()

    assert read(whole, garbage, []) == read(cut, garbage, cuts)
    assert whole.unreadable == cut.unreadable


@pytest.mark.requirement("P-16")
def test_an_unreadable_line_is_counted_and_the_next_one_is_read():
    reader = NdjsonReader()

    frames = reader.feed(b'{"a":1}\n{broken\n\xff\xfe\n' + b"[" * 5000 + b'\n{"a":2}\n')

    assert [frame.data for frame in frames] == [{"a": 1}, {"a": 2}]
    assert reader.unreadable == 3


def test_data_over_several_lines_is_one_event():
    frames = SseReader().feed(b'data: {"a":\ndata: 1}\nid: 7\nretry: 5\n\ndata:\n\n')

    assert frames == [StreamFrame(data={"a": 1})]


@pytest.mark.requirement("P-88")
@pytest.mark.parametrize("kind", [NdjsonReader, SseReader, WholeJsonReader])
def test_a_reader_that_would_hold_too_much_stops_reading(kind: type):
    reader = kind(limit=1000)

    for _ in range(30):
        assert reader.feed(b"x" * 100) == []

    assert reader.overflowed
    assert reader.feed(b'\n\ndata: {"a":1}\n\n{"a":1}\n') == []


@pytest.mark.requirement("P-88")
def test_many_data_lines_of_one_event_count_together():
    reader = SseReader(limit=1000)

    for _ in range(30):
        reader.feed(b"data: " + b"x" * 90 + b"\n")

    assert reader.overflowed
    assert reader.feed(b'\n\ndata: {"a":1}\n\n') == []


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        (b"text/event-stream; charset=utf-8", SseReader),
        (b"Application/X-NDJSON", NdjsonReader),
        (b"application/json", WholeJsonReader),
        (b"", WholeJsonReader),
    ],
)
def test_the_reader_fits_what_the_upstream_says(content_type: bytes, kind: type):
    assert isinstance(reader_for(content_type), kind)
