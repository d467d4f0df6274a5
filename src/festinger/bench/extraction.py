"""How much of what texts say outright is found, and how much of what is found was said?

Definition sentences with their marked parent, and sentences with two marked nouns of which some are part and
whole. A definition is found if a triple of kind ISA has the marked term as its subject; its parent is right if it
ends with the last word of a marked one. A part is found if an ISPART triple joins the two nouns the right way
round; joining them in a sentence that does not say so is a false one. What a triple has to say besides is counted:
each triple from a sentence without one is a false edge. The plain baseline `is_a` is measured in the same run.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from festinger.text.cues import cues
from festinger.text.tokens import tokens


class Triple(NamedTuple):
    """What a scanner reads out of a sentence, in small letters with blanks between words."""

    subject: str
    parent: str
    is_isa: bool


Scanner = Callable[[str], Sequence[Triple]]
Agrees = Callable[[str, Iterable[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A sentence of the first set; no parents: it defines nothing."""

    text: str
    term: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A sentence of the second set; no part and whole: its nouns stand otherwise to each other."""

    text: str
    nouns: tuple[str, str]
    part: str | None
    whole: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Right, false and missed findings."""

    right: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.false)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, 2 * self.right + self.false + self.missed)


def shipped(text: str) -> list[Triple]:
    """What the product reads."""
    return [
        Triple(subject=_spaced(cue.subject), parent=_spaced(cue.parent), is_isa=cue.is_isa)
        for cue in cues(text, tokens(text))
    ]


def plain_is_a(terms: Mapping[str, str]) -> Scanner:
    """The baseline `is_a`, which is told the term of each text."""

    def scan(text: str) -> list[Triple]:
        parent = _phrase_after(terms[text], text)
        return [Triple(subject=_spaced(terms[text]), parent=parent, is_isa=True)] if parent else []

    return scan


def _phrase_after(term: str, text: str) -> str | None:
    """What follows the term and, 220 characters on at most, a form of `be` with an article."""
    cue = rf"{re.escape(term)}.{{0,220}}?\b(?:is|are|was|were|refers to|means) (?:an?|the) ([\w\s-]+)"
    found = re.search(cue, text, re.IGNORECASE)
    return found.group(1).lower() if found else None


def definitions(
    items: Iterable[Definition], scan: Scanner, *, agrees: Agrees | None = None
) -> tuple[Found, float]:
    """How well definitions are found, and the share of those found whose parent is right."""
    agrees = agrees or is_parent
    outcomes = [
        (item, [triple for triple in scan(item.text) if _is_about(triple, item.term)]) for item in items
    ]
    right = [(item, triples) for item, triples in outcomes if item.parents and triples]
    false = sum(not item.parents and bool(triples) for item, triples in outcomes)
    missed = sum(bool(item.parents) and not triples for item, triples in outcomes)
    agree = sum(any(agrees(triple.parent, item.parents) for triple in triples) for item, triples in right)
    return Found(right=len(right), false=false, missed=missed), agree / max(1, len(right))


def _is_about(triple: Triple, term: str) -> bool:
    return triple.is_isa and triple.subject == _spaced(term)


def is_parent(parent: str, marked: Iterable[str]) -> bool:
    """Whether it ends with the last word of a marked parent, or with the noun that its `of` hangs on."""
    ends = {word for one in marked for word in (_last(_spaced(one)), _last(_spaced(one).split(" of ")[0]))}
    return _last(parent) in ends


def holds_parent(phrase: str, marked: Iterable[str]) -> bool:
    """Whether a marked parent's last word stands anywhere in it: kinder, for a baseline that gives a whole phrase."""
    return not {_last(_spaced(one)) for one in marked}.isdisjoint(phrase.split())


def _last(phrase: str) -> str:
    return phrase.rpartition(" ")[2]


def parts(items: Iterable[Pair], scan: Scanner) -> Found:
    """How well parts and their wholes are found."""
    right = false = missed = 0
    for item in items:
        joined = {way for triple in scan(item.text) if not triple.is_isa for way in _ways(triple, item.nouns)}
        wanted = (item.part, item.whole) if item.part and item.whole else None
        right += wanted in joined
        missed += wanted is not None and wanted not in joined
        false += bool(joined - {wanted})
    return Found(right=right, false=false, missed=missed)


def _ways(triple: Triple, nouns: tuple[str, str]) -> list[tuple[str, str]]:
    """The ways in which a triple joins the two nouns as part and whole."""
    ways = [nouns, nouns[::-1]]
    return [
        (part, whole) for part, whole in ways if _has(triple.subject, part) and _has(triple.parent, whole)
    ]


def _has(operand: str, noun: str) -> bool:
    return bool(set(operand.split()) & set(_spaced(noun).split()))


def per_thousand(texts: Iterable[str], scan: Scanner) -> float:
    """Triples in a thousand sentences that say nothing outright."""
    counts = [len(scan(text)) for text in texts]
    return 1000 * sum(counts) / max(1, len(counts))


def _spaced(written: str) -> str:
    return " ".join(token.text.replace("_", " ") for token in tokens(written))


def read_definitions(folder: Path) -> list[Definition]:
    """The definition sentences in a folder of data."""
    return [
        Definition(text=row["text"], term=row["term"], parents=tuple(row["parents"]))
        for row in _rows(folder / "wcl" / "sentences.jsonl.gz")
    ]


def read_pairs(folder: Path, name: str = "sentences") -> list[Pair]:
    """The part–whole sentences in a folder of data; `calibration` is the other file."""
    return [
        Pair(text=row["text"], nouns=(row["e1"], row["e2"]), part=row["part"], whole=row["whole"])
        for row in _rows(folder / "semeval2010_t8" / f"{name}.jsonl.gz")
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, mode="rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
