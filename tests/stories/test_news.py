"""Said once, said again in other words, and then changed: what stands, with the readers that ship and no model."""

from pathlib import Path

import pytest
from benchmarks.run import throw_away_folder
from benchmarks.suite import Bench
from benchmarks.supersession import open_home

BEFORE = (
    "Priya owns the billing service",
    "I live in Porto",
    "We deploy with Argo CD",
    "I am allergic to peanuts",
    "Calvin dreams of touring the world, reaching people everywhere and making an impact with his music.",
)
NEWS = {"Tom owns the billing service now": 0, "Since June I'm in Bologna": 1, "we're off Argo, Flux does it": 2}
BESIDE = (
    "Priya also sits on the architecture board",
    "Calvin is grateful for the support of his friends and calls performing his purpose and his passion in life.",
)


@pytest.mark.postgres
async def test_news_replace_what_they_concern_and_a_repeat_becomes_one_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("HOME", str(tmp_path))  # where the embedded server's password lies
    with throw_away_folder() as folder:
        async with open_home(Bench(folder=folder), "news") as memory:
            known = [(await memory.learn(text)).memory for text in BEFORE]
            replaced = {text: (await memory.learn(text)).superseded for text in NEWS}
            again = await memory.learn("I have a peanut allergy")
            beside = [await memory.learn(text) for text in BESIDE]
            home = await memory.recall("Where do I live?", limit=1)

    ids = [each.id for each in known if each]
    assert replaced == {text: (ids[place],) for text, place in NEWS.items()}
    assert again.memory is not None
    assert again.memory.id == ids[3]
    assert [each.superseded for each in beside] == [(), ()]
    assert [item.text for item in home.items] == ["Since June I'm in Bologna"], "found by the words of what it replaced"
