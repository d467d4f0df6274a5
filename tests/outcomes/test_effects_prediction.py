"""How far a prediction was off."""

from typing import Any

import pytest

from festinger.outcomes.effects import prediction_error


@pytest.mark.requirement("O-19")
@pytest.mark.parametrize(
    ("predicted", "actual", "error"),
    [
        ({"a": 0.9, "b": "x", "c": 1}, {"a": 0.3, "b": "y", "d": 2}, 0.9),
        ({"r": 0.9}, {"r": 0.3}, 0.6),
        ({}, {}, 0.0),
        ({"n": 10}, {"n": 5}, 0.5),
        ({"n": -4}, {"n": 4}, 2.0),
        ({"t": True}, {"t": 1}, 0.0),
        ({"s": "same"}, {"s": "same"}, 0.0),
    ],
)
def test_the_error_is_the_mean_over_every_key(predicted: dict[str, Any], actual: dict[str, Any], error: float) -> None:
    assert prediction_error(predicted, actual) == pytest.approx(error, abs=1e-12)
