"""Vectors as the database sends them."""

import struct

from festinger.retrieval.candidate import decode_vectors


def sent(*values: float) -> bytes:
    """A vector as the database packs it: how many numbers there are, nothing, and the numbers, large end first."""
    return struct.pack(f">HH{len(values)}e", len(values), 0, *values)


def test_each_vector_keeps_its_place_among_those_that_are_not_known():
    first, nothing, last = decode_vectors([sent(0.5, -1.0), None, sent(0.25, 2.0)])

    assert nothing is None
    assert first is not None
    assert last is not None
    assert (first.tolist(), last.tolist()) == ([0.5, -1.0], [0.25, 2.0])
    assert decode_vectors([None, None]) == [None, None]
    assert decode_vectors([]) == []
