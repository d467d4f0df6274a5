"""How well and how fast does the loop detector work, on data that nobody here wrote?

    python benchmarks/loops.py DATA

DATA holds the folders `coderepeteval`, `tau_airline`, `beam100k` and `trail` in the plain shapes of the scorecard.
Prints one JSON document: the product and the baselines side by side, what was flagged, and what it cost.
"""

import argparse
import gzip
import json
import random
import sysconfig
from pathlib import Path
from typing import Any

from festinger.bench.loop_baselines import zlib_ratio
from festinger.bench.loops import (
    Looping,
    Trace,
    chat_of,
    costs,
    flagged,
    phrase_of,
    share,
    shipped,
    streams,
    trace_of,
    traces,
)
from festinger.clock import system_stopwatch
from festinger.proxy.loops.message import Call, Message, Role
from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings()
PIECE = 4_000


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    packed = folder / f"{name}.jsonl.gz"
    text = (
        gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / f"{name}.jsonl").read_bytes()
    )
    return [json.loads(line) for line in text.splitlines()]


def long_history() -> list[Message]:
    """Two hundred messages of an agent at work."""
    history = [Message(role=Role.USER, text="Mend the build, please.", by_person=True)]
    for n in range(100):
        call = Call(name="read_file", arguments=json.dumps({"path": f"src/{n}.py", "lines": 40}))
        history.append(Message(role=Role.ASSISTANT, calls=(call,)))
        history.append(Message(role=Role.TOOL, text=f"def f_{n}(): ...\n" * 60))
    return history


def ordinary_code() -> list[str]:
    """Pieces of Python's own library, fenced as a reply would hold them: code that nobody calls a loop."""
    chance = random.Random(0)
    pieces = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) > 2 * PIECE and not path.name.startswith("_sysconfig"):
            start = text.find("\n", chance.randrange(len(text) - PIECE)) + 1
            pieces.append(f"```python\n{text[start : start + PIECE]}\n```\n")
    return pieces


def report(data: Path) -> dict[str, Any]:
    looping = [
        Looping(id=row["id"], text=row["text"], source=row["source"], phrase=phrase_of(row["repetition"]))
        for row in rows(data / "coderepeteval", "texts")
    ]
    chats = rows(data / "tau_airline", "traces")
    ordinary = [
        step["content"]
        for chat in chats
        for step in chat["steps"]
        if step["role"] == "assistant" and step["content"]
    ] + [row["text"] for row in rows(data / "beam100k", "corpus") if row["role"] == "assistant"]
    agents = [
        Trace(id=row["id"], history=trace_of(row["steps"]), is_loop=row["label"] == "loop")
        for row in rows(data / "trail", "traces")
    ]
    runs = [Trace(id=str(chat["id"]), history=chat_of(chat["steps"])) for chat in chats]
    raised = flagged(runs, SETTINGS)
    noticed = [
        {"text": text[:80], "found": [f"{one.rule} {one.severity} at {one.at}" for one in found]}
        for text in ordinary
        if (found := shipped(text, SETTINGS.stream))
    ]
    measured, code = streams(looping, ordinary, SETTINGS.stream), ordinary_code()
    return {
        "streams": measured,
        "traces": traces(agents, SETTINGS),
        "tau.runs_flagged": share(run.id in raised for run in runs),
        "flagged": raised,
        "false_alarms": noticed,
        "loops.false_alarms.code": share(bool(shipped(text, SETTINGS.stream)) for text in code),
        "zlib_tail.false_alarms.code": share(
            zlib_ratio(text) < measured["zlib_tail"]["limit"] for text in code
        ),
        "costs": costs(ordinary[::10], long_history(), stopwatch=system_stopwatch, settings=SETTINGS),
        "n": {
            "looping": len(looping),
            "ordinary": len(ordinary),
            "traces": len(agents),
            "runs": len(runs),
            "code": len(code),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    print(json.dumps(report(parser.parse_args().data), indent=1))


if __name__ == "__main__":
    main()
