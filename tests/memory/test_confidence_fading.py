"""How deeply a memory is held that nobody touched for a while."""

import pytest

from festinger.memory.confidence import IMMUTABLE, Weight, decay_weight


@pytest.mark.parametrize(
    ("days", "center"), [(0, 0.2), (30, 0.1887), (89, 0.1698), (90, 0.1449), (200, 0.1250), (365, 0.1036)]
)
def test_what_nobody_touches_fades(days: float, center: float):
    assert decay_weight(Weight(), idle_days=days, reads=0).center == pytest.approx(center, abs=1e-4)


def test_what_was_read_often_fades_less_and_what_is_held_for_good_never():
    held = Weight(alpha=10.0, beta=2.0)

    assert decay_weight(held, idle_days=365, reads=12).center == pytest.approx(0.6390, abs=1e-4)
    assert decay_weight(IMMUTABLE, idle_days=3650, reads=0, immutable=True) == IMMUTABLE
