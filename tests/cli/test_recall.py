"""`festinger recall`: what comes to mind, said for people and for programs."""

from tests.cli.shell import Shell

HARBOUR = "The harbour office of Lisgate opens at 0730"
CUE = "when does the harbour office open?"


def test_a_cue_brings_what_is_remembered_or_says_that_nothing_is(shell: Shell):
    shell("learn", HARBOUR)

    plain, told = shell("recall", CUE), shell("recall", CUE, "--explain")
    [item] = shell("recall", CUE, "--json").json["items"]
    nothing = shell("recall", "plorf")

    assert HARBOUR in plain.out
    assert "the evidence is enough" in " ".join(told.out.split())
    assert (item["text"], item["why"]) == (HARBOUR, None)
    assert (nothing.code, nothing.out.startswith("nothing relevant remembered (")) == (0, True)


def test_a_tag_is_a_word_to_find_it_by(shell: Shell):
    shell("learn", HARBOUR, "--tag", "customs")

    assert HARBOUR in shell("recall", "customs?").out
    assert shell("recall", "plumbers?").out.startswith("nothing relevant remembered (")


def test_options_say_of_what_kind_with_which_tag_and_of_when(shell: Shell):
    shell("learn", HARBOUR, "--tag", "customs")

    found = {
        words: len(shell("recall", CUE, *words, "--json").json["items"])
        for words in (
            ("--limit", "1"),
            ("--kind", "fact"),
            ("--kind", "insight"),
            ("--tag", "customs"),
            ("--tag", "port"),
            ("--since", "2020-01-01"),
            ("--until", "2020-01-01"),
            ("--as-of", "2020-01-01"),
        )
    }

    assert list(found.values()) == [1, 1, 0, 1, 0, 1, 0, 0]
    assert shell("recall", CUE, "--limit", "0").code == 2
