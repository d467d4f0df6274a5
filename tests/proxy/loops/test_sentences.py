from festinger.proxy.loops.sentences import Latest, Sentences


def test_sentences_end_at_stops_and_lines_and_short_ones_are_left_out():
    text = "This is the first sentence! Too short. And this is another one\n这是一个足够长的句子，它至少有二十个汉字那么长。Rest"

    assert list(Sentences().grow(text)) == [
        "this is the first sentence",
        "and this is another one",
        "这是一个足够长的句子 它至少有二十个汉字那么长",
    ]


def test_a_sentence_goes_on_into_the_next_piece():
    sentences = Sentences()

    assert list(sentences.grow("This sentence goes on")) == []
    assert list(sentences.grow(" for a while. ")) == ["this sentence goes on for a while"]


def test_only_the_latest_are_counted_and_only_when_there_are_enough():
    latest = Latest(3)
    found = []
    for sentence in "aabbbc":
        latest.add(sentence)
        found.append(latest.distinct)

    assert found == [None, None, 2, 2, 1, 2]
