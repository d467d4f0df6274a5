"""The habits of the suite itself: each test can fail, none sleeps, none is skipped in silence."""

import ast
import tomllib

import pytest
from tests.architecture.source import ROOT, Function, Module, dotted, suite_modules

LONGEST_PAUSE_S = 0.05
"""Between two looks at something that another process does; nothing can tell us sooner."""

ASSERTING = ("pytest.raises", "pytest.warns", "pytest.fail", "raises")
SKIPPING = ("pytest.skip", "pytest.xfail", "pytest.importorskip")
SKIP_MARKS = ("pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail")


def cases(module: Module) -> list[Function]:
    return [function for function in module.functions() if function.name.startswith("test_")]


def can_fail(function: Function, asserting: frozenset[str]) -> bool:
    """Whether the test asserts, itself or through a helper of its file that does."""
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and (name := dotted(node.func)) and _asserts(name, asserting))
        for node in ast.walk(function)
    )


def _asserts(name: str, asserting: frozenset[str]) -> bool:
    last = name.rpartition(".")[2]
    return name in ASSERTING or last.startswith("assert_") or last in asserting


def asserting_helpers(module: Module) -> frozenset[str]:
    return frozenset(
        function.name
        for function in module.functions()
        if not function.name.startswith("test_") and can_fail(function, frozenset())
    )


def silent_tests(module: Module) -> list[str]:
    helpers = asserting_helpers(module)
    return [f"{module.at(one)} {one.name}" for one in cases(module) if not can_fail(one, helpers)]


def sleeps(module: Module) -> list[str]:
    """Calls of a sleep, but for `sleep(0)`, which only lets others run, and short pauses of a loop that looks
    again whether something has happened: those wait for an event, not for time."""
    looking = {id(part) for loop in module.nodes if _looks_again(loop) for part in ast.walk(loop)}
    return [
        module.at(call)
        for name, call in module.calls()
        if name.rpartition(".")[2] == "sleep" and not _is_short(call, LONGEST_PAUSE_S if id(call) in looking else 0)
    ]


def _looks_again(node: ast.AST) -> bool:
    return isinstance(node, ast.While) and not isinstance(node.test, ast.Constant)


def _is_short(call: ast.Call, limit: float) -> bool:
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Constant) and isinstance(given.value, int | float) and given.value <= limit


def skips_without_reason(module: Module) -> list[str]:
    called = [
        module.at(call)
        for name, call in module.calls()
        if (name in SKIP_MARKS or name in SKIPPING) and not _has_reason(name, call)
    ]
    bare = [
        module.at(decorator)
        for function in module.functions()
        for decorator in function.decorator_list
        if dotted(decorator) in SKIP_MARKS and not isinstance(decorator, ast.Call)
    ]
    return called + bare


def _has_reason(name: str, call: ast.Call) -> bool:
    if any(keyword.arg == "reason" for keyword in call.keywords):
        return True
    return name in ("pytest.skip", "pytest.xfail", "pytest.mark.skip") and bool(call.args)


def module_of(text: str) -> Module:
    return Module(path=ROOT / "tests/test_it.py", text=text, tree=ast.parse(text))


@pytest.mark.requirement("X-114")
def test_every_test_can_fail():
    assert [place for module in suite_modules() for place in silent_tests(module)] == []


@pytest.mark.requirement("X-114")
def test_no_test_sleeps():
    assert [place for module in suite_modules() for place in sleeps(module)] == []


@pytest.mark.requirement("X-114")
def test_no_test_is_skipped_without_a_reason():
    assert [place for module in suite_modules() for place in skips_without_reason(module)] == []


@pytest.mark.requirement("X-114")
def test_warnings_are_errors_and_the_order_is_random():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pytest_options = project["tool"]["pytest"]["ini_options"]
    wanted = [name.partition(">")[0] for name in project["project"]["optional-dependencies"]["dev"]]

    assert pytest_options["filterwarnings"][0] == "error"
    assert pytest_options["xfail_strict"] is True
    assert "pytest-randomly" in wanted
    assert not any("no:randomly" in option for option in pytest_options["addopts"])


def test_a_test_without_an_assertion_is_noticed():
    module = module_of("def test_it():\n    print(1)\n")

    assert silent_tests(module) == ["tests/test_it.py:1 test_it"]


def test_an_assertion_in_a_helper_of_the_file_counts():
    module = module_of("def holds(x):\n    assert x\ndef test_it():\n    holds(1)\n")

    assert silent_tests(module) == []


@pytest.mark.parametrize("line", ["time.sleep(1)", "await asyncio.sleep(0.1)", "sleep(n)", "anyio.sleep(2)"])
def test_each_sleep_is_noticed(line: str):
    assert sleeps(module_of(f"async def it():\n    {line}\n")) == ["tests/test_it.py:2"]


def test_looking_again_is_not_a_sleep_if_the_pause_is_short():
    looking = "while not done():\n    sleep({})\n"

    assert sleeps(module_of(looking.format(0.01))) == []
    assert sleeps(module_of(looking.format(1))) == ["tests/test_it.py:2"]
    assert sleeps(module_of("while True:\n    sleep(0.01)\n")) == ["tests/test_it.py:2"]


def test_letting_others_run_is_not_a_sleep():
    assert sleeps(module_of("async def it():\n    await asyncio.sleep(0)\n")) == []


@pytest.mark.parametrize(
    "line", ["pytest.skip()", "pytest.importorskip('x')", "@pytest.mark.skip\ndef f(): ...", "pytest.mark.skipif(True)"]
)
def test_each_skip_without_a_reason_is_noticed(line: str):
    assert len(skips_without_reason(module_of(line))) == 1


@pytest.mark.parametrize(
    "line",
    ["pytest.skip('because')", "pytest.importorskip('x', reason='because')", "pytest.mark.xfail(reason='because')"],
)
def test_a_skip_with_a_reason_is_fine(line: str):
    assert skips_without_reason(module_of(line)) == []
