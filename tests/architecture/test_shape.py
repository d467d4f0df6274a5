"""The file list reads as a glossary, functions fit on a screen, and only commands print."""

import ast
import re

import pytest
from tests.architecture.source import Module, package_modules

NAMELESS = frozenset(["util", "utils", "helper", "helpers", "common", "manager", "managers", "base", "misc"])
"""Names that say nothing of the domain."""

EMPTY_VERBS = ("get_", "do_", "handle_", "process_")
EXCUSED = {
    "process_started": "a process of the operating system, not a verb",
    "get_retry_decision": "the job engine calls it by this name",
    "get_pending": "programs written for the reference of the outcome hooks call it by this name",
}

WRITERS = {"src/festinger/settings/reference.py": "run by hand to write a page of the docs"}

LONGEST_FUNCTION = 60
LONGEST_MODULE = 600


def words(module: Module) -> set[str]:
    return {part.strip("_") for part in re.split(r"[/.]", module.name.removesuffix(".py"))}


def test_every_module_is_named_after_something_of_the_domain():
    found = [module.name for module in package_modules() if words(module) & NAMELESS]

    assert found == []


def test_a_rewrite_replaces_what_it_rewrites():
    assert [module.name for module in package_modules() if re.search(r"_(v\d+|new|old)\b", module.name)] == []


def test_functions_are_named_by_the_deed():
    found = [
        f"{module.at(function)} {function.name}"
        for module in package_modules()
        for function in module.functions()
        if function.name.lstrip("_").startswith(EMPTY_VERBS) and function.name not in EXCUSED
    ]

    assert found == []


def test_a_function_fits_on_a_screen():
    found = [
        f"{module.at(function)} {function.name} has {length} lines"
        for module in package_modules()
        for function in module.functions()
        if (length := (function.end_lineno or function.lineno) - function.lineno + 1) > LONGEST_FUNCTION
    ]

    assert found == []


def test_a_module_stays_short_enough_to_read():
    found = [
        f"{module.name} has {length} lines"
        for module in package_modules()
        if (length := len(module.text.splitlines())) > LONGEST_MODULE
    ]

    assert found == []


def test_every_module_says_which_question_it_answers():
    found = [module.name for module in package_modules() if module.text.strip() and not ast.get_docstring(module.tree)]

    assert found == []


@pytest.mark.requirement("X-95")
def test_only_commands_print():
    found = [
        module.at(call)
        for module in package_modules()
        if module.room != "cli" and module.name not in WRITERS
        for name, call in module.calls()
        if name in ("print", "sys.stdout.write")
    ]

    assert found == []
