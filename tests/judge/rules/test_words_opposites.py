"""Which words stand against each other, and which are of one kind."""

from festinger.judge.rules.words import find_exclusive_kind, is_opposite, similar_stems


def test_our_own_list_knows_everyday_opposites():
    assert is_opposite("up", "down")
    assert is_opposite("rises", "falls")
    assert is_opposite("near", "far away from")
    assert is_opposite("stable", "unstable")
    assert not is_opposite("up", "up")
    assert not is_opposite("near", "close to")
    assert not is_opposite("vent", "invent")


def test_a_thing_has_one_colour_and_two_spellings_are_one():
    assert find_exclusive_kind("red", "green") == "colour"
    assert find_exclusive_kind("grey", "gray") is None
    assert find_exclusive_kind("red", "monday") is None


def test_words_for_one_thing_are_alike():
    assert "ladi" in similar_stems("woman")
    assert similar_stems("sprocket") == frozenset()
