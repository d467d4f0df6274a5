"""What does a compressed body say, if that can be found out within limits?

A bomb is a small body that grows: the growth is stopped at a size, and at a ratio that no text reaches.
A decoder for zstd is used where the Python that runs has one; without, the body passes as it is.
"""

import importlib
import zlib
from typing import Any

DECODED_BYTES = 20 * 2**20
RATIO = 100
SMALL_BYTES = 64 * 2**10
"""Below this size a ratio says nothing: a short text of one letter compresses beyond it."""
GZIP_WINDOW = 16 + zlib.MAX_WBITS
ZSTD_MODULES = ("compression.zstd", "backports.zstd")


def decoded(body: bytes, encoding: bytes, *, limit: int = DECODED_BYTES) -> bytes | None:
    """The body without its `Content-Encoding`; nothing if it is unknown, broken or grows too large."""
    name = encoding.strip().lower()
    if name in (b"", b"identity"):
        return body
    most = min(limit, max(SMALL_BYTES, len(body) * RATIO))
    if name in (b"gzip", b"x-gzip"):
        return _gunzipped(body, most)
    if name == b"zstd" and (zstd := _zstd()) is not None:
        return _unpacked(zstd, body, most)
    return None


def _gunzipped(body: bytes, most: int) -> bytes | None:
    decoder = zlib.decompressobj(GZIP_WINDOW)
    try:
        plain = decoder.decompress(body, most + 1)
    except zlib.error:
        return None
    # What follows the end would be lost by decoding: a second member, or bytes that mean nothing here.
    whole = decoder.eof and not decoder.unused_data
    return plain if whole and len(plain) <= most else None


def _unpacked(zstd: Any, body: bytes, most: int) -> bytes | None:
    decoder = zstd.ZstdDecompressor()
    try:
        plain: bytes = decoder.decompress(body, most + 1)
    except zstd.ZstdError:
        return None
    whole = decoder.eof and not decoder.unused_data
    return plain if whole and len(plain) <= most else None


def _zstd() -> Any:
    for name in ZSTD_MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
