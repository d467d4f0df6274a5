"""Compressed bodies are read within limits."""

import gzip
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.transport import body as transport_body
from festinger.proxy.transport.body import SMALL_BYTES, decode_body


@given(st.binary(max_size=2000))
def test_gzip_comes_out_as_it_went_in(body: bytes):
    assert decode_body(gzip.compress(body), b"gzip") == body
    assert decode_body(gzip.compress(body), b" X-GZIP ") == body
    assert decode_body(body, b"identity") is body


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
    assert decode_body(body, encoding) is None


def test_a_bomb_stops_at_the_limit_and_at_the_ratio():
    bomb = gzip.compress(b"\0" * 3_000_000)

    assert decode_body(bomb, b"gzip") is None
    assert decode_body(gzip.compress(bytes(range(256)) * 8), b"gzip", limit=2047) is None
    assert decode_body(gzip.compress(b"a" * SMALL_BYTES), b"gzip") == b"a" * SMALL_BYTES


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


def test_zstd_is_read_where_there_is_a_decoder_and_passes_where_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport_body, "ZSTD_MODULES", ("no.such.module",))
    assert decode_body(b"abc", b"zstd") is None

    fake = SimpleNamespace(ZstdDecompressor=Reverser, ZstdError=BadFrame)
    monkeypatch.setattr(transport_body, "_import_zstd", lambda: fake)
    assert decode_body(b"abc", b"zstd") == b"cba"
    assert decode_body(b"!", b"zstd") is None
    assert decode_body(b"abc", b"zstd", limit=2) is None
