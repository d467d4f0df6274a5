"""`festinger calibrate`: where the thresholds of an embedder lie."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel, ConfigDict, ValidationError

from festinger.app.providers import supplies_of
from festinger.app.wiring import App
from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.cli.progress import progress
from festinger.embedding.calibrate import Bars, Measured, Pair, Proposal, measure, profile_with, propose
from festinger.embedding.embedder import Embedder
from festinger.embedding.measured import FILE, keep_profile, measured_profiles
from festinger.embedding.opposition import (
    Direction,
    learn_direction,
    measure_opposition,
    profile_with_direction,
)
from festinger.embedding.profiles import CurvePoint, Profile, Threshold
from festinger.embedding.registry import open_embedder
from festinger.errors import BadInput

AT_ONCE = 200
"""Pairs that are measured between two looks at the progress."""

PROPOSED = (Threshold.SAME, Threshold.CHECK)

SHAPE = '{"a": "…", "b": "…", "label": "same"}, "different" or "negation"'


def register(app: typer.Typer) -> None:
    command(app)(calibrate)


async def calibrate(
    desk: Desk,
    data: Annotated[
        Path | None, typer.Option("--data", help="Labelled pairs, one JSON object a line.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Another one than the settings choose.")
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Use the new thresholds from the next start.")] = False,
) -> None:
    """Propose thresholds from pairs of texts. Without `--save` nothing changes.

    Each line of the file is {"a": "…", "b": "…", "label": "same"}, or "different". With lines whose label is
    "negation", because the second text denies the first, the direction of negation is learnt too.

    Example: festinger calibrate --data pairs.jsonl
    """
    if data is None:
        raise BadInput(
            "Calibrating needs pairs of texts.", hint=f"Give `--data FILE` with lines like {SHAPE}."
        )
    pairs = read_pairs(data)
    async with desk.app() as app:
        chosen = embedder or app.settings.now.embedding.model
        opened = await open_embedder(chosen, supplies_of(app))
        try:
            proposal = propose(await _measured(desk, opened, pairs), Bars())
            direction = await _direction(opened, pairs)
        finally:
            await opened.close()
        file = app.home / FILE
        new = _profile(app, opened, proposal, direction, data=data.name)
        if save:
            keep_profile(file, new)
    desk.show(_record(opened.profile, new, proposal, saved=save), text=_text(opened.profile, new, proposal))
    saved = (
        f"Saved to {file}; in force from the next start."
        if save
        else "Nothing was changed; `--save` keeps it."
    )
    desk.say(saved)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    a: str
    b: str
    label: Literal["same", "different", "negation"]


def read_pairs(file: Path) -> list[Pair]:
    """The labelled pairs of a JSONL file; the first line that is none is named."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"`{file}` cannot be read: {error}.") from error
    return [_pair(line, at=f"{file}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _pair(line: str, *, at: str) -> Pair:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(f"{at} is no pair: {fault['msg']}.", hint=f"Each line is {SHAPE}.") from error
    # A negation is told by the guards before any vector is asked, so it says nothing about the thresholds.
    denies = read.label == "negation"
    return Pair(a=read.a, b=read.b, same=read.label == "same", guarded=denies, negation=denies)


async def _measured(desk: Desk, embedder: Embedder, pairs: Sequence[Pair]) -> list[Measured]:
    found: list[Measured] = []
    with progress(desk, "Measuring pairs") as report:
        for start in range(0, len(pairs), AT_ONCE):
            found += await measure(embedder, pairs[start : start + AT_ONCE])
            report(len(found), len(pairs), "")
    return found


async def _direction(embedder: Embedder, pairs: Sequence[Pair]) -> Direction | None:
    """The direction of negation, where there are negations to learn it from."""
    if not any(pair.negation for pair in pairs):
        return None
    return learn_direction(await measure_opposition(embedder, pairs))


def _profile(
    app: App, embedder: Embedder, proposal: Proposal, direction: Direction | None, *, data: str
) -> Profile:
    """What is kept: what was measured now over whatever was measured here before, and nothing that came bundled."""
    before = measured_profiles(app.home / FILE).get(embedder.name, Profile(name=embedder.name))
    today = app.tools.clock().date()
    new = profile_with(before, proposal, data=f"{data}, {proposal.pairs} pairs", at=today, bars=Bars())
    if direction is None:
        return new
    return profile_with_direction(new, direction, data=f"{data}, {direction.pairs} near pairs", at=today)


def _record(old: Profile, new: Profile, proposal: Proposal, *, saved: bool) -> dict[str, Any]:
    return {
        "embedder": new.name,
        "pairs": proposal.pairs,
        "auc": round(proposal.auc, 4),
        "thresholds": {
            name: {"old": old.threshold(name), "new": new.threshold(name)} for name in _proposed(new)
        },
        "curve": [
            dict(zip(("cosine", "precision", "recall", "false_merges"), point, strict=True))
            for point in new.curve
        ],
        "saved": saved,
    }


def _text(old: Profile, new: Profile, proposal: Proposal) -> str:
    return "\n".join(
        [
            f"{new.name}: {proposal.pairs} pairs, AUC {proposal.auc:.4f}",
            *(f"{name}: {_number(old, name)} -> {_number(new, name)}" for name in _proposed(new)),
            *_opposition(new),
            "",
            "cosine  precision  recall  false merges",
            *_drawn(new.curve),
        ]
    )


def _proposed(new: Profile) -> tuple[Threshold, ...]:
    """The thresholds that were measured."""
    return (*PROPOSED, *((Threshold.OPPOSITION,) if Threshold.OPPOSITION in new.readings else ()))


def _opposition(new: Profile) -> Iterator[str]:
    """How well the direction of negation did on pairs that it had not seen."""
    if (reading := new.readings.get(Threshold.OPPOSITION)) is not None:
        yield f"direction of negation: {reading.how}"


def _number(profile: Profile, name: Threshold) -> str:
    value = profile.threshold(name)
    return "never by vectors alone" if value is None else f"{value:.4f}"


def _drawn(curve: Sequence[CurvePoint]) -> Iterator[str]:
    for cosine, precision, recall, false_merges in curve:
        yield f"{cosine:6.2f}  {precision:9.3f}  {recall:6.3f}  {false_merges:12.3f}"
