import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.embedding.embedder import to_unit_vectors
from festinger.errors import ProviderRefused

NUMBERS = st.floats(min_value=-(2.0**90), max_value=2.0**90, allow_nan=False)


def test_rows_of_any_length_become_unit_vectors():
    [vector] = to_unit_vectors([[3.0, 4.0]], count=1, dimensions=2, name="toy:x")

    assert vector.tolist() == pytest.approx([0.6, 0.8])
    assert vector.dtype == np.float32


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([[float("nan"), 1.0]], "not made of numbers"),
        ([[float("inf"), 1.0]], "not made of numbers"),
        ([[None, 1.0]], "not made of numbers"),
        ([["a", "b"]], "not made of numbers"),
        ([[0.0, 0.0]], "zeros"),
        ([[1e-30, 0.0]], "zeros"),
        ([[1.0, 2.0, 3.0]], "shape"),
        ([[1.0]], "shape"),
        ([7.0], "shape"),
        ([], "0 vectors for 1 texts"),
        ([[1.0, 0.0], [1.0, 0.0]], "2 vectors for 1 texts"),
        (None, "not made of numbers"),
    ],
)
def test_a_bad_row_never_becomes_a_vector(rows: list[list[float]], why: str):
    with pytest.raises(ProviderRefused, match=why):
        to_unit_vectors(rows, count=1, dimensions=2, name="toy:x")


@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=4))
def test_an_answer_gives_unit_vectors_in_their_direction_or_none_at_all(rows: list[list[float]]):
    try:
        made = to_unit_vectors(rows, count=len(rows), dimensions=3, name="toy:x")
    except ProviderRefused:
        assert any(np.linalg.norm(row) < 1e-5 for row in rows)
        return

    for row, vector in zip(rows, made, strict=True):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert np.dot(row, vector.astype(np.float64)) == pytest.approx(np.linalg.norm(row), rel=1e-5)
