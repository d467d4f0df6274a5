"""Names are the field's words: modules are nouns, classes are unique nouns, docstrings state.

Exceptions are listed here and must be exactly what is found, so that the lists can only shrink.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tests.architecture.source import Module, package_modules

SHARED_CLASSES = {"Memory"}
"""The library's handle and the stored row are both what users call a memory."""
PARTICIPLE_CLASSES = frozenset(
    [
        "AlreadyDecided",
        "EffectFailed",
        "KeyFileExposed",
        "MigrationChanged",
        "NotAuthenticated",
        "NotAuthorised",
        "NotFound",
        "Outdated",
        "Overloaded",
        "PartlyEmbedded",
        "PortTaken",
        "ProposalRefused",
        "ProviderRefused",
        "Refused",
        "Replayed",
        "SettingPinned",
        "UndoBlocked",
        "Unwired",
        "Learned",
    ]
)
"""Errors, which say what happened, and the library's `Learned`."""

METAPHORS = frozenset({"desk", "door", "house", "porch", "keeper", "attendant", "deed", "knock", "wish"})
PARTICIPLES = frozenset(
    [
        "said",
        "told",
        "given",
        "kept",
        "made",
        "held",
        "heard",
        "brought",
        "taken",
        "shown",
        "known",
        "seen",
        "found",
        "gone",
        "done",
        "meant",
        "spoken",
        "written",
        "sent",
        "thought",
        "understood",
        "chosen",
        "forgotten",
        "hidden",
        "lost",
        "sought",
    ]
)
NOUNS = frozenset({"seed", "feed", "need", "speed", "embed"})
"""Words on `ed` that are no participles."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_QUESTION = re.compile(r"\?(?=\s|$)")


def words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def is_participle(name: str) -> bool:
    last = words(name)[-1] if words(name) else ""
    return last in PARTICIPLES or (last.endswith("ed") and last not in NOUNS)


def classes() -> Iterator[ast.ClassDef]:
    for module in package_modules():
        yield from (node for node in module.tree.body if isinstance(node, ast.ClassDef))


def documented() -> Iterator[tuple[Module, ast.AST, str]]:
    for module in package_modules():
        for node in module.nodes:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node, ast.get_docstring(node) or ""


def test_modules_are_nouns():
    assert [module.name for module in package_modules() if module.path.stem.endswith("ing")] == []


def test_a_class_name_is_used_once():
    counts = Counter(node.name for node in classes() if not node.name.startswith("_"))

    assert {name for name, count in counts.items() if count > 1} == SHARED_CLASSES


def test_no_class_is_a_bare_participle():
    assert {node.name for node in classes() if is_participle(node.name)} == PARTICIPLE_CLASSES


def test_names_use_no_metaphor():
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{module.name}:{name}"
        for module in package_modules()
        for name in [module.path.stem, *(node.name for node in module.nodes if isinstance(node, defined))]
        if METAPHORS & set(words(name))
    ]

    assert found == []


def test_docstrings_state_and_do_not_ask():
    found = [
        f"{module.at(node)}: {text.splitlines()[0]}"
        for module, node, text in documented()
        if _QUESTION.search(text.split("\n\n")[0].replace("`?`", ""))
    ]

    assert found == []
