"""What a program gets from `import festinger`, and that the import does nothing else."""

import importlib
import json
import subprocess
import sys
from typing import Any

import pytest

PUBLIC = (
    "Censor",
    "Episode",
    "Event",
    "FestingerError",
    "Kind",
    "Learned",
    "Memory",
    "Origin",
    "Proposal",
    "Settings",
    "Verdict",
    "Weight",
    "Why",
    "__version__",
    "open",
)
"""The names of the public door. It grows to the twenty of U-01 as the rooms behind them are built."""

HEAVY = frozenset(["anthropic", "google.genai", "mcp", "onnxruntime", "openai", "pydantic_ai", "typer", "uvicorn"])
"""Libraries that only some doors need; importing the package must not wait for them."""

WATCHED_IMPORT = """
import json, logging, os, sys, sysconfig

seen = {"opened": [], "asked": [], "started": []}
homes = tuple(os.path.realpath(p) for p in [*sysconfig.get_paths().values(), sys.base_prefix, sys.prefix])
OURS = "festinger"

def by_us():
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") in ("os", "__main__", "_collections_abc"):
        frame = frame.f_back
    return frame and frame.f_globals.get("__name__", "").partition(".")[0] == OURS

def hook(event, given):
    if event == "open" and isinstance(given[0], (str, bytes)):
        path = os.fsdecode(given[0])
        if not path.endswith((".py", ".pyc")) and not os.path.realpath(path).startswith(homes):
            seen["opened"].append(path)
    if event.split(".")[0] in ("socket", "subprocess") and event not in ("socket.__new__", "socket.gethostname"):
        seen["started"].append(event)

class Watched(type(os.environ)):
    def __getitem__(self, name):
        if by_us():
            seen["asked"].append(name)
        return super().__getitem__(name)
    def __iter__(self):
        if by_us():
            seen["asked"].append("*")
        return super().__iter__()

os.environ.__class__ = Watched
before = (logging.root.level, list(logging.root.handlers))
sys.addaudithook(hook)
import festinger
configured = "structlog" in sys.modules and sys.modules["structlog"].is_configured()
print(json.dumps({**seen, "logging_touched": before != (logging.root.level, logging.root.handlers),
                  "structlog_configured": configured, "modules": sorted(sys.modules)}))
"""


def watched_import() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", WATCHED_IMPORT], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.requirement("X-111")
def test_the_public_names_are_exactly_these():
    assert tuple(sorted(importlib.import_module("festinger").__all__)) == PUBLIC


@pytest.mark.requirement("X-111")
def test_every_public_name_can_be_had():
    door = importlib.import_module("festinger")

    assert [name for name in PUBLIC if not hasattr(door, name)] == []


def test_importing_opens_nothing_and_reads_no_environment():
    seen = watched_import()

    assert (seen["opened"], seen["started"], seen["asked"]) == ([], [], [])


def test_importing_configures_no_logging():
    seen = watched_import()

    assert not seen["logging_touched"]
    assert not seen["structlog_configured"]


def test_importing_does_not_wait_for_what_only_some_doors_need():
    assert HEAVY & set(watched_import()["modules"]) == set()
