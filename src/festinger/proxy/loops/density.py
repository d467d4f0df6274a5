"""Weighs how little a text says for its length, by compressing it.

What any text costs at first is taken off, since it would hide a loop in a short text. And because a passage may
honestly be said twice, the very end must add little to what stands before it.
"""

import zlib

WEIGHED = 2_000
LEAST = 250
FIRST_TIME = 80
"""Bytes that a text may cost before its length counts."""
END = 200

_LEVEL, _WINDOW_BITS = 6, -15


def is_dense(text: str, *, ratio: float, end_ratio: float) -> bool:
    """Whether the end of a text repeats so much that it compresses to these shares, as a whole and at its very end."""
    data = _bytes(text[-WEIGHED:])
    if len(data) < LEAST:
        return False
    size = min(END, len(data) // 2)
    before, end = data[:-size], data[-size:]
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, zdict=before)
    added = (len(squeeze.compress(end)) + len(squeeze.flush())) / size
    return weight(text[-WEIGHED:], free=FIRST_TIME) < ratio and added < end_ratio


def weight(text: str, *, free: int = 0) -> float:
    """The share of its length to which a text compresses."""
    data = _bytes(text)
    return (len(zlib.compress(data, _LEVEL)) - free) / len(data)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
