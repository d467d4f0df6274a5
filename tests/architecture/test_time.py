"""Time comes from the clock, chance from an injected source: nothing else asks the machine."""

import ast

import pytest
from tests.architecture.source import ROOT, Module, dotted, package_modules, parsed

CLOCK = "src/festinger/clock.py"

ASKS_THE_TIME = frozenset(
    [
        "datetime.now",
        "datetime.utcnow",
        "datetime.today",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "date.today",
        "datetime.date.today",
        "time.time",
        "time.time_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.localtime",
        "time.gmtime",
        "asyncio.get_running_loop().time",
        "asyncio.get_event_loop().time",
    ]
)
FROM_TIME = frozenset(
    ["time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "localtime", "gmtime"]
)


OWN = frozenset({"Random", "SystemRandom"})
"""Classes of `random`: whoever makes one has a source of their own, to be handed on."""


def readings_of_the_time(module: Module) -> list[str]:
    """Where a module asks for the time itself. `asyncio.Timeout.reschedule` takes nothing but the loop's own time."""
    excused = {id(part) for name, call in module.calls() if name.endswith(".reschedule") for part in ast.walk(call)}
    return [module.at(call) for name, call in module.calls() if name in ASKS_THE_TIME and id(call) not in excused] + [
        module.at(node) for node in module.nodes if _imports_from(node, "time") & FROM_TIME
    ]


def draws_of_global_chance(module: Module) -> list[str]:
    """Uses of the shared generator behind `random`; making an own one is fine."""
    return [
        module.at(node)
        for node in module.nodes
        if (isinstance(node, ast.Attribute) and dotted(node).startswith("random.") and node.attr not in OWN)
        or _imports_from(node, "random") - OWN
    ]


def _imports_from(node: ast.AST, module: str) -> set[str]:
    if isinstance(node, ast.ImportFrom) and node.module == module:
        return {alias.name for alias in node.names}
    return set()


def module_of(text: str) -> Module:
    return Module(path=ROOT / "src/festinger/it.py", text=text, tree=ast.parse(text))


@pytest.mark.requirement("X-02")
def test_only_the_clock_asks_the_system_for_the_time():
    found = [place for module in package_modules() if module.name != CLOCK for place in readings_of_the_time(module)]

    assert found == []


def test_the_clock_itself_would_be_noticed():
    assert len(readings_of_the_time(parsed(ROOT / CLOCK))) == 2


@pytest.mark.parametrize(
    "line",
    [
        "datetime.now(UTC)",
        "datetime.datetime.utcnow()",
        "time.monotonic()",
        "from time import perf_counter",
        "asyncio.get_running_loop().time()",
        "date.today()",
    ],
)
def test_each_way_to_ask_for_the_time_is_noticed(line: str):
    assert readings_of_the_time(module_of(line)) == ["src/festinger/it.py:1"]


def test_moving_a_timeout_may_read_the_loop_it_belongs_to():
    line = "timeout.reschedule(asyncio.get_running_loop().time() + 5)"

    assert readings_of_the_time(module_of(line)) == []


@pytest.mark.requirement("X-03")
def test_nothing_draws_from_the_global_source_of_chance():
    assert [place for module in package_modules() for place in draws_of_global_chance(module)] == []


@pytest.mark.parametrize("line", ["random.random()", "x = random.choice", "from random import shuffle"])
def test_each_draw_from_the_global_source_is_noticed(line: str):
    assert draws_of_global_chance(module_of(line)) == ["src/festinger/it.py:1"]


def test_an_own_source_of_chance_is_fine():
    assert draws_of_global_chance(module_of("from random import Random\nchance = random.Random(7)")) == []
