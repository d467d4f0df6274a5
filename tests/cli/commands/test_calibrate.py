import json
import random
import stat
from pathlib import Path

import pytest
from tests.cli.shell import Shell

from festinger.embedding.profiles import (
    EmbedderProfile,
    EmbeddingPurpose,
    ThresholdName,
    ThresholdReading,
    format_profiles,
    load_all_profiles,
    load_bundled_profiles,
    load_measured_profiles,
    parse_profiles,
    save_profile,
)

WORDS = [
    "blue",
    "green",
    "river",
    "stone",
    "paper",
    "cloud",
    "engine",
    "window",
    "garden",
    "letter",
    "candle",
    "bridge",
]


def pairs_file(folder: Path) -> Path:
    """Sixty pairs of each class, drawn by a fixed seed."""
    chance = random.Random(7)
    lines = []
    for _ in range(60):
        text = " ".join(chance.sample(WORDS, 5))
        lines.append({"a": text, "b": f"{text} today", "label": "same"})
        lines.append({"a": text, "b": " ".join(chance.sample(WORDS, 5)), "label": "different"})
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return file


def calibrate(shell: Shell, *more: str):
    (shell.home / "festinger").mkdir(exist_ok=True)
    file = pairs_file(shell.home)
    return shell("calibrate", "--embedder", "hashed:", "--data", str(file), *more)


@pytest.mark.requirement("X-77")
def test_calibrating_proposes_the_same_thresholds_each_time_and_changes_nothing(shell: Shell):
    first, second = calibrate(shell, "--json").json, calibrate(shell, "--json").json

    assert first == second
    assert first["pairs"] == 120
    assert set(first["thresholds"]) == {"same", "check"}
    assert [why.partition(":")[0] for why in first["left"]] == ["subject", "censor"]
    assert first["thresholds"]["check"]["new"] is not None
    assert len(first["curve"]) == 21
    assert not (shell.home / "festinger" / "profiles.toml").exists()


@pytest.mark.requirement("X-77")
def test_saved_thresholds_are_the_old_ones_of_the_next_run(shell: Shell):
    saved = calibrate(shell, "--save", "--json").json
    file = shell.home / "festinger" / "profiles.toml"
    again = calibrate(shell, "--json").json

    assert saved["saved"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # The ledger of what was forgotten lies there too; nothing half-written does.
    assert {path.name for path in file.parent.iterdir()} - {"forgotten"} == {"profiles.toml"}
    assert {name: one["old"] for name, one in again["thresholds"].items()} == {
        name: one["new"] for name, one in saved["thresholds"].items()
    }


@pytest.mark.requirement("X-77", "M-26")
def test_people_read_old_and_new_what_both_do_and_the_curve(shell: Shell):
    said = calibrate(shell)

    assert said.code == 0
    assert "same: never by vectors alone -> " in said.out
    assert "  before: nothing is decided by vectors alone\n  after:  precision " in said.out
    assert ", recall " in said.out
    assert ", F1 " in said.out
    assert "Not measured, and as it was:\n  subject: too few names" in said.out
    assert "cosine  precision  recall  false merges" in said.out
    assert "`--save`" in said.err


@pytest.mark.requirement("X-77", "M-26")
def test_without_a_file_the_bundled_pairs_measure_every_threshold(shell: Shell):
    told = shell("calibrate", "--embedder", "hashed:", "--json").json

    assert set(told["thresholds"]) == {"same", "check", "subject", "censor"}
    assert told["left"] == []
    for name in ("same", "check", "subject", "censor"):
        found = told["thresholds"][name]
        assert (found["new"] is None) == bool(found["said"]) == (found["after"] is None), name
    assert set(told["thresholds"]["check"]["after"]) == {"precision", "recall", "f1"}


@pytest.mark.requirement("X-77", "M-26")
def test_a_file_that_is_none_and_one_that_holds_too_little_are_refused(shell: Shell):
    (shell.home / "bad.jsonl").write_text('{"a": "x", "b": "y", "label": "same"}\n{"a": 1}\n')
    (shell.home / "few.jsonl").write_text('{"a": "x", "b": "y", "label": "same"}\n')
    bad, few = (shell("calibrate", "--embedder", "hashed:", "--data", f"{name}.jsonl") for name in ("bad", "few"))

    assert bad.code == few.code == shell("calibrate", "--data", "none.jsonl").code == 2
    assert "bad.jsonl:2" in bad.err
    assert "1 same and 0 different pairs are too few" in few.err


def test_what_is_written_is_read_back_and_lies_over_the_bundled_profile(tmp_path: Path):
    name = "onnx:all-minilm-l6-v2"
    own = EmbedderProfile(
        name=name,
        prefixes={EmbeddingPurpose.QUERY: 'say "\x7f\n'},
        readings={
            ThresholdName.SAME: ThresholdReading(value=None, data="ours"),
            ThresholdName.CHECK: ThresholdReading(value=0.5, data="ours"),
        },
        curve=((0.0, 0.5, 1.0, 1.0),),
    )
    save_profile(tmp_path / "profiles.toml", own)
    save_profile(tmp_path / "profiles.toml", EmbedderProfile(name="other:model", dimensions=3))

    assert parse_profiles(format_profiles([own]), source="x") == {name: own}
    assert set(load_measured_profiles(tmp_path / "profiles.toml")) == {name, "other:model"}
    installed = load_all_profiles(tmp_path / "profiles.toml")[name]
    assert installed.threshold(ThresholdName.CHECK) == 0.5
    assert installed.threshold(ThresholdName.SAME) is None
    assert installed.dimensions == 384
    assert installed.threshold(ThresholdName.NOVEL) == load_bundled_profiles()[name].threshold(ThresholdName.NOVEL)
