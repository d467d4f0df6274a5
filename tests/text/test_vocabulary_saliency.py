"""How much a word stands out from common English."""

from festinger.text.vocabulary import outstanding


def test_common_words_do_not_stand_out_and_unknown_ones_do():
    assert outstanding("The") < 1
    assert outstanding("the") < outstanding("database") < outstanding("zyxgh") == 8.0
