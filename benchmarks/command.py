"""`festinger bench`: how good and how fast it is, side by side with others, in one run."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
import typer

from benchmarks.catalogue import SUITES, chosen_suites, suite_of
from benchmarks.compare import falls, read_document
from benchmarks.data import Data
from benchmarks.floors import FILE, SMOKE, WHOLE, Fallen, raised, read_floors, written
from benchmarks.peer_systems import chosen_peers, named_pythons
from benchmarks.report import below_floor, document, headers, listing, missed, rows, unmeasured, wrong_items
from benchmarks.result import SystemStatus
from benchmarks.run import BenchRun, remove_leftovers, run_suites, throw_away_folder
from benchmarks.scorecard import write_report
from benchmarks.suite import PRODUCT, Bench, Suite
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.clock import system_stopwatch
from festinger.errors import BadInput

LIST, SHOW = "list", "show"

MISSED = 4
"""The exit code of `--check` when a goal or a floor is missed."""


def register(app: typer.Typer) -> None:
    command(app)(bench)


def default_peers_home() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else Path.home() / ".cache") / "festinger" / "peers"


Suites = Annotated[
    list[str] | None,
    typer.Argument(help="Suites to run; `list` names them; `show METRIC` prints what one was counted from."),
]
DataFolder = Annotated[Path | None, typer.Option("--data", help="Folder in which data sets lie.")]
Written = Annotated[
    str | None, typer.Option("--json", help="Write one JSON document to this file, or to stdout with `-`.")
]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write pages, plots, results and items into this folder.")
]
WithTexts = Annotated[bool, typer.Option("--with-texts", help="Let the items of a report hold their texts.")]
Repeat = Annotated[
    int | None, typer.Option("--repeat", min=1, max=100, help="Runs of what is timed; the median counts.")
]
Seed = Annotated[int, typer.Option("--seed", help="What generated texts and draws grow from.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many items of a kind: a quick look.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few requests only: shows that it runs.")]
Long = Annotated[bool, typer.Option("--long", help="Up to a million memories, ninety nights: about an hour.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="Quality only, on a fixed third of the data, against its floors.")]
Baselines = Annotated[str, typer.Option("--baselines", help="Plain ways beside us: all, none, or names.")]
Peers = Annotated[str, typer.Option("--peers", help="Others beside us: none, all, or names.")]
PeersHome = Annotated[Path | None, typer.Option("--peers-home", help="Folder for the environments of peers.")]
PeerPython = Annotated[
    list[str] | None, typer.Option("--peer-python", help="Use this Python for a peer, as `name=path`; may be repeated.")
]
Compare = Annotated[Path | None, typer.Option("--compare", help="JSON of an earlier run: tell what fell since.")]
Check = Annotated[bool, typer.Option("--check", help="Exit 4 if a goal or a floor is missed, or something fell.")]
RaiseFloors = Annotated[bool, typer.Option("--raise-floors", help="Keep what was reached as the new floors.")]
Wrong = Annotated[bool, typer.Option("--wrong", help="With `show`: only what went wrong.")]
OfSystem = Annotated[str, typer.Option("--system", help="With `show`: of whom.")]


async def bench(
    context: CommandContext,
    suites: Suites = None,
    data: DataFolder = None,
    as_json: Written = None,
    report: Report = None,
    with_texts: WithTexts = False,
    repeat: Repeat = None,
    seed: Seed = 0,
    limit: Limit = None,
    quick: Quick = False,
    long: Long = False,
    smoke: Smoke = False,
    baselines: Baselines = "all",
    peers: Peers = "none",
    peers_home: PeersHome = None,
    peer_python: PeerPython = None,
    compare: Compare = None,
    check: Check = False,
    raise_floors: RaiseFloors = False,
    wrong: Wrong = False,
    system: OfSystem = PRODUCT,
) -> int:
    """Measure quality, speed and memory on a throw-away store.

    Example: festinger bench extract loops --data ~/data --report out
    """
    names = suites or []
    if names == [LIST]:
        context.show({}, table=context.table(("suite", "metric", "unit", "goal", "what it is"), listing(SUITES)))
        return 0
    shown = _shown(names)
    chosen = [suite_of(shown)[0]] if shown else chosen_suites(names, smoke=smoke)
    asked = Bench(
        folder=Path(),
        seed=seed,
        repeat=repeat or 0,
        quick=quick,
        long=long,
        smoke=smoke,
        data=Data(folder=data, limit=limit, third=smoke),
        baselines=None if baselines == "all" else frozenset(baselines.split(",")) - {"none"},
        peers=chosen_peers(peers),
        peers_home=peers_home or default_peers_home(),
        peer_pythons=named_pythons(peer_python or []),
        say=context.say,
    )
    run = await _run(context, chosen, asked)
    if shown:
        _show_items(context, run, shown, system=system, only_wrong=wrong)
        return 0
    _write(context, run, as_json)
    if report is not None:
        write_report(run, report, with_texts=with_texts)
        context.say(f"The scorecard is in {report / 'scorecard.html'}.")
    if raise_floors:
        _raise_floors(run)
    return _told_of(context, _faults(run, compare), check=check)


def _told_of(context: CommandContext, faults: Sequence[str], *, check: bool) -> int:
    for fault in faults:
        context.say(fault)
    return MISSED if check and faults else 0


async def _run(context: CommandContext, suites: Sequence[Suite], asked: Bench) -> BenchRun:
    """Measure in a folder that is thrown away; what was not asked for is as the settings say."""
    if context.database is not None:
        raise BadInput(
            "A bench opens a throw-away store of its own.", hint="Leave `--database` out; nothing was touched."
        )
    now = context.settings().now.bench
    await remove_leftovers(Path(tempfile.gettempdir()), stopwatch=system_stopwatch)
    with throw_away_folder() as folder:
        settled = replace(
            asked,
            folder=folder,
            repeat=asked.repeat or now.repeat,
            data=asked.data if asked.data.folder or not now.data else replace(asked.data, folder=Path(now.data)),
            # A floor is met or not; how sure a number is takes longer than a smoke run has.
            bootstrap=0 if asked.smoke else now.bootstrap,
            peer_patience_s=now.peer_timeout_s,
        )
        return await run_suites(suites, settled)


def _shown(names: Sequence[str]) -> str:
    """The metric whose items are to be shown; nothing if none is."""
    if not names or names[0] != SHOW:
        return ""
    if len(names) != 2:
        raise BadInput("Which metric is to be shown?", hint="Write `festinger bench show METRIC`.")
    return suite_of(names[1])[1].name


def _faults(run: BenchRun, compare: Path | None) -> list[str]:
    """Why a check fails, a line each. A smoke run is held to its floors alone: goals are for whole runs."""
    goals = [] if run.bench.smoke else missed(run)
    found = [f"{one.metric.name}: the goal is {one.goal}, it is {one.value:.4g}." for one in goals]
    found += [_fallen(run, one) for one in below_floor(run, read_floors())]
    return [*found, *(falls(read_document(compare), document(run)) if compare else [])]


def _fallen(run: BenchRun, one: Fallen) -> str:
    items = wrong_items(run, one.metric.name)
    return f"{one}{'; wrong are ' + ', '.join(items) if items else ''}."


def _raise_floors(run: BenchRun) -> None:
    if run.bench.partial and not run.bench.smoke:
        raise BadInput("A partial run raises no floor.", hint="Leave `--limit` and `--quick` out.")
    floors = {name: dict(table) for name, table in read_floors().items()}
    kind = SMOKE if run.bench.smoke else WHOLE
    FILE.write_text(written({**floors, kind: raised(floors.get(kind, {}), run.results)}))


def _show_items(context: CommandContext, run: BenchRun, metric: str, *, system: str, only_wrong: bool) -> None:
    items = [
        item
        for tally in run.tallies
        if (tally.metric, tally.system) == (metric, system)
        for item in tally.items
        if not only_wrong or item.right is False
    ]
    if not items:
        context.say("No such item.")
    for item in items:
        verdict = "" if item.right is None else "right" if item.right else "wrong"
        told = "\n".join(f"  {name}: {text}" for name, text in item.told.items())
        context.show({}, text=f"{item.id} {verdict}\n{told}")


def _write(context: CommandContext, run: BenchRun, where: str | None) -> None:
    result = orjson.dumps(document(run), option=orjson.OPT_INDENT_2) + b"\n"
    if where == "-":
        typer.echo(result, nl=False)
        return
    if where is not None:
        Path(where).write_bytes(result)
    for suite in run.suites:
        context.say(f"{suite.name}: {suite.about}")
        context.show({}, table=context.table(headers(run, suite), rows(run, suite)))
    for one in run.systems:
        if one.status is not SystemStatus.RAN:
            context.say(f"{one.name}: {one.status}, {one.reason}.")
    if left := unmeasured(run):
        context.say(f"{len(left)} goals were not measured.")
    if run.machine.noisy and any(suite.timed for suite in run.suites):
        context.say("The machine was busy before the start: trust the ratios, not the figures.")
