"""Peers: who may be asked for, and what is said of one that cannot run."""

import re
from pathlib import Path

import pytest
from benchmarks.peer_systems import LITELLM, PEERS, chosen_peers, named_pythons, python_of, version_of
from benchmarks.suite import Bench

from festinger.errors import BadInput, Unavailable


def test_none_all_and_names():
    assert chosen_peers("none") == frozenset()
    assert chosen_peers("all") == frozenset(PEERS)
    assert chosen_peers("litellm,mem0") == frozenset({"litellm", "mem0"})


def test_an_unknown_peer_is_refused():
    with pytest.raises(BadInput, match="`nobody` is no peer"):
        chosen_peers("litellm,nobody")


@pytest.mark.parametrize("given", ["nobody=/bin/python", "litellm=", "litellm"])
def test_a_python_must_belong_to_a_peer(given: str):
    with pytest.raises(BadInput):
        named_pythons([given])


async def test_a_peer_that_nobody_asked_for_says_so(tmp_path: Path):
    with pytest.raises(Unavailable, match="left out"):
        await python_of(LITELLM, Bench(folder=tmp_path))


async def test_a_peer_that_does_not_install_says_why_and_is_not_taken_for_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lock = tmp_path / "requirements.lock"
    monkeypatch.setitem(PEERS, LITELLM, lock)
    lock.write_text("this is no requirement\n")  # refused before anything is fetched
    monkeypatch.setenv("HOME", str(tmp_path))
    bench = Bench(folder=tmp_path, peers=frozenset({LITELLM}), peers_home=tmp_path / "peers")

    with pytest.raises(Unavailable) as refused:
        await python_of(LITELLM, bench)

    assert "this is no requirement" in refused.value.message
    assert list((tmp_path / "peers").glob("*/finished")) == []


async def test_a_broken_environment_says_why(tmp_path: Path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho the wheel is for another machine\nexit 3\n")
    broken.chmod(0o755)

    with pytest.raises(Unavailable, match="the wheel is for another machine"):
        await version_of(LITELLM, broken)


async def test_a_python_that_is_not_there_says_so(tmp_path: Path):
    bench = Bench(folder=tmp_path, peers=frozenset({LITELLM}), peer_pythons={LITELLM: tmp_path / "nowhere" / "python"})

    with pytest.raises(Unavailable, match="there is no Python at"):
        await python_of(LITELLM, bench)


@pytest.mark.parametrize("peer", PEERS)
def test_the_lock_of_a_peer_pins_everything_with_hashes_and_says_not_where_to_fetch(peer: str):
    text = PEERS[peer].read_text()
    entries = re.split(r"\n(?=\S)", text.strip())

    assert [
        entry.split()[0] for entry in entries if not re.match(r"[a-z0-9.-]+==\S+.*--hash=sha256:", entry, re.DOTALL)
    ] == []
    assert re.search(rf"^x?{peer}[a-z]*==", text, re.MULTILINE)
    assert "://" not in text
