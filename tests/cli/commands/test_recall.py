"""`festinger recall`: what comes to mind, said for people and for programs."""

import pytest
from tests.cli.shell import Shell

HARBOUR = "The harbour office of Lisgate opens at 0730"
CUE = "when does the harbour office open?"


@pytest.mark.requirement("R-02")
def test_a_cue_brings_what_is_remembered_or_says_that_nothing_is(shell: Shell):
    shell("learn", HARBOUR)

    plain, told = shell("recall", CUE), shell("recall", CUE, "--explain")
    [item] = shell("recall", CUE, "--json").json["items"]
    nothing = shell("recall", "plorf")

    assert HARBOUR in plain.out
    assert HARBOUR in told.out
    assert shell("why", plain.lines[1].split()[0]).code == 0
    assert "the evidence is enough" in " ".join(told.out.split())
    assert (item["text"], item["why"]) == (HARBOUR, None)
    assert (nothing.code, nothing.out.startswith("nothing relevant remembered (")) == (0, True)


def test_a_tag_is_a_word_to_find_it_by(shell: Shell):
    shell("learn", HARBOUR, "--tag", "customs")

    assert HARBOUR in shell("recall", "customs?").out
    assert shell("recall", "plumbers?").out.startswith("nothing relevant remembered (")


@pytest.mark.requirement("R-02")
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


def test_ids_of_a_batch_are_printed_long_enough_to_tell_them_apart(shell: Shell):
    file = shell.home / "facts.jsonl"
    file.write_text("".join(f'"Service number {number} listens on port {9000 + number}"\n' for number in range(8)))
    shell("learn", "--file", str(file))

    ids = [line.split()[0] for line in shell("memories").lines[1:]]

    assert len(set(ids)) == 8
    assert all(shell("memories", "show", each).code == 0 for each in ids[:2])


@pytest.mark.requirement("I-01")
def test_a_brief_tells_what_is_known_of_a_topic(shell: Shell):
    shell("learn", HARBOUR, "--tag", "decision")

    plain, nothing = shell("brief", "harbour"), shell("brief", "plorf")
    [note] = shell("brief", "--json").json["notes"]
    short = shell("brief", "--tokens", "1")

    assert HARBOUR in plain.out
    assert (note["section"], note["text"], note["origin"]) == ("decision", HARBOUR, "person")
    assert nothing.out.startswith("Nothing is known of this yet.")
    assert "1 more did not fit" in short.err
