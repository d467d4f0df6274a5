"""`festinger bench`: how fast it is, side by side with others, in one run."""

import os
from pathlib import Path
from typing import Annotated

import orjson
import typer

from festinger.bench.catalogue import SUITES, chosen_suites
from festinger.bench.peers import chosen_peers, named_pythons
from festinger.bench.report import document, headers, listing, missed, rows, unmeasured
from festinger.bench.result import Status
from festinger.bench.run import Run, run_suites, throw_away_folder
from festinger.bench.suite import Bench
from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.errors import BadInput

LIST = "list"

MISSED = 4
"""The exit code of `--check` when a goal is missed."""


def register(app: typer.Typer) -> None:
    command(app)(bench)


def default_peers_home() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else Path.home() / ".cache") / "festinger" / "peers"


async def bench(
    desk: Desk,
    suites: Annotated[list[str] | None, typer.Argument(help="Suites to run; `list` names them.")] = None,
    as_json: Annotated[
        str | None,
        typer.Option("--json", help="Write one JSON document to this file, or to stdout with `-`."),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", min=1, max=100, help="Runs; the median counts.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="What generated texts grow from.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A few requests only: shows that it runs.")] = False,
    peers: Annotated[str, typer.Option("--peers", help="Others beside us: none, all, or names.")] = "none",
    peers_home: Annotated[
        Path | None, typer.Option("--peers-home", help="Folder for the environments of peers.")
    ] = None,
    peer_python: Annotated[
        list[str] | None,
        typer.Option("--peer-python", help="Use this Python for a peer, as `name=path`; may be repeated."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit 4 if a goal is missed.")] = False,
) -> int:
    """Measure speed, memory and start on a throw-away store.

    Example: festinger bench foundation --peers all --json result.json
    """
    names = suites or []
    if names == [LIST]:
        metrics = [metric for suite in SUITES.values() for metric in suite.metrics]
        desk.show({}, table=desk.table(("metric", "unit", "goal", "what it is"), listing(metrics)))
        return 0
    if desk.database is not None:
        raise BadInput(
            "A bench opens a throw-away store of its own.",
            hint="Leave `--database` out; nothing was touched.",
        )
    chosen = chosen_suites(names)
    with throw_away_folder() as folder:
        asked = Bench(
            folder=folder,
            seed=seed,
            repeat=repeat or desk.settings().now.bench.repeat,
            quick=quick,
            peers=chosen_peers(peers),
            peers_home=peers_home or default_peers_home(),
            peer_pythons=named_pythons(peer_python or []),
            say=desk.say,
        )
        run = await run_suites(chosen, asked)
    _write(desk, run, as_json)
    return MISSED if check and missed(run) else 0


def _write(desk: Desk, run: Run, where: str | None) -> None:
    written = orjson.dumps(document(run), option=orjson.OPT_INDENT_2) + b"\n"
    if where == "-":
        typer.echo(written, nl=False)
        return
    if where is not None:
        Path(where).write_bytes(written)
    desk.show({}, table=desk.table(headers(run), rows(run)))
    for system in run.systems:
        if system.status is not Status.RAN:
            desk.say(f"{system.name}: {system.status}, {system.reason}.")
    if left := unmeasured(run):
        desk.say(f"{len(left)} goals were not measured.")
    if run.machine.noisy:
        desk.say("The machine was busy before the start: trust the ratios, not the figures.")
