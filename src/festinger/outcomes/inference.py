"""What became of the notes of a turn, as far as what was said tells?

One function for every door, pure and without a model: from the notes that went out, the request, the reply and what
a person said next, to an outcome for each note that left a trace. The first rule that fits decides. No trace is no
outcome: silence is no evidence. What an inferred outcome may do is bounded elsewhere.

Which words of a note could only have come from the note?

Content words, names and numbers that stand nowhere in the request outside our blocks: if one of them comes up in a
reply, the note was read. Names and numbers must come up exactly, other words in any form; how rare a word is says
how much it tells. Pure; what follows is decided in `inference`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from festinger.judge.model import Judgement, Relation, Statement
from festinger.judge.rules import decide
from festinger.judge.rules.parse import read
from festinger.judge.rules.words import stem
from festinger.outcomes.corrections import begins_correcting, corrects, restated, sets_aside, without_cue
from festinger.outcomes.effects import EdgeNote, claimed
from festinger.outcomes.model import shares_by_words
from festinger.text.secrets import without_secrets
from festinger.text.vocabulary import is_common
from festinger.text.words import FUNCTION_WORDS, ends_sentence, sentences_in
from festinger.world.model import Outcome
from festinger.world.recollection import Claim

_WORD = re.compile(r"[^\W_]+(?:[.,:'’@/_-][^\W_]+)*")
_PARTS = re.compile(r"[.,:'’@/_-]")
_POSSESSIVE = re.compile(r"['’]s$")

FREQUENT = ((5.0, 0.25), (4.0, 0.5), (3.0, 0.75))
"""What a word tells that is at least so common on the Zipf scale; rarer ones tell all."""

COMMON = 4.0
"""From here on a word comes up by chance: it tells something only beside one that stands out."""

_EMPTY = frozenset(FUNCTION_WORDS)
_SHORTEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a note: how it is known again, and how much it tells."""

    key: str
    is_exact: bool
    is_common: bool
    worth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a text holds, as words are looked up in it."""

    exact: frozenset[str]
    stems: frozenset[str]

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, Word):
            return False
        return word.key in (self.exact if word.is_exact else self.stems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Words of a note, ready to be looked up in many sentences."""

    words: tuple[Word, ...]
    exact: frozenset[str]
    stems: frozenset[str]

    def within(self, text: Spoken) -> tuple[Word, ...]:
        """Those that a text holds. Most texts hold none, which two sets tell at once."""
        if self.exact.isdisjoint(text.exact) and self.stems.isdisjoint(text.stems):
            return ()
        return tuple(word for word in self.words if word in text)


def listed(words: Iterable[Word]) -> Listed:
    every = tuple(words)
    return Listed(
        words=every,
        exact=frozenset(word.key for word in every if word.is_exact),
        stems=frozenset(word.key for word in every if not word.is_exact),
    )


def spoken(text: str) -> Spoken:
    found = {part for word in _WORD.findall(text) for part in _forms(word)}
    return Spoken(exact=frozenset(found), stems=frozenset(map(stem, found)))


def _forms(word: str) -> Iterable[str]:
    """A word as it stands, without a possessive, and its parts."""
    plain = _POSSESSIVE.sub("", word).casefold()
    yield plain
    if _PARTS.search(plain):
        yield from (part for part in _PARTS.split(plain) if part)


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a note that carry its meaning, each once."""
    found: dict[str, Word] = {}
    before = end = 0
    last = ""
    for match in _WORD.finditer(text):
        starts = before == 0 or ends_sentence(text[end : match.start()], last, match[0])
        before, end, last = 1, match.end(), match[0]
        for word in _read(match[0], starts=starts):
            found.setdefault(word.key, word)
    return tuple(found.values())


def _read(written: str, *, starts: bool) -> Iterable[Word]:
    plain = _POSSESSIVE.sub("", written)
    small = plain.casefold()
    if any(char.isdigit() for char in small):
        yield Word(key=small, is_exact=True, is_common=False, worth=1.0)
        return
    if small in _EMPTY or len(small) < _SHORTEST:
        return
    # At the start of a sentence any word has a capital; one that owns something is a name all the same.
    is_name = plain[0].isupper() and (plain != written or not (starts and is_common(small, COMMON)))
    if is_name:
        yield Word(key=small, is_exact=True, is_common=False, worth=1.0)
        return
    yield Word(key=stem(small), is_exact=False, is_common=is_common(small, COMMON), worth=worth_of(small))


def worth_of(word: str) -> float:
    return next((worth for zipf, worth in FREQUENT if is_common(word, zipf)), 1.0)


def own_words(note: str, request: Spoken) -> tuple[Word, ...]:
    """The words of a note that the request does not hold."""
    return tuple(word for word in words_of(note) if word not in request)


def coverage(own: Iterable[Word], said: Mapping[str, Word]) -> float:
    """How much of what the own words tell was said."""
    every = list(own)
    whole = sum(word.worth for word in every)
    return sum(word.worth for word in every if word.key in said) / whole if whole else 0.0


AGAINST = (Relation.CONTRADICTS, Relation.UPDATE)
SURE = 0.8
"""Confidence from which a judge's word against a note counts."""
MOSTLY = 0.6
"""Share of a note's own words from which a reply has acted on it."""
HALF = 0.5
SHARED = 2
"""Words that a sentence and a note must share before a judge is asked."""

BY_PERSON, CITED, IN_CALL, ASIDE, USED = 0.8, 0.95, 0.8, 0.7, 0.5
BY_REPLY = 0.6
ACTED, ACTED_MORE = 0.5, 0.4

_INSTEAD = re.compile(r"(?:(?:it|that|this|he|she|they)(?: is|'s| are| was)(?: now)?|now) (?P<value>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNote:
    """A note that went out: its id, what it says, what it is about, and marks by which a reply may cite it."""

    id: str
    text: str
    subject: str = ""
    marks: tuple[str, ...] = ()
    edge: EdgeNote | None = None
    """What it shows of the world, if it is no memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What was said in a turn. The request is all of it that is not ours."""

    notes: tuple[TurnNote, ...]
    request: str = ""
    reply: str = ""
    arguments: tuple[str, ...] = ()
    """With what tools were called."""
    reasoning: str = ""
    next_message: str = ""
    """What a person said next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    note: str
    outcome: Outcome
    q: float
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """What was read: outcomes, the shares of those that were acted on, and notes that cannot be read."""

    outcomes: tuple[Inferred, ...] = ()
    credit: Mapping[str, float] = field(default_factory=dict, hash=False)
    unreadable: tuple[str, ...] = ()


def infer(turn: Turn) -> list[Inferred]:
    """What became of the notes of a turn; those without a trace are not among it."""
    return list(read_turn(turn).outcomes)


def read_turn(turn: Turn) -> Inference:
    """The same, with who gets the credit and which notes have no word of their own."""
    heard = _heard(turn)
    readings = [_reading(note, heard) for note in turn.notes]
    best = max((reading.covered for reading in readings), default=0.0)
    found = [
        inferred
        for reading in readings
        if reading.own and (inferred := _first(reading, heard, is_best=reading.covered == best)) is not None
    ]
    acted = {each.note for each in found if each.outcome is Outcome.ACTED}
    said = {reading.note.id: reading.worth for reading in readings if reading.note.id in acted}
    return Inference(
        outcomes=tuple(found),
        credit=shares_by_words(said) if said else {},
        unreadable=tuple(reading.note.id for reading in readings if not reading.own),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    turn: Turn
    request: Spoken
    sentences: tuple[tuple[str, Spoken], ...]
    arguments: Spoken
    reasoning: Spoken
    next_sentences: tuple[tuple[str, Spoken], ...]
    claims: Sequence[Claim] = ()
    """What the reply claims of names; read only where notes show edges."""
    next_claims: Sequence[Claim] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One note held against what was said."""

    note: TurnNote
    words: tuple[Word, ...]
    every: Listed
    own: tuple[Word, ...]
    said: Mapping[str, Word]
    """Own words that stand in the reply."""
    covered: float
    called: Mapping[str, Word]
    """Own words with which tools were called, but for those that come up by chance."""

    @property
    def worth(self) -> dict[str, float]:
        return {key: word.worth for key, word in {**self.said, **self.called}.items()}


def _heard(turn: Turn) -> _Heard:
    has_edges = any(note.edge is not None for note in turn.notes)
    return _Heard(
        turn=turn,
        request=spoken(turn.request),
        sentences=tuple((text, spoken(text)) for text in sentences_in(turn.reply)),
        arguments=spoken("\n".join(turn.arguments)),
        reasoning=spoken(turn.reasoning),
        next_sentences=tuple((text, spoken(text)) for text in sentences_in(turn.next_message)),
        claims=claimed(turn.reply) if has_edges else (),
        next_claims=claimed(turn.next_message) if has_edges else (),
    )


def _reading(note: TurnNote, heard: _Heard) -> _Reading:
    words = words_of(note.text)
    own = own_words(note.text, heard.request)
    every = listed(words)
    said = _said(listed(own), every, (each for _, each in heard.sentences))
    return _Reading(
        note=note,
        words=words,
        every=every,
        own=own,
        said=said,
        covered=coverage(own, said),
        called={word.key: word for word in own if not word.is_common and word in heard.arguments},
    )


def _said(own: Listed, every: Listed, where: Iterable[Spoken]) -> dict[str, Word]:
    """Own words that were said. A common one counts only beside a word that stands out and that the note holds too."""
    found: dict[str, Word] = {}
    for sentence in where:
        here = own.within(sentence)
        if not here:
            continue
        stands_out = not all(word.is_common for word in every.within(sentence))
        found |= {word.key: word for word in here if stands_out or not word.is_common}
    return found


Rule = Callable[[_Reading, _Heard, bool], Inferred | None]


def _first(reading: _Reading, heard: _Heard, *, is_best: bool) -> Inferred | None:
    for rule in _RULES:
        if (found := rule(reading, heard, is_best)) is not None:
            return found
    return None


def _corrected(reading: _Reading, heard: _Heard, is_best: bool) -> Inferred | None:
    """A person says next that it is wrong."""
    if not corrects(heard.turn.next_message):
        return None
    against = _against(reading, heard.next_sentences)
    said = against[0] if against else _beside(reading, heard)
    if said is not None:
        return _by_person(reading, without_cue(said))
    if _is_denied(reading, heard.next_claims):
        return _by_person(reading, None)
    if is_best and _says_otherwise(reading, heard.turn.next_message):
        return _by_person(reading, restated(reading.note.text, heard.turn.next_message))
    return None


def _by_person(reading: _Reading, said: str | None) -> Inferred:
    """A correction, with what was said in the place of the note if that can be told."""
    told = {"said": without_secrets(said)} if said and not said.endswith("?") else {}
    return _inferred(reading, Outcome.CONTRADICTED, BY_PERSON, rule="corrected by a person", **told)


def _beside(reading: _Reading, heard: _Heard) -> str | None:
    """The sentence with half of the note's words in which, or next to which, a correction stands."""
    cues = [corrects(text) for text, _ in heard.next_sentences]
    return next(
        (
            text
            for at, (text, sentence) in enumerate(heard.next_sentences)
            if any(cues[max(0, at - 1) : at + 2]) and _share(reading.words, sentence) >= HALF
        ),
        None,
    )


def _says_otherwise(reading: _Reading, message: str) -> bool:
    """Whether a person puts another value in the place of what the reply took from this note: `no, it is B`."""
    rest = begins_correcting(message)
    instead = _INSTEAD.match(rest) if rest else None
    if instead is None or reading.covered < MOSTLY or not read(reading.note.text).slots:
        return False
    value = spoken(instead["value"])
    return not any(word in value for word in reading.own)


def _denied(reading: _Reading, heard: _Heard, _is_best: bool) -> Inferred | None:
    """The reply itself says otherwise."""
    against = _against(reading, heard.sentences)
    sure = against[1].confidence if against else SURE
    if against is None and not _is_denied(reading, heard.claims):
        return None
    return _inferred(reading, Outcome.CONTRADICTED, BY_REPLY * sure, rule="the reply says otherwise")


def _is_denied(reading: _Reading, said: Sequence[Claim]) -> bool:
    """Whether claims put something else in the place that an edge holds."""
    return reading.note.edge is not None and reading.note.edge.is_denied_by(said)


def _cited(reading: _Reading, heard: _Heard, _is_best: bool) -> Inferred | None:
    marks = (reading.note.id, *reading.note.marks)
    if not any(mark and mark in heard.turn.reply for mark in marks):
        return None
    return _inferred(reading, Outcome.ACTED, CITED, rule="cited")


def _called(reading: _Reading, _heard: _Heard, _is_best: bool) -> Inferred | None:
    words = list(reading.called)
    return _inferred(reading, Outcome.ACTED, IN_CALL, rule="in a tool call", words=words) if words else None


def _followed(reading: _Reading, _heard: _Heard, _is_best: bool) -> Inferred | None:
    if reading.covered < MOSTLY:
        return None
    q = ACTED + ACTED_MORE * reading.covered
    return _inferred(reading, Outcome.ACTED, q, rule="most of it was said", words=list(reading.said))


def _set_aside(reading: _Reading, heard: _Heard, _is_best: bool) -> Inferred | None:
    for text, sentence in (*heard.sentences, *heard.next_sentences):
        if sets_aside(text) and _names(reading, sentence):
            return _inferred(reading, Outcome.DISMISSED, ASIDE, rule="set aside")
    return None


def _mentioned(reading: _Reading, heard: _Heard, _is_best: bool) -> Inferred | None:
    thought = {word.key: word for word in reading.own if word in heard.reasoning}
    if not reading.said and coverage(reading.own, thought) < HALF:
        return None
    words = list(reading.said or thought)
    return _inferred(reading, Outcome.USED, USED, rule="a word of it was said", words=words)


_RULES: tuple[Rule, ...] = (_corrected, _denied, _cited, _called, _followed, _set_aside, _mentioned)


def _against(reading: _Reading, where: Sequence[tuple[str, Spoken]]) -> tuple[str, Judgement] | None:
    """The first sentence that goes against the note, if the judge's rules are sure of any, and what they say."""
    note = Statement(text=reading.note.text, subject=reading.note.subject or None, order=1)
    for text, sentence in where:
        if text.endswith("?") or not _is_about(reading, sentence):
            continue
        said = decide.judge(note, Statement(text=text, order=2))
        if said.relation in AGAINST and said.confidence >= SURE:
            return text, said
    return None


def _is_about(reading: _Reading, sentence: Spoken) -> bool:
    """Whether a sentence may speak of the same thing: it shares words, and one that stands out among them."""
    shared = reading.every.within(sentence)
    return len(shared) >= SHARED and not all(word.is_common for word in shared)


def _share(words: Sequence[Word], sentence: Spoken) -> float:
    return sum(word in sentence for word in words) / len(words) if words else 0.0


def _names(reading: _Reading, sentence: Spoken) -> bool:
    """Whether a sentence names what the note is about."""
    subject = words_of(reading.note.subject)
    if subject and all(word in sentence for word in subject):
        return True
    return any(word in sentence for word in reading.words if not word.is_common)


def _inferred(reading: _Reading, outcome: Outcome, q: float, **evidence: Any) -> Inferred:
    return Inferred(note=reading.note.id, outcome=outcome, q=q, evidence=evidence)
