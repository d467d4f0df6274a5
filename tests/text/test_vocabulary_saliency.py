"""How much a word stands out from common English."""

from festinger.text.vocabulary import word_rarity


def test_common_words_do_not_stand_out_and_unknown_ones_do():
    assert word_rarity("The") < 1
    assert word_rarity("the") < word_rarity("database") < word_rarity("zyxgh") == 8.0
