"""The suite `loops`: how well and cheaply loops are detected, and whether honest work is left alone.

Agents and replies written for it go through the real proxy (`loop_guard`). In addition: public texts that
loop and ordinary replies (`loop_streams`), traces of agents and chats of people (`loop_traces`), and the cost
(`loop_costs`), each with plain baselines. Ordinary replies are what assistants said in public chats, and
pieces of Python's own library, fenced as in a reply: code repeats itself and is no loop.
"""

import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks import loop_costs, loop_streams, loop_traces
from benchmarks.data import Data, one_of
from benchmarks.loop_baselines import zlib_limit, zlib_ratio
from benchmarks.loop_guard import LoopGuardResult, Row, guarded_proxy, read_rows, treat_all
from benchmarks.loop_streams import CUTS, EXACT_PERIOD, NOTICES, ZLIB_TAIL, LoopStreamText, phrase_of
from benchmarks.loop_traces import LENGTH, REPEAT_COUNT, Trace, chat_of, trace_of
from benchmarks.result import BenchMetric, GoalOp, Sample, System, SystemKind, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.settings.tree import LoopSettings

CODEREPETEVAL, TAU, BEAM, TRAIL = "coderepeteval", "tau_airline", "beam100k", "trail"

SOURCES, LABELS, ROLES = ("real", "synthetic"), ("loop", "normal"), ("user", "assistant")

HALVES = ("dev", "held")
"""One half was for development; the other was only ever measured."""

PIECE = 4_000
"""Characters of one piece of code."""

TIMED_EVERY = 10
"""One in this many ordinary replies is timed."""

METRICS: Sequence[BenchMetric] = (
    BenchMetric(
        name="loops.real.recall",
        unit="share",
        about="looping outputs of models that are noticed",
        goal=at_least(0.88),
        beside=NOTICES,
    ),
    BenchMetric(
        name="loops.synthetic.recall",
        unit="share",
        about="made-up loops that are noticed",
        goal=at_least(0.95),
        beside=NOTICES,
    ),
    BenchMetric(
        name="loops.synthetic.recall_shown",
        unit="share",
        about="the same, of those that say their phrase three times",
        better=GoalOp.AT_LEAST,
        beside=NOTICES,
    ),
    BenchMetric(name=NOTICES, unit="share", about="ordinary replies that are noticed", goal=at_most(0.005)),
    BenchMetric(name=CUTS, unit="share", about="ordinary replies that are cut", goal=at_most(0.001)),
    # No floor is kept for it: every Python brings another library.
    BenchMetric(name="loops.false_alarms.code", unit="share", about="pieces of code that are noticed (less is better)"),
    BenchMetric(
        name="trail.auroc",
        unit="share",
        about="traces of wasted effort ranked above others, by the highest evidence",
        goal=at_least(0.78),
        beside="tau.runs_flagged",
    ),
    BenchMetric(
        name="tau.runs_flagged", unit="share", about="ordinary chats that rise above level 0", goal=at_most(0.03)
    ),
    *(
        metric
        for half in HALVES
        for metric in (
            BenchMetric(
                name=f"agents.{half}.nudged",
                unit="share",
                about=f"honest agents that are told of a loop ({half})",
                goal=at_most(0.0114),
            ),
            BenchMetric(
                name=f"agents.{half}.stopped",
                unit="share",
                about=f"honest agents that are stopped ({half})",
                goal=at_most(0),
            ),
            BenchMetric(
                name=f"agents.{half}.broken",
                unit="share",
                about=f"stuck agents that are told or stopped ({half})",
                goal=at_least(0.9),
                beside=f"agents.{half}.nudged",
            ),
            BenchMetric(
                name=f"agents.{half}.broken_by_stop",
                unit="share",
                about=f"stuck agents that are stopped within their few steps ({half})",
            ),
            BenchMetric(
                name=f"streams.{half}.honest_cut",
                unit="share",
                about=f"honest repetitive replies that are cut ({half})",
                goal=at_most(0),
            ),
            BenchMetric(
                name=f"streams.{half}.cut",
                unit="share",
                about=f"degenerate replies that are cut ({half})",
                goal=at_least(0.8),
                beside=f"streams.{half}.honest_cut",
            ),
            BenchMetric(
                name=f"streams.{half}.delay",
                unit="chars",
                about=f"from where a reply degenerates to the cut, median ({half})",
                goal=at_most(4_000),
            ),
        )
    ),
    *loop_costs.METRICS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sets:
    """Everything that is read."""

    looping: Sequence[LoopStreamText]
    ordinary: Sequence[LoopStreamText]
    code: Sequence[LoopStreamText]
    traces: Sequence[Trace]
    chats: Sequence[Trace]
    agents: Sequence[Row]
    replies: Sequence[Row]


async def measure(bench: Bench) -> SuiteResult:
    settings, sets = LoopSettings(), read(bench.data)
    bench.say("Streaming texts and reading traces.")
    found = loop_streams.found_in([*sets.looping, *sets.ordinary, *sets.code], settings.stream)
    ours = [
        *loop_streams.of_the_product(sets.looping, sets.ordinary, found),
        loop_streams.noticed("loops.false_alarms.code", sets.code, found),
        loop_traces.of_the_product(sets.traces),
        loop_traces.flagged(sets.chats, settings),
    ]
    limit = zlib_limit([zlib_ratio(text.text) for text in sets.ordinary])
    theirs = _baselines(sets, bench, limit=limit)
    bench.say("Driving agents and replies through the proxy.")
    async with guarded_proxy() as proxy:
        treated = await treat_all(proxy, sets.agents)
        cuts = {row["id"]: await proxy.stream(row["text"]) for row in sets.replies}
    ours += [*_agents(sets.agents, treated), *_replies(PRODUCT, sets.replies, cuts)]
    return SuiteResult(
        tallies=[*ours, *theirs],
        systems=[System(name=name, kind=SystemKind.BASELINE) for name in dict.fromkeys(one.system for one in theirs)],
        samples=[*_delays(sets.replies, cuts), *_costs(sets, settings, bench)],
    )


def _agents(agents: Sequence[Row], treated: Mapping[str, LoopGuardResult]) -> list[MetricTally]:
    """The results of the agents of each half."""
    found = []
    for half in HALVES:
        honest = [row for row in agents if (row["half"], row["label"]) == (half, "honest")]
        stuck = [row for row in agents if (row["half"], row["label"]) == (half, "loop")]
        told = {row["id"]: {"category": row["category"], "found": str(treated[row["id"]])} for row in agents}
        nudged = {row["id"]: treated[row["id"]].nudged is not None for row in agents}
        stopped = {row["id"]: treated[row["id"]].stopped is not None for row in agents}
        items: dict[str, list[TallyItem]] = {
            "nudged": [loop_streams.alarm(row["id"], nudged[row["id"]], told[row["id"]]) for row in honest],
            "stopped": [loop_streams.alarm(row["id"], stopped[row["id"]], told[row["id"]]) for row in honest],
            "broken": [
                counted(row["id"], nudged[row["id"]] or stopped[row["id"]], told=told[row["id"]]) for row in stuck
            ],
            "broken_by_stop": [counted(row["id"], stopped[row["id"]], told=told[row["id"]]) for row in stuck],
        }
        found += [
            MetricTally(metric=f"agents.{half}.{name}", system=PRODUCT, items=several)
            for name, several in items.items()
        ]
    return found


def _replies(system: str, replies: Sequence[Row], cuts: Mapping[str, object]) -> list[MetricTally]:
    """Which replies of each half are cut, or would be by a baseline."""
    found = []
    for half in HALVES:
        own = [row for row in replies if row["half"] == half]
        is_cut = {row["id"]: cuts[row["id"]] is not None for row in own}
        honest = [
            loop_streams.alarm(row["id"], is_cut[row["id"]], {"kind": row["kind"]})
            for row in own
            if row["label"] == "honest"
        ]
        degenerate = [
            counted(row["id"], is_cut[row["id"]], told={"kind": row["kind"]}) for row in own if row["label"] != "honest"
        ]
        found += [
            MetricTally(metric=f"streams.{half}.honest_cut", system=system, items=honest),
            MetricTally(metric=f"streams.{half}.cut", system=system, items=degenerate),
        ]
    return found


def _delays(replies: Sequence[Row], cuts: Mapping[str, int | None]) -> list[Sample]:
    found = []
    for half in HALVES:
        late = [
            at - row["degenerate_from"]
            for row in replies
            if row["half"] == half and row["label"] != "honest" and (at := cuts[row["id"]]) is not None
        ]
        if late:
            found.append(Sample(metric=f"streams.{half}.delay", system=PRODUCT, value=median(late), n=len(late)))
    return found


def _baselines(sets: Sets, bench: Bench, *, limit: float) -> list[MetricTally]:
    found: list[MetricTally] = []
    if bench.wants(EXACT_PERIOD):
        found += loop_streams.of_exact_period(sets.looping, sets.ordinary)
    if bench.wants(ZLIB_TAIL):
        found += loop_streams.of_zlib_tail(sets.looping, sets.ordinary, limit)
        light = {row["id"]: True if zlib_ratio(row["text"]) < limit else None for row in sets.replies}
        found += _replies(ZLIB_TAIL, sets.replies, light)
    if bench.wants(REPEAT_COUNT):
        found.append(loop_traces.of_repeat_count(sets.traces))
    if bench.wants(LENGTH):
        found.append(loop_traces.of_length(sets.traces))
    return found


def _costs(sets: Sets, settings: LoopSettings, bench: Bench) -> list[Sample]:
    """Times of as many runs as requested; none in a smoke run."""
    texts = [text.text for text in sets.ordinary[::TIMED_EVERY]]
    history = loop_costs.long_history()
    return [
        sample
        for _ in range(0 if bench.smoke else bench.repeat)
        for sample in loop_costs.costs(texts, history, stopwatch=bench.stopwatch, settings=settings)
    ]


def read(data: Data) -> Sets:
    """All sets, or the part of each that counts in this run."""
    tau = data.sampled(data.rows(TAU, "traces", needs=("id", "steps")), by=lambda row: str(row["id"]))
    # So few traces that a third of them would say nothing.
    trail = data.rows(TRAIL, "traces", needs=("id", "label", "steps"))
    return Sets(
        looping=data.sampled(_looping(data), by=lambda text: text.id),
        ordinary=[*_said(tau), *data.sampled(_told(data), by=lambda text: text.id)],
        code=data.sampled(ordinary_code(), by=lambda text: text.id),
        traces=[
            Trace(
                id=str(row["id"]),
                history=trace_of(row["steps"]),
                is_loop=one_of(row, "label", LABELS, file=f"{TRAIL}/traces") == "loop",
            )
            for row in trail[: data.limit]
        ],
        chats=[Trace(id=str(row["id"]), history=chat_of(row["steps"])) for row in tau],
        agents=data.sampled(read_rows("loop_agents"), by=lambda row: str(row["id"])),
        replies=data.sampled(read_rows("loop_agent_streams"), by=lambda row: str(row["id"])),
    )


def _looping(data: Data) -> list[LoopStreamText]:
    file = f"{CODEREPETEVAL}/texts"
    return [
        LoopStreamText(
            id=str(row["id"]),
            text=row["text"],
            source=one_of(row, "source", SOURCES, file=file),
            phrase=phrase_of(row.get("repetition")),
        )
        for row in data.rows(CODEREPETEVAL, "texts", needs=("id", "text", "source"))
    ]


def _said(chats: Sequence[dict[str, Any]]) -> list[LoopStreamText]:
    """What the assistant of a chat said."""
    return [
        LoopStreamText(id=f"{chat['id']}.{number}", text=step["content"])
        for chat in chats
        for number, step in enumerate(chat["steps"])
        if step["role"] == "assistant" and step["content"]
    ]


def _told(data: Data) -> list[LoopStreamText]:
    """What the assistant of a long conversation said."""
    return [
        LoopStreamText(id=f"{row['group']}.{row['id']}", text=row["text"])
        for row in data.rows(BEAM, "corpus", needs=("group", "id", "role", "text"))
        if one_of(row, "role", ROLES, file=f"{BEAM}/corpus") == "assistant"
    ]


def ordinary_code() -> list[LoopStreamText]:
    """Pieces of Python's own library, a fixed selection."""
    chance = Random(0)  # noqa: S311 - a place in a file, not a secret
    pieces = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) > 2 * PIECE and not path.name.startswith("_sysconfig"):
            start = text.find("\n", chance.randrange(len(text) - PIECE)) + 1
            piece = text[start : start + PIECE]
            pieces.append(LoopStreamText(id=path.name, text=f"```python\n{piece}\n```\n"))
    return pieces


LOOPS = Suite(
    name="loops",
    about="Texts that loop, agents that go round in circles, and ordinary ones that do not.",
    metrics=METRICS,
    measure=measure,
    needs=(CODEREPETEVAL, TAU, BEAM, TRAIL),
    timed=False,
)
