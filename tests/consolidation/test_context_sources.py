"""A derived text may say only what its sources say."""

import pytest

from festinger.consolidation.context import find_unsupported

SOURCES = ["Ann waters the tomatoes at 7 every morning", "Ann told Ben that the garden needs 30 liters a day"]


@pytest.mark.requirement("C-07")
@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("Ann cares for the garden every morning", True),
        ("Watering takes 30 liters", True),
        ("Watering takes 40 liters", False),
        ("Carla waters the tomatoes", False),
        ("Gardening with Xylander needs water", False),
        ("Ann does not water the tomatoes", False),
        ("The garden needs water on 2026-03-04", False),
    ],
)
def test_numbers_names_and_negations_must_be_in_a_source(text: str, supported: bool):
    assert (find_unsupported(text, SOURCES) is None) is supported


@pytest.mark.requirement("C-07")
def test_what_every_source_denies_is_not_supported():
    denied = ["Ann does not eat meat", "Ann never eats fish"]

    assert find_unsupported("Ann eats meat", denied) is not None
    assert find_unsupported("Ann does not eat animals", denied) is None
