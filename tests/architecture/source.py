"""The source and the tests of this project, as trees that the architecture tests walk through."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "festinger"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Module:
    path: Path
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree: walking it takes longer than all that a test looks for."""
        return list(ast.walk(self.tree))

    @property
    def name(self) -> str:
        """Its path from the root of the repository, as a person would point at it."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def room(self) -> str:
        """The room it belongs to: the first name under the package."""
        return self.path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    def at(self, node: ast.AST) -> str:
        return f"{self.name}:{getattr(node, 'lineno', 1)}"

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call with its dotted name as written: `datetime.now`, `print`, `.sleep` on something computed."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield dotted(node.func), node


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return f"{dotted(node.func)}()"
    return ""


@cache
def parsed(path: Path) -> Module:
    text = path.read_text()
    return Module(path=path, text=text, tree=ast.parse(text, filename=str(path)))


def package_modules() -> list[Module]:
    return [parsed(path) for path in sorted(PACKAGE.rglob("*.py"))]


def suite_modules() -> list[Module]:
    return [parsed(path) for path in sorted(TESTS.rglob("*.py"))]


def tracked_files() -> list[Path]:
    """Every file of the repository that is text of ours; without git, everything that is not made by a tool."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = asked.stdout.decode().split("\0") if asked.returncode == 0 else _all_names()
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def _all_names() -> list[str]:
    made = {".venv", ".git", "__pycache__", "dist", "build"}
    return [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*")
        if path.is_file() and not made & set(path.relative_to(ROOT).parts)
    ]
