"""Which requirements does a test carry, and which are still open?

Three lists are held against each other: the ids of `docs/spec/*.md`, the ids that tests name with
`@pytest.mark.requirement("X-07")`, and the ids of `tests/open.toml` with their reasons. Tests are read as
text, so the answer is the same whichever part of the suite is run. `tests/proofs.py` adds what only a
run can tell: whether a requirement is carried by skipped tests alone.

    python -m tests.requirements             what is wrong, then `carried N, open M`
    python -m tests.requirements --tidy      drop from the open list what a test carries by now
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPEC = ROOT / "docs" / "spec"
TESTS = ROOT / "tests"
OPEN = TESTS / "open.toml"

REQUIREMENT = re.compile(r"^\*\*([A-Z]-\d+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """One place in the tests that names requirements."""

    ids: tuple[str, ...]
    place: str
    live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Requirements that nothing shows yet, and why."""

    reason: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    spec: tuple[str, ...]
    carriers: tuple[Carrier, ...]
    openings: tuple[Opening, ...]

    @property
    def carried(self) -> frozenset[str]:
        return frozenset(needed for carrier in self.carriers for needed in carrier.ids)

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(needed for opening in self.openings for needed in opening.ids)

    @property
    def only_live(self) -> frozenset[str]:
        """Ids that only the optional live group carries; an offline run cannot show them."""
        offline = {needed for carrier in self.carriers if not carrier.live for needed in carrier.ids}
        return self.carried - offline

    def summary(self) -> str:
        return f"carried {len(self.carried & set(self.spec))}, open {len(set(self.open))}"


def required(text: str) -> list[str]:
    """The ids that one file of the spec defines, in its order."""
    return REQUIREMENT.findall(text)


def carriers(source: str, *, name: str) -> list[Carrier]:
    """Every place in one test file that names requirements."""
    if "requirement" not in source:
        return []
    nodes = list(ast.walk(ast.parse(source)))
    lit = {id(call) for node in nodes if "mark.live" in source and _is_live(node) for call in ast.walk(node)}
    return [
        Carrier(ids=_literal_ids(call, name), place=f"{name}:{call.lineno}", live=id(call) in lit)
        for call in nodes
        if isinstance(call, ast.Call) and _is_mark(call.func, "requirement")
    ]


def openings(text: str) -> list[Opening]:
    return [
        Opening(reason=entry.get("reason", ""), ids=tuple(entry.get("ids", ())))
        for entry in tomllib.loads(text).get("open", [])
    ]


def problems(manifest: Manifest) -> list[str]:
    """Everything in which the three lists disagree, each as one sentence that names the id."""
    known, carried, open_ids = set(manifest.spec), manifest.carried, set(manifest.open)
    return [
        *(f"{needed} stands {n} times in the spec" for needed, n in _repeated(manifest.spec)),
        *(f"{needed} is open {n} times" for needed, n in _repeated(manifest.open)),
        *(f"{needed} is neither carried by a test nor open" for needed in in_order(known - carried - open_ids)),
        *(f"{needed} is carried by a test and still open" for needed in in_order(carried & open_ids)),
        *(f"{needed} is open but not in the spec" for needed in in_order(open_ids - known)),
        *(
            f"{needed} is named in {carrier.place} but not in the spec"
            for carrier in manifest.carriers
            for needed in carrier.ids
            if needed not in known
        ),
        *(
            f"{', '.join(opening.ids[:3])} … are open without a reason"
            for opening in manifest.openings
            if not opening.reason.strip()
        ),
    ]


def skipped_only(manifest: Manifest, outcomes: Mapping[str, Iterable[str]]) -> list[str]:
    """Requirements that a full run named only in skipped tests. `outcomes` holds what each id's tests came to."""
    seen = {needed: set(results) for needed, results in outcomes.items()}
    return [
        f"{needed} is carried only by skipped tests"
        for needed in in_order(manifest.carried - manifest.only_live)
        if seen.get(needed, {"skipped"}) <= {"skipped"}
    ]


def in_order(ids: Iterable[str]) -> list[str]:
    return sorted(ids, key=lambda needed: (needed[0], int(needed[2:])))


def read_manifest() -> Manifest:
    return Manifest(
        spec=tuple(needed for path in sorted(SPEC.glob("*.md")) for needed in required(path.read_text())),
        carriers=tuple(
            carrier
            for path in sorted(TESTS.rglob("*.py"))
            for carrier in carriers(path.read_text(), name=str(path.relative_to(ROOT)))
        ),
        openings=tuple(openings(OPEN.read_text())),
    )


def without_carried(manifest: Manifest) -> tuple[Opening, ...]:
    """The open list without the ids that a test carries by now."""
    kept = (
        Opening(reason=opening.reason, ids=tuple(needed for needed in opening.ids if needed not in manifest.carried))
        for opening in manifest.openings
    )
    return tuple(opening for opening in kept if opening.ids)


def as_toml(found: Iterable[Opening]) -> str:
    blocks = ["# Requirements that no test shows yet. `python -m tests.requirements --tidy` drops what is carried.\n"]
    for opening in found:
        lines = "".join(f'  "{needed}",\n' for needed in in_order(opening.ids))
        blocks.append(f'[[open]]\nreason = "{opening.reason}"\nids = [\n{lines}]\n')
    return "\n".join(blocks)


def _repeated(ids: Iterable[str]) -> list[tuple[str, int]]:
    return [(needed, n) for needed, n in Counter(ids).items() if n > 1]


def _is_mark(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and _ends_in_mark(node.value)


def _ends_in_mark(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "mark") or (
        isinstance(node, ast.Name) and node.id == "mark"
    )


def _is_live(node: ast.AST) -> bool:
    """Whether a function, a class or a whole module is marked as part of the live group."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return any(_is_mark(decorator, "live") for decorator in node.decorator_list)
    if isinstance(node, ast.Module):
        marks = [one.value for one in node.body if isinstance(one, ast.Assign) and _assigns_pytestmark(one)]
        return any(_is_mark(part, "live") for mark in marks for part in ast.walk(mark) if isinstance(part, ast.expr))
    return False


def _assigns_pytestmark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _literal_ids(call: ast.Call, name: str) -> tuple[str, ...]:
    ids = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if call.keywords or len(ids) != len(call.args) or not ids:
        raise ValueError(f"{name}:{call.lineno}: a requirement is named by plain strings")
    return tuple(ids)


def main(arguments: list[str]) -> int:
    manifest = read_manifest()
    if "--tidy" in arguments:
        OPEN.write_text(as_toml(without_carried(manifest)))
        manifest = read_manifest()
    found = problems(manifest)
    sys.stdout.write("".join(f"{line}\n" for line in [*found, manifest.summary()]))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
