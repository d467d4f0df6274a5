"""Vectors as the database sends them, and how near they are to a cue."""

import struct

import numpy as np
import pytest

from festinger.retrieval.candidate import cosines, numbers


def sent(*values: float) -> bytes:
    """A vector as the database packs it: how many numbers there are, nothing, and the numbers, large end first."""
    return struct.pack(f">HH{len(values)}e", len(values), 0, *values)


def test_each_vector_keeps_its_place_among_those_that_are_not_known():
    first, nothing, last = numbers([sent(0.5, -1.0), None, sent(0.25, 2.0)])

    assert nothing is None
    assert first is not None
    assert last is not None
    assert (first.tolist(), last.tolist()) == ([0.5, -1.0], [0.25, 2.0])
    assert numbers([None, None]) == [None, None]
    assert numbers([]) == []


def test_how_near_something_is_is_known_where_both_vectors_are():
    probe = np.array([0.6, 0.8], dtype=np.float32)
    vectors = numbers([sent(1.0, 0.0), None, sent(0.0, 1.0)])

    near = cosines(vectors, probe)

    assert near == [pytest.approx(0.6), None, pytest.approx(0.8)]
    assert cosines(vectors, None) == [None, None, None]
    assert cosines([None], probe) == [None]
