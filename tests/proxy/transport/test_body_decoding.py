"""Compressed bodies are read within limits."""

import gzip
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.transport import body as transport_body
from festinger.proxy.transport.body import SMALL_BYTES, decoded


@given(st.binary(max_size=2000))
def test_gzip_comes_out_as_it_went_in(body: bytes):
    assert decoded(gzip.compress(body), b"gzip") == body
    assert decoded(gzip.compress(body), b" X-GZIP ") == body
    assert decoded(body, b"identity") is body


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"not gzip", b"gzip"),
        (gzip.compress(b"abc", mtime=0)[:-3], b"gzip"),
        (gzip.compress(b"abc", mtime=0) + b"more", b"gzip"),
        (gzip.compress(b"abc", mtime=0) * 2, b"gzip"),
        (zlib.compress(b"abc"), b"deflate"),
        (b"abc", b"br"),
        (b"abc", b"gzip, gzip"),
    ],
)
def test_what_cannot_be_undone_is_left(body: bytes, encoding: bytes):
    assert decoded(body, encoding) is None


def test_a_bomb_stops_at_the_limit_and_at_the_ratio():
    bomb = gzip.compress(b"\0" * 3_000_000)

    assert decoded(bomb, b"gzip") is None
    assert decoded(gzip.compress(bytes(range(256)) * 8), b"gzip", limit=2047) is None
    assert decoded(gzip.compress(b"a" * SMALL_BYTES), b"gzip") == b"a" * SMALL_BYTES


class BadFrame(Exception):
    pass


class Reverser:
    """Stands in for a zstd decoder where none is installed."""

    eof = True
    unused_data = b""

    def decompress(self, body: bytes, most: int) -> bytes:
        if body.startswith(b"!"):
            raise BadFrame
        return body[::-1][:most]


def test_zstd_is_read_where_there_is_a_decoder_and_passes_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(transport_body, "ZSTD_MODULES", ("no.such.module",))
    assert decoded(b"abc", b"zstd") is None

    fake = SimpleNamespace(ZstdDecompressor=Reverser, ZstdError=BadFrame)
    monkeypatch.setattr(transport_body, "_zstd", lambda: fake)
    assert decoded(b"abc", b"zstd") == b"cba"
    assert decoded(b"!", b"zstd") is None
    assert decoded(b"abc", b"zstd", limit=2) is None
