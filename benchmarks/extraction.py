"""The suite `extract`: recall and precision of relations that texts state outright.

Definition sentences with their marked parent, and sentences with two marked nouns of which some are part and
whole. A definition is found if an ISA triple has the marked term as its subject; its parent is right if it
ends with the last word of a marked one. A part is found if an ISPART triple joins the two nouns in the right
direction; joining them in a sentence that does not say so is false. Each triple from a sentence without a
relation is a false edge. The baseline `is_a` is told which term each sentence is about, which the product is
not.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.data import Data
from benchmarks.result import BenchMetric, GoalOp, System, SystemKind, at_least
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyFinding, TallyItem, counted, detection
from festinger.text.cues import extract_cues
from festinger.text.tokens import tokenize


class ExtractionTriple(NamedTuple):
    """What a scanner reads from a sentence, in lowercase with spaces between words."""

    subject: str
    parent: str
    is_isa: bool


Scanner = Callable[[str], Sequence[ExtractionTriple]]
Agrees = Callable[[str, Iterable[str]], bool]


WCL, SEMEVAL = "wcl", "semeval2010_t8"
IS_A = "is_a"

METRICS = (
    BenchMetric(
        name="wcl.f1", unit="share", about="definitions found, F1", goal=at_least(0.82), beside="wcl.precision"
    ),
    BenchMetric(name="wcl.precision", unit="share", about="found definitions that are one", goal=at_least(0.93)),
    BenchMetric(
        name="wcl.recall",
        unit="share",
        about="definitions that are found",
        better=GoalOp.AT_LEAST,
        beside="wcl.precision",
    ),
    BenchMetric(
        name="wcl.parent_accuracy", unit="share", about="found definitions with the right parent", goal=at_least(0.95)
    ),
    BenchMetric(
        name="semeval.part_of.precision",
        unit="share",
        about="found parts that are one",
        goal=at_least(0.90),
        beside="semeval.part_of.recall",
    ),
    BenchMetric(
        name="semeval.part_of.recall",
        unit="share",
        about="parts that are found",
        goal=at_least(0.12),
        beside="semeval.part_of.precision",
    ),
    BenchMetric(name="semeval.part_of.f1", unit="share", about="parts found, F1", better=GoalOp.AT_LEAST),
    BenchMetric(
        name="semeval.false_edges",
        unit="per 1,000",
        about="triples per 1,000 sentences in which no part is marked",
        better=GoalOp.AT_MOST,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A sentence of the first set; without parents it defines nothing."""

    id: str
    text: str
    term: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSentence:
    """A sentence of the second set; without part and whole its nouns are related otherwise."""

    id: str
    text: str
    nouns: tuple[str, str]
    part: str | None
    whole: str | None


async def measure(bench: Bench) -> SuiteResult:
    bench.say("Reading definitions, parts and wholes.")
    sentences = bench.data.sampled(read_definitions(bench.data), by=lambda item: item.term.casefold())
    pairs = bench.data.sampled(read_pairs(bench.data), by=lambda item: item.id)
    ours = [
        *definitions(PRODUCT, sentences, shipped),
        *detection("semeval.part_of", PRODUCT, parts(pairs, shipped)),
        false_edges(PRODUCT, pairs, shipped),
    ]
    if not bench.wants(IS_A):
        return SuiteResult(tallies=ours)
    scan = plain_is_a({item.text: item.term for item in sentences})
    theirs = definitions(IS_A, sentences, scan, agrees=holds_parent)
    return SuiteResult(
        tallies=[*ours, *theirs],
        systems=[System(name=IS_A, kind=SystemKind.BASELINE, params={"told": "the term of each sentence"})],
    )


def shipped(text: str) -> list[ExtractionTriple]:
    """What the product reads."""
    return [
        ExtractionTriple(subject=_spaced(cue.subject), parent=_spaced(cue.parent), is_isa=cue.is_isa)
        for cue in extract_cues(text, tokenize(text))
    ]


def plain_is_a(terms: Mapping[str, str]) -> Scanner:
    """The baseline `is_a`, which is told the term of each text."""

    def scan(text: str) -> list[ExtractionTriple]:
        parent = _phrase_after(terms[text], text)
        return [ExtractionTriple(subject=_spaced(terms[text]), parent=parent, is_isa=True)] if parent else []

    return scan


def _phrase_after(term: str, text: str) -> str | None:
    """What follows the term and, at most 220 characters on, a form of `be` with an article."""
    cue = rf"{re.escape(term)}.{{0,220}}?\b(?:is|are|was|were|refers to|means)\s+(?:an?|the)\s+([\w\s-]+)"
    found = re.search(cue, text, re.IGNORECASE)
    return found.group(1).lower() if found else None


def definitions(
    system: str, items: Sequence[Definition], scan: Scanner, *, agrees: Agrees | None = None
) -> list[MetricTally]:
    """How well definitions are found, and the share of those found whose parent is right."""
    agrees = agrees or is_parent
    findings: list[TallyFinding] = []
    parents: list[TallyItem] = []
    for item in items:
        found = [triple for triple in scan(item.text) if _is_about(triple, item.term)]
        wanted = bool(item.parents)
        told = _told(item.text, found, term=item.term, parents=", ".join(item.parents))
        findings.append(
            TallyFinding(
                id=item.id, wanted=wanted, found=bool(found), right=wanted and bool(found), group=item.term, told=told
            )
        )
        if wanted and found:
            right = any(agrees(triple.parent, item.parents) for triple in found)
            parents.append(counted(item.id, right, group=item.term, told=told))
    accuracy = MetricTally(metric="wcl.parent_accuracy", system=system, items=parents)
    return [*detection("wcl", system, findings), accuracy]


def _told(text: str, triples: Iterable[ExtractionTriple], **more: str) -> dict[str, str]:
    said = (f"{triple.subject} {'ISA' if triple.is_isa else 'ISPART'} {triple.parent}" for triple in triples)
    return {"text": text, "found": "; ".join(said), **more}


def _is_about(triple: ExtractionTriple, term: str) -> bool:
    return triple.is_isa and triple.subject == _spaced(term)


def is_parent(parent: str, marked: Iterable[str]) -> bool:
    """Whether it ends with the last word of a marked parent, or with the head noun before its `of`."""
    ends = {word for one in marked for word in (_last(_spaced(one)), _last(_spaced(one).split(" of ")[0]))}
    return _last(parent) in ends


def holds_parent(phrase: str, marked: Iterable[str]) -> bool:
    """Whether it contains a marked parent's last word: more lenient, for a baseline that gives a phrase."""
    return not {_last(_spaced(one)) for one in marked}.isdisjoint(phrase.split())


def _last(phrase: str) -> str:
    return phrase.rpartition(" ")[2]


def parts(items: Iterable[ExtractionSentence], scan: Scanner) -> list[TallyFinding]:
    """How well parts and wholes are found. Joined in both directions counts as found but not right."""
    found: list[TallyFinding] = []
    for item in items:
        triples = scan(item.text)
        joined = {way for triple in triples if not triple.is_isa for way in _ways(triple, item.nouns)}
        wanted = (item.part, item.whole) if item.part and item.whole else None
        found.append(
            TallyFinding(
                id=item.id,
                wanted=wanted is not None,
                found=bool(joined),
                right=joined == {wanted},
                told=_told(item.text, triples, nouns=", ".join(item.nouns), part=item.part or ""),
            )
        )
    return found


def _ways(triple: ExtractionTriple, nouns: tuple[str, str]) -> list[tuple[str, str]]:
    """The directions in which a triple joins the two nouns as part and whole."""
    ways = [nouns, nouns[::-1]]
    return [(part, whole) for part, whole in ways if _has(triple.subject, part) and _has(triple.parent, whole)]


def _has(operand: str, noun: str) -> bool:
    return bool(set(operand.split()) & set(_spaced(noun).split()))


def false_edges(system: str, items: Iterable[ExtractionSentence], scan: Scanner) -> MetricTally:
    """Triples of any kind in sentences without a marked part, per thousand sentences."""
    found = [
        TallyItem(id=item.id, part=1000.0 * len(triples), right=not triples, told=_told(item.text, triples))
        for item in items
        if not item.part
        for triples in [scan(item.text)]
    ]
    return MetricTally(metric="semeval.false_edges", system=system, items=found)


def _spaced(written: str) -> str:
    return " ".join(token.text.replace("_", " ") for token in tokenize(written))


def read_definitions(data: Data) -> list[Definition]:
    """The definition sentences."""
    return [
        Definition(id=row["id"], text=row["text"], term=row["term"], parents=tuple(row["parents"]))
        for row in data.rows(WCL, "sentences", needs=("id", "text", "term", "parents"))
    ]


def read_pairs(data: Data) -> list[ExtractionSentence]:
    """The sentences with parts and wholes among them."""
    return [
        ExtractionSentence(
            id=row["id"], text=row["text"], nouns=(row["e1"], row["e2"]), part=row["part"], whole=row["whole"]
        )
        for row in data.rows(SEMEVAL, "sentences", needs=("id", "text", "e1", "e2", "part", "whole"))
    ]


EXTRACT = Suite(
    name="extract",
    about="What is said outright: definitions, and parts of wholes.",
    metrics=METRICS,
    measure=measure,
    needs=(WCL, SEMEVAL),
    timed=False,
)
