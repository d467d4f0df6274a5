"""`festinger calibrate`: find the thresholds of an embedder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import Report as Shown
from festinger.cli.terminal import show_progress
from festinger.embedding.profiles import FILE, CurvePoint
from festinger.judge.calibration import (
    BUNDLED,
    Report,
    ThresholdChange,
    ThresholdQuality,
    load_bundled_examples,
    read_examples,
)
from festinger.services.models import CalibrationReport, load_decided_examples
from festinger.services.models import calibrate as measured_by


def register(app: typer.Typer) -> None:
    command(app)(calibrate)


async def calibrate(
    context: CommandContext,
    data: Annotated[
        Path | None, typer.Option("--data", help="Labelled pairs, one JSON object a line; none takes the bundled ones.")
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Also the pairs that people decided in this space.")] = False,
    embedder: Annotated[str | None, typer.Option("--embedder", help="Another one than the settings choose.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Use the new thresholds from the next start.")] = False,
) -> None:
    """Propose thresholds from pairs of texts. Without `--save` nothing changes.

    Each line of the file is {"a": "…", "b": "…", "label": "same"}; other labels of two statements are "update",
    "contradicts", "refines", "unrelated", "negation" and "different", of two names "same_subject" and "other_subject",
    and of what a censor means and a text "censored" and "allowed".

    Example: festinger calibrate --data pairs.jsonl
    """
    examples = list(load_bundled_examples() if data is None else read_examples(data))
    source = BUNDLED if data is None else data.name
    async with context.app() as app:
        if mine:
            examples += await load_decided_examples(app, context.resolve_space_option(app))
        with show_progress(context, "Measuring pairs") as shown:
            measured = await measured_by(
                app,
                examples,
                data=f"{source} and what people decided" if mine else source,
                embedder=embedder,
                report=_accumulate_progress(shown, len(examples)),
                save=save,
            )
        file = app.home / FILE
    context.show(_record(measured, saved=save), text="\n".join(_text(measured)))
    kept = f"Saved to {file}; in force from the next start."
    context.say(kept if save else "Nothing was changed; `--save` keeps it.")


def _accumulate_progress(shown: Shown, total: int) -> Report:
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        shown(done, total, "")

    return report


def _record(measured: CalibrationReport, *, saved: bool) -> dict[str, Any]:
    found, new = measured.found, measured.new
    return {
        "embedder": new.name,
        "pairs": measured.examples,
        "auc": round(found.proposal.auc, 4),
        "thresholds": {each.name: _finding_record(each) for each in found.findings},
        "left": list(found.left),
        "curve": [
            dict(zip(("cosine", "precision", "recall", "false_merges"), point, strict=True)) for point in new.curve
        ],
        "saved": saved,
    }


def _finding_record(each: ThresholdChange) -> dict[str, Any]:
    return {
        "old": each.before,
        "new": each.after,
        "before": _point_record(each.did),
        "after": _point_record(each.does),
        "said": each.said,
    }


def _point_record(point: ThresholdQuality | None) -> dict[str, float] | None:
    if point is None:
        return None
    figures = {"precision": point.precision, "recall": point.recall, "f1": point.f1}
    return {name: round(figure, 4) for name, figure in figures.items()}


def _text(measured: CalibrationReport) -> Iterator[str]:
    found, new = measured.found, measured.new
    yield f"{new.name}: {measured.examples} pairs, AUC {found.proposal.auc:.4f}"
    for each in found.findings:
        yield from _threshold_change_lines(each)
    if found.left:
        yield "Not measured, and as it was:"
        yield from (f"  {why}" for why in found.left)
    yield ""
    yield "cosine  precision  recall  false merges"
    yield from _drawn(new.curve)


def _threshold_change_lines(each: ThresholdChange) -> Iterator[str]:
    yield f"{each.name}: {_number(each.before)} -> {_number(each.after)}"
    yield f"  before: {_format_point(each.did)}"
    yield f"  after:  {each.said or _format_point(each.does)}"


def _format_point(point: ThresholdQuality | None) -> str:
    if point is None:
        return "nothing is decided by vectors alone"
    return f"precision {point.precision:.3f}, recall {point.recall:.3f}, F1 {point.f1:.3f}"


def _number(value: float | None) -> str:
    return "never by vectors alone" if value is None else f"{value:.4f}"


def _drawn(curve: Sequence[CurvePoint]) -> Iterator[str]:
    for cosine, precision, recall, false_merges in curve:
        yield f"{cosine:6.2f}  {precision:9.3f}  {recall:6.3f}  {false_merges:12.3f}"
