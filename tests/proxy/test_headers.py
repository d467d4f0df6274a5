"""Which headers cross, and what those for us mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.headers import (
    MemoryMode,
    RequestOptions,
    filter_request_headers,
    filter_response_headers,
    is_valid_name,
    parse_request_options,
)

PLAIN = st.from_regex(rb"[a-z][a-z0-9-]{0,10}", fullmatch=True)
PAIRS = st.lists(st.tuples(PLAIN, st.binary(max_size=10)), max_size=12)


@pytest.mark.requirement("P-09")
@given(PAIRS)
def test_what_goes_up_keeps_order_and_doubles(pairs: list[tuple[bytes, bytes]]):
    kept = iter(pairs)

    assert all(pair in kept for pair in filter_request_headers(pairs))


@pytest.mark.requirement("P-09")
@given(PAIRS, PLAIN)
def test_what_a_connection_header_names_does_not_cross(pairs: list[tuple[bytes, bytes]], named: bytes):
    headers = [*pairs, (b"connection", b"close, " + named.upper())]

    assert named not in [name for name, _ in filter_request_headers(headers)]
    assert named not in [name for name, _ in filter_response_headers(headers) if name != b"x-accel-buffering"]


@pytest.mark.requirement("P-09")
def test_a_length_beside_chunks_was_not_the_truth():
    both = [(b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"5"), (b"ETag", b"x")]

    assert filter_response_headers(both) == [(b"etag", b"x")]


@pytest.mark.parametrize(
    ("headers", "wishes"),
    [
        ([], RequestOptions()),
        ([(b"x-festinger-memory", b"OFF")], RequestOptions(memory=MemoryMode.OFF)),
        ([(b"x-festinger-memory", b" read ")], RequestOptions(memory=MemoryMode.READ)),
        ([(b"x-festinger-memory", b"maybe")], RequestOptions(ignored=("memory",))),
        ([(b"x-festinger-loop", b"off")], RequestOptions(watch_loops=False)),
        ([(b"x-festinger-loop", b"2")], RequestOptions(ignored=("loop",))),
        (
            [(b"x-festinger-space", b"team"), (b"x-festinger-agent", b"dobby")],
            RequestOptions(space="team", agent="dobby"),
        ),
        ([(b"x-festinger-space", b"a b"), (b"x-festinger-agent", b"")], RequestOptions(ignored=("space", "agent"))),
    ],
)
def test_wishes_are_read_and_wrong_ones_only_noted(headers: list[tuple[bytes, bytes]], wishes: RequestOptions):
    assert parse_request_options(headers) == wishes


@given(st.text(max_size=70))
def test_a_name_fits_into_an_address(text: str):
    fits = 0 < len(text) <= 63 and all(char.isascii() and (char.isalnum() or char in "._-") for char in text)

    assert is_valid_name(text) is fits
