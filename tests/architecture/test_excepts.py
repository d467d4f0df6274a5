"""Broad excepts stand only at the edges, where there is nobody left to tell but the log."""

import ast

import pytest
from tests.architecture.source import ROOT, Module, dotted, package_modules

EDGES = {
    "job": "src/festinger/jobs/attempt.py",
    "ASGI": "src/festinger/proxy/errors.py",
    "command line": "src/festinger/cli/command.py",
}
"""The one file at each edge that may catch everything."""

TRANSLATORS = {"src/festinger/embedding/runtime.py": "`tokenizers` and `onnxruntime` raise plain `Exception`"}
"""Files at a border whose library has no error class of its own: there everything is translated, nothing is kept."""

BROAD = frozenset({"Exception", "BaseException"})


def broad_excepts(module: Module) -> list[ast.ExceptHandler]:
    """Handlers that catch everything and keep it; one that ends with a bare `raise` only tidies up on the way."""
    return [
        node
        for node in module.nodes
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _passes_on(node)
        if not (module.name in TRANSLATORS and _translates(node))
    ]


def _passes_on(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _translates(handler: ast.ExceptHandler) -> bool:
    only = handler.body[0]
    return len(handler.body) == 1 and isinstance(only, ast.Raise) and only.cause is not None


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(dotted(one).removeprefix("builtins.") in BROAD for one in caught)


def says_why(module: Module, handler: ast.ExceptHandler) -> bool:
    """Whether a comment stands on the line of the except or next to it."""
    lines = module.text.splitlines()
    return any("# " in line for line in lines[max(handler.lineno - 2, 0) : handler.lineno + 1])


def module_of(text: str) -> Module:
    return Module(path=ROOT / "src/festinger/it.py", text=text, tree=ast.parse(text))


@pytest.mark.requirement("X-06")
def test_only_the_three_edges_catch_everything():
    found = [module.at(one) for module in package_modules() for one in broad_excepts(module)]

    assert [place for place in found if place.partition(":")[0] not in EDGES.values()] == []


def test_every_broad_except_says_why():
    found = [(module, one) for module in package_modules() for one in broad_excepts(module)]

    assert [module.at(one) for module, one in found if not says_why(module, one)] == []


@pytest.mark.parametrize(
    "caught", ["", " Exception", " BaseException as error", " (ValueError, Exception)", " builtins.Exception"]
)
def test_each_broad_form_is_noticed(caught: str):
    assert len(broad_excepts(module_of(f"try: ...\nexcept{caught}: ..."))) == 1


def test_a_named_error_is_not_broad():
    assert broad_excepts(module_of("try: ...\nexcept (OSError, ValueError): ...")) == []


def test_tidying_up_and_passing_on_is_not_catching():
    assert broad_excepts(module_of("try: ...\nexcept BaseException:\n    close()\n    raise")) == []


def test_there_are_three_edges():
    assert len(EDGES) == 3
