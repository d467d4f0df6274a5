"""Small bodies come whole, large ones piece by piece."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import TooLarge
from festinger.proxy.transport.body import ClientDisconnectedError, read_or_stream_body

CHUNKED = [(b"transfer-encoding", b"chunked")]


def told(size: int) -> list[tuple[bytes, bytes]]:
    return [(b"content-length", b"%d" % size)]


def incoming(*pieces: bytes, leaves: bool = False):
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if leaves:
        messages.append({"type": "http.disconnect"})
    elif messages:
        messages[-1]["more_body"] = False
    waiting = iter(messages)

    async def receive():
        return next(waiting)

    return receive


async def test_no_body_is_not_an_empty_body():
    seen: list[str] = []

    nothing = await read_or_stream_body(incoming(), [], limit=None, complete=lambda: seen.append("done"))
    empty = await read_or_stream_body(incoming(b""), told(0), limit=None, complete=lambda: seen.append("done"))

    assert (nothing, empty, seen) == (None, b"", ["done", "done"])


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=10), st.integers(0, 100), st.booleans())
async def test_every_body_comes_out_as_it_went_in(pieces: list[bytes], whole: int, known: bool):
    sent = b"".join(pieces)
    seen: list[str] = []
    headers = told(len(sent)) if known else CHUNKED

    body = await read_or_stream_body(
        incoming(*pieces), headers, limit=None, complete=lambda: seen.append("done"), whole=whole
    )
    got = body if isinstance(body, bytes) else b"".join([piece async for piece in body or ()])  # type: ignore[union-attr]

    assert got == sent
    assert seen == ["done"]
    if known and len(sent) <= whole:
        assert isinstance(body, bytes)


@pytest.mark.requirement("P-88")
async def test_a_body_beyond_the_limit_is_refused_by_its_word_or_by_its_size():
    with pytest.raises(TooLarge):
        await read_or_stream_body(incoming(b"x"), told(101), limit=100, complete=lambda: None)
    growing = await read_or_stream_body(incoming(b"x" * 60, b"x" * 60, b"x"), CHUNKED, limit=100, complete=lambda: None)
    assert not isinstance(growing, bytes)
    assert growing is not None

    with pytest.raises(TooLarge):
        [piece async for piece in growing]


async def test_a_client_that_leaves_in_mid_body_is_noticed():
    with pytest.raises(ClientDisconnectedError):
        await read_or_stream_body(incoming(b"x", leaves=True), told(50), limit=None, complete=lambda: None)
