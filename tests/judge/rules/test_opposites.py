"""Which words does WordNet call opposites?"""

from pathlib import Path

import pytest

from festinger.judge.rules import opposites
from festinger.judge.rules.opposites import exclusive_kind, is_opposite, similar_stems

DATA = """\
  1 This line is part of a licence and is indented.
00001740 00 a 01 murky 0 001 ! 00002098 a 0101 | not clear
00002098 00 a 02 limpid 0 lucid(p) 0 002 ! 00001740 a 0101 & 00001740 a 0000 | clear
"""


def test_antonyms_are_read_where_the_database_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "data.adj").write_text(DATA, encoding="ascii")
    monkeypatch.setattr(opposites, "FOLDER", tmp_path)

    assert opposites.find_antonyms("murki") == {"limpid"}
    assert opposites.find_antonyms("limpid") == {"murki"}
    assert opposites.find_antonyms("lucid") == frozenset()


def test_without_the_database_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(opposites, "FOLDER", tmp_path / "nowhere")

    assert opposites.find_antonyms("murki") == frozenset()


def test_our_own_list_knows_everyday_opposites():
    assert is_opposite("up", "down")
    assert is_opposite("rises", "falls")
    assert is_opposite("near", "far away from")
    assert is_opposite("stable", "unstable")
    assert not is_opposite("up", "up")
    assert not is_opposite("near", "close to")
    assert not is_opposite("vent", "invent")


def test_a_thing_has_one_colour_and_two_spellings_are_one():
    assert exclusive_kind("red", "green") == "colour"
    assert exclusive_kind("grey", "gray") is None
    assert exclusive_kind("red", "monday") is None


def test_words_for_one_thing_are_alike():
    assert "ladi" in similar_stems("woman")
    assert similar_stems("sprocket") == frozenset()
