"""Which thresholds follow from examples: each class of pairs its own, and what cannot be measured is said."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from festinger.embedding.embedder import Vector
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, ThresholdName, ThresholdReading
from festinger.errors import BadInput
from festinger.judge.calibration import (
    CalibrationExample,
    CalibrationResult,
    CalibrationTargets,
    PairLabel,
    apply_calibration,
    calibrate_thresholds,
    measure_examples,
)

MONDAY = date(2026, 1, 5)
BEFORE = EmbedderProfile(
    name="told:",
    readings={
        name: ThresholdReading(value=value, data="before")
        for name, value in {"same": 0.5, "check": 0.5, "subject": 0.95, "censor": 0.2, "novel": 0.4}.items()
        for name in [ThresholdName(name)]
    },
)


class Told:
    """An embedder that places the second text of a pair as near to the first as its last word says."""

    profile = BEFORE
    name = "told:"
    dimensions = 2

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        assert purpose is EmbeddingPurpose.COMPARE
        return [self._vector(text) for text in texts]

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> Vector:
        cosine = said_in(text)
        return np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)


LETTERS = "bcdfghjklm"
"""Digits as a word spells them: a number would be parted by the guards."""


def word_of(cosine: float) -> str:
    return "x" + "".join(LETTERS[int(digit)] for digit in f"{round(cosine * 10_000):05d}")


def said_in(text: str) -> float:
    """The cosine that the last word spells; a text that spells none is the first of a pair."""
    word = text.rpartition(" x")[2] if " x" in text else ""
    return int("".join(str(LETTERS.index(letter)) for letter in word)) / 10_000 if word else 1.0


def placed(
    label: PairLabel, *cosines: float, a: str = "The tea is warm", b: str = "The garden smells of roses"
) -> list[CalibrationExample]:
    return [CalibrationExample(a=a, b=f"{b} {word_of(cosine)}", label=label) for cosine in cosines]


def evenly(low: float, high: float, count: int = 60) -> list[float]:
    return [low + (high - low) * place / (count - 1) for place in range(count)]


STATEMENTS = [*placed(PairLabel.SAME, *evenly(0.72, 0.99)), *placed(PairLabel.UNRELATED, *evenly(0.1, 0.8))]
NAMES = [*placed(PairLabel.SAME_SUBJECT, *evenly(0.6, 0.99)), *placed(PairLabel.OTHER_SUBJECT, *evenly(0.0, 0.5))]
CENSORS = [*placed(PairLabel.CENSORED, *evenly(0.3, 0.9)), *placed(PairLabel.ALLOWED, *evenly(0.0, 0.6))]


async def found_in(*examples: CalibrationExample) -> CalibrationResult:
    examined = await measure_examples(Told(), examples, report=lambda _pairs: None)
    return calibrate_thresholds(examined, BEFORE, bars=CalibrationTargets())


@pytest.mark.requirement("M-26")
async def test_every_threshold_comes_from_its_own_examples():
    found = {each.name: each for each in (await found_in(*STATEMENTS, *NAMES, *CENSORS)).findings}

    assert {name: each.after for name, each in found.items()} == {
        ThresholdName.SAME: pytest.approx(0.8, abs=1e-3),
        ThresholdName.CHECK: pytest.approx(0.7337, abs=1e-3),
        ThresholdName.SUBJECT: pytest.approx(0.6198, abs=1e-3),
        ThresholdName.CENSOR: pytest.approx(0.6, abs=1e-3),
    }
    assert {name: each.before for name, each in found.items()} == {name: BEFORE.threshold(name) for name in found}


@pytest.mark.requirement("M-26")
async def test_what_a_threshold_does_to_the_examples_is_told_before_and_after():
    same, check, *_ = (await found_in(*STATEMENTS)).findings

    assert same.did is not None
    assert same.does is not None
    assert same.did.precision < same.does.precision == 1.0
    assert same.did.recall == 1.0 > same.does.recall > 0.6
    assert check.does is not None
    assert check.does.recall == pytest.approx(0.95, abs=0.01)
    assert check.does.f1 == pytest.approx(
        2 * check.does.precision * check.does.recall / (check.does.precision + check.does.recall)
    )


@pytest.mark.requirement("M-26")
async def test_pairs_that_a_guard_parts_do_not_raise_same_and_count_for_check():
    guarded = placed(PairLabel.CONTRADICTS, *[0.98] * 30, a="The server has 16 GB", b="The server has 32 GB")

    plain, with_guarded = await found_in(*STATEMENTS), await found_in(*STATEMENTS, *guarded)

    assert with_guarded.proposal.same == plain.proposal.same
    same, check, *_ = with_guarded.findings
    assert same.does is not None
    assert check.does is not None
    assert same.does.precision == 1.0
    assert check.does.precision < plain.findings[1].does.precision  # type: ignore[union-attr]


@pytest.mark.requirement("M-26")
async def test_where_no_value_reaches_the_bar_there_is_none_and_it_is_said():
    hopeless = [*placed(PairLabel.SAME, *evenly(0.5, 0.8)), *placed(PairLabel.UNRELATED, *evenly(0.5, 0.95))]
    alike = [*placed(PairLabel.SAME_SUBJECT, *evenly(0.5, 0.9)), *placed(PairLabel.OTHER_SUBJECT, *evenly(0.4, 0.9))]
    loud = [*placed(PairLabel.CENSORED, *evenly(0.1, 0.5)), *placed(PairLabel.ALLOWED, *evenly(0.1, 0.6))]

    found = await found_in(*hopeless, *alike, *loud)
    profile = apply_calibration(BEFORE, found, data="ours", at=MONDAY, bars=CalibrationTargets())

    said = {each.name: (each.after, each.said) for each in found.findings if each.name != ThresholdName.CHECK}
    assert {name: value for name, (value, _) in said.items()} == {
        ThresholdName.SAME: None,
        ThresholdName.SUBJECT: None,
        ThresholdName.CENSOR: None,
    }
    assert "vectors alone never confirm" in said[ThresholdName.SAME][1]
    assert "only equal names" in said[ThresholdName.SUBJECT][1]
    assert "only patterns" in said[ThresholdName.CENSOR][1]
    assert [profile.threshold(name) for name in said] == [None, None, None]


@pytest.mark.requirement("M-26")
@pytest.mark.parametrize("label", [PairLabel.SAME, PairLabel.UNRELATED])
async def test_fewer_than_fifty_pairs_of_a_class_are_refused(label: PairLabel):
    few = [each for each in STATEMENTS if each.label is label][:49]
    others = [each for each in STATEMENTS if each.label is not label]

    with pytest.raises(BadInput, match="too few"):
        await found_in(*few, *others)


@pytest.mark.requirement("M-26")
async def test_different_pairs_that_guards_part_say_nothing_about_vectors_and_are_refused_as_too_few():
    same = placed(PairLabel.SAME, *evenly(0.7, 0.99))
    guarded = placed(PairLabel.CONTRADICTS, *evenly(0.1, 0.8), a="It has 16 GB", b="It has 32 GB")

    with pytest.raises(BadInput, match="Only 0 different pairs"):
        await found_in(*same, *guarded)


async def test_what_there_are_too_few_examples_of_stays_as_it_was_and_is_said():
    found = await found_in(*STATEMENTS, *NAMES[:5])
    profile = apply_calibration(BEFORE, found, data="ours", at=MONDAY, bars=CalibrationTargets())

    assert [why.partition(":")[0] for why in found.left] == ["subject", "censor"]
    for name in (ThresholdName.SUBJECT, ThresholdName.CENSOR, ThresholdName.NOVEL):
        assert profile.readings[name] == BEFORE.readings[name]
    assert profile.readings[ThresholdName.SAME].data == "ours"


async def test_every_pair_is_reported_as_measured():
    told: list[int] = []
    await measure_examples(Told(), [*STATEMENTS, *STATEMENTS, *NAMES], report=told.append)

    assert told == [200, 40, 120]


async def test_the_profile_that_was_given_is_left_alone():
    found = await found_in(*STATEMENTS)
    apply_calibration(BEFORE, found, data="ours", at=MONDAY, bars=CalibrationTargets())

    assert replace(BEFORE) == BEFORE
    assert BEFORE.threshold(ThresholdName.SAME) == 0.5
