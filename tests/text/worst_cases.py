"""Try every regular expression of the package on texts that make a backtracking matcher work hardest.

Run as a script, it imports the whole package, noting each pattern that it compiles, builds texts from the pieces of
each pattern, and prints as JSON the patterns whose time grows faster than the text. Patterns of re2 are linear by
design and not among them.
"""

import functools
import importlib
import json
import pkgutil
import re
import re._parser as parser  # type: ignore[import-not-found]
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import festinger

ROOT = Path(festinger.__file__).parent
SMALL, MIDDLE, LARGE = 64, 256, 1024
SUSPICIOUS_MS = 0.2
"""A linear pattern is through a text of `LARGE` characters in less."""
SLOW_MS = 20.0
GROWTH = 8.0
"""Four times the text may take so many times as long; a quadratic pattern takes sixteen times as long."""
TRIES = 4
LOOKS = 3
"""A busy machine disturbs one measurement, but not each of so many; a pattern that is not linear is slow in all."""
MOST_UNITS = 80
AROUND = ("", "x", " ")

Sequences = Iterable[tuple[Any, Any]]

CATEGORIES = {
    "CATEGORY_DIGIT": "1", "CATEGORY_NOT_DIGIT": "x", "CATEGORY_SPACE": " ", "CATEGORY_NOT_SPACE": "x",
    "CATEGORY_WORD": "a", "CATEGORY_NOT_WORD": " ",
}  # fmt: skip
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def every_pattern() -> dict[re.Pattern[Any], str]:
    """Each pattern that a module compiles when it is imported, or a function without arguments gives; and where."""
    found: dict[re.Pattern[Any], str] = {}
    compile_it = re._compile  # type: ignore[attr-defined]

    def spy(pattern: Any, flags: int) -> re.Pattern[Any]:
        made: re.Pattern[Any] = compile_it(pattern, flags)
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.endswith("re/__init__.py"):
            frame = frame.f_back
        where = Path(frame.f_code.co_filename)
        if where.is_relative_to(ROOT):
            found.setdefault(made, f"{where.relative_to(ROOT)}:{frame.f_lineno}")
        return made

    re._compile = spy  # type: ignore[attr-defined]
    names = [each.name for each in pkgutil.walk_packages([str(ROOT)], "festinger.")]
    for name in names:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    re._compile = compile_it  # type: ignore[attr-defined]
    for name in names:
        for key, value in list(vars(sys.modules.get(name, object)).items()):
            if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == name:
                wrapped = value.__wrapped__
                if wrapped.__code__.co_argcount == 0 and "Pattern" in str(wrapped.__annotations__.get("return")):
                    given = value()
                    for made in given if isinstance(given, tuple) else (given,):
                        found.setdefault(made, f"{name}.{key}()")
    return found


@functools.cache
def names_of_patterns() -> dict[re.Pattern[Any], list[tuple[str, str]]]:
    """The names that modules of the package have for patterns, with the files of the modules."""
    found: dict[re.Pattern[Any], list[tuple[str, str]]] = {}
    for module in [each for name, each in sys.modules.items() if name.startswith("festinger")]:
        for key, value in vars(module).items():
            if isinstance(value, re.Pattern):
                found.setdefault(value, []).append((key, module.__file__ or ""))
    return found


def ways_to_use(pattern: re.Pattern[Any]) -> list[Callable[[Any], object]]:
    """As the package uses it: only from the beginning of a text, or everywhere in it."""
    used: set[str] = set()
    for name, file in names_of_patterns().get(pattern, ()):
        source = Path(file).read_text(encoding="utf-8")
        used |= set(re.findall(rf"\b{name}\b(?:\.(\w+))?", source.replace(f"{name} = ", "")))
    if used and used <= {"match", "fullmatch"}:
        return [getattr(pattern, method) for method in sorted(used)]
    return [lambda text: sum(1 for _ in pattern.finditer(text))]


def one_of(members: Sequences) -> str:
    """A character of a set."""
    kinds = [str(kind) for kind, _ in members]
    if "NEGATE" in kinds:
        excluded = {chr(value) for kind, value in members if str(kind) == "LITERAL"}
        excluded |= {CATEGORIES[str(value)] for kind, value in members if str(kind) == "CATEGORY"}
        return next((char for char in "xa1 -\n.,;" if char not in excluded), "x")
    for kind, value in members:
        if str(kind) == "LITERAL":
            return chr(value)
        if str(kind) == "RANGE":
            return chr(value[0])
        if str(kind) == "CATEGORY":
            return CATEGORIES[str(value)]
    return "x"


def sample(items: Sequences, *, branch: int = 0) -> str:
    """A text that the items match, or nearly."""
    parts = []
    for kind, value in items:
        name = str(kind)
        if name == "LITERAL":
            parts.append(chr(value))
        elif name in ("NOT_LITERAL", "ANY"):
            parts.append("x")
        elif name == "IN":
            parts.append(one_of(value))
        elif name == "BRANCH":
            parts.append(sample(value[1][branch % len(value[1])], branch=branch))
        elif name == "SUBPATTERN":
            parts.append(sample(value[3], branch=branch))
        elif name in REPEATS:
            parts.append(sample(value[2], branch=branch) * max(1, min(value[0], 3)))
        elif name == "ATOMIC_GROUP":
            parts.append(sample(value, branch=branch))
        elif name == "ASSERT" and value[0] > 0:
            parts.append(sample(value[1], branch=branch))
    return "".join(parts)


def characters(items: Sequences) -> Iterator[str]:
    """Every character that the items name, or one of each set."""
    for kind, value in items:
        name = str(kind)
        if name == "LITERAL":
            yield chr(value)
        elif name in ("NOT_LITERAL", "ANY"):
            yield "x"
        elif name == "IN":
            yield one_of(value)
        elif name == "BRANCH":
            for each in value[1]:
                yield from characters(each)
        elif name == "SUBPATTERN":
            yield from characters(value[3])
        elif name in REPEATS:
            yield from characters(value[2])
        elif name == "ATOMIC_GROUP":
            yield from characters(value)
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from characters(value[1])


def units(pattern: re.Pattern[Any]) -> list[str]:
    """What a hard text is a repetition of: single characters, pairs of them, and beginnings of a match."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin1")
    items = list(parser.parse(source, pattern.flags & ~re.UNICODE))
    singles = [char for char, _ in Counter(characters(items)).most_common(10)]
    plain = [*singles, "a", " ", "\n", "1", ".", "-", "_"]
    begun = [sample(items[: at + 1], branch=branch) for branch in range(4) for at in range(min(len(items), 12))]
    pairs = [first + second for first in singles[:5] for second in singles[:5] if first != second]
    spaced = [unit + " " for unit in (*begun, *singles[:5])]
    found = dict.fromkeys(unit for unit in (*plain, *begun, *spaced, *pairs) if 0 < len(unit) <= 40)
    return list(found)[:MOST_UNITS]


def milliseconds(use: Callable[[Any], object], text: Any, *, tries: int = 1) -> float:
    """The least time of a few: a busy machine only ever adds to it."""
    took = []
    for _ in range(tries):
        began = time.process_time_ns()
        use(text)
        took.append((time.process_time_ns() - began) / 1e6)
    return min(took)


def grows_too_fast(use: Callable[[Any], object], text_of: Callable[[int], Any]) -> bool:
    return all(_seems_to_grow_too_fast(use, text_of) for _ in range(LOOKS))


def _seems_to_grow_too_fast(use: Callable[[Any], object], text_of: Callable[[int], Any]) -> bool:
    for size in (SMALL, MIDDLE):
        if milliseconds(use, text_of(size)) > SLOW_MS:
            return True
    if milliseconds(use, text_of(LARGE)) < SUSPICIOUS_MS:
        return False
    one, four = (milliseconds(use, text_of(size), tries=TRIES) for size in (LARGE, 4 * LARGE))
    return four > GROWTH * one


def hardest(pattern: re.Pattern[Any]) -> str | None:
    """The unit of a text on which the pattern is not linear, if one was found."""
    start = sample(list(parser.parse(_source(pattern), pattern.flags & ~re.UNICODE))[:1])
    for use in ways_to_use(pattern):
        for unit in units(pattern):
            for around in dict.fromkeys((*AROUND, start)):

                def text_of(size: int, unit: str = unit, around: str = around) -> Any:
                    text = around + unit * (size // len(unit) + 1) + ("" if around != "x" else "\x00")
                    return text if isinstance(pattern.pattern, str) else text.encode()

                if grows_too_fast(use, text_of):
                    return unit
    return None


def _source(pattern: re.Pattern[Any]) -> str:
    return pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin1")


def main() -> None:
    for pattern, where in every_pattern().items():
        # Told before it is tried, so that whoever waits in vain knows for which.
        tell({"trying": where})
        if (unit := hardest(pattern)) is not None:
            tell({"where": where, "unit": unit, "pattern": _source(pattern)[:200]})


def tell(what: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
