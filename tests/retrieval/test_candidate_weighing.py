"""What speaks for a hit beside its match."""

import pytest

from festinger.retrieval.candidate import Prior, apply_prior, person_bonus, recency_score
from festinger.settings.memory_sections import RetrievalSettings

DAY = 86_400.0


@pytest.mark.requirement("R-32")
@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (7, 0.5001), (14, 0.2501), (-3, 1.0)])
def test_freshness_halves_with_each_week(days: float, left: float):
    assert recency_score(days * DAY, half_life_days=7) == pytest.approx(left, abs=1e-4)


@pytest.mark.requirement("R-33")
def test_a_score_is_mostly_the_match():
    prior = Prior(recency=0.5, center=0.2, person=0.2, helped=-0.05)

    assert apply_prior(0.8, prior, prior_share=0.15) == pytest.approx(0.85 * 0.8 + 0.15 * 0.38 + 0.15)


@pytest.mark.requirement("R-33")
@pytest.mark.parametrize(("confidence", "factor"), [(0.9, 1.0), (0.5, 1.0), (0.3, 0.8), (1 / 6, 2 / 3), (0.0, 0.5)])
def test_what_misled_sinks_and_what_is_unproven_does_not(confidence: float, factor: float):
    assert Prior(recency=1, center=1, confidence=confidence).belief == pytest.approx(factor)


@pytest.mark.requirement("R-34")
def test_a_persons_word_goes_before_a_models_unless_the_models_is_asked_for():
    settings = RetrievalSettings()

    def bonus(origin: str, trust: float = 1.0, asks_model: bool = False) -> float:
        return person_bonus(origin, trust, settings=settings, asks_model=asks_model)

    assert bonus("person") == 0.2
    assert bonus("model") == 0.0
    assert bonus("job", 0.9) == 0.2
    assert bonus("job", 0.5) == 0.0
    assert bonus("person", asks_model=True) == 0.0
