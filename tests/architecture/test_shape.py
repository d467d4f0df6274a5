"""Modules say what they are for, rewrites replace, and only commands print."""

import ast
import re

import pytest
from tests.architecture.source import package_modules


def test_a_rewrite_replaces_what_it_rewrites():
    assert [module.name for module in package_modules() if re.search(r"_(v\d+|new|old)\b", module.name)] == []


def test_every_module_says_what_it_is_for():
    found = [module.name for module in package_modules() if module.text.strip() and not ast.get_docstring(module.tree)]

    assert found == []


@pytest.mark.requirement("X-95")
def test_only_commands_print():
    found = [
        module.at(call)
        for module in package_modules()
        if module.room != "cli"
        for name, call in module.calls()
        if name in ("print", "sys.stdout.write")
    ]

    assert found == []
