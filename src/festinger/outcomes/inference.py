"""Infers outcomes for the notes of a turn from what was said, without a model.

Pure, and shared by every interface: takes the notes, the request, the reply and the person's next message,
and returns an outcome for each note that left a trace. The first matching rule decides. No trace means no
outcome: silence is no evidence. A note's own words are content words, names and numbers absent from the
request outside our blocks: if one appears in a reply, the note was read. Names and numbers must match
exactly, other words by stem; rarer words are worth more.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from festinger.judge.model import Judgement, JudgeStatement, Relation
from festinger.judge.rules import decide
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.words import stem
from festinger.outcomes.corrections import (
    is_correction,
    is_dismissal,
    strip_correction_cue,
    substitute_value,
    text_after_correction,
)
from festinger.outcomes.effects import EdgeNote, extract_claims
from festinger.outcomes.model import credit_shares_by_words
from festinger.text.secrets import remove_secrets
from festinger.text.vocabulary import is_common
from festinger.text.words import FUNCTION_WORDS, ends_sentence, split_into_sentences
from festinger.world.model import NoteOutcome
from festinger.world.recollection import Claim

_WORD = re.compile(r"[^\W_]+(?:[.,:'’@/_-][^\W_]+)*")
_PARTS = re.compile(r"[.,:'’@/_-]")
_POSSESSIVE = re.compile(r"['’]s$")

FREQUENT = ((5.0, 0.25), (4.0, 0.5), (3.0, 0.75))
"""Worth of words at least this common on the Zipf scale; rarer ones are worth 1."""

COMMON = 4.0
"""Zipf frequency from which a word occurs by chance: it counts only beside a distinctive one."""

_EMPTY = frozenset(FUNCTION_WORDS)
_SHORTEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWord:
    """A word of a note: its lookup key, and its worth."""

    key: str
    is_exact: bool
    is_common: bool
    worth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWords:
    """The words of a text, ready for lookup."""

    exact: frozenset[str]
    stems: frozenset[str]

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, NoteWord):
            return False
        return word.key in (self.exact if word.is_exact else self.stems)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWordIndex:
    """Words of a note, ready to be looked up in many sentences."""

    words: tuple[NoteWord, ...]
    exact: frozenset[str]
    stems: frozenset[str]

    def within(self, text: TextWords) -> tuple[NoteWord, ...]:
        """Return those that a text contains. Most contain none, which two set checks reveal at once."""
        if self.exact.isdisjoint(text.exact) and self.stems.isdisjoint(text.stems):
            return ()
        return tuple(word for word in self.words if word in text)


def index_words(words: Iterable[NoteWord]) -> NoteWordIndex:
    every = tuple(words)
    return NoteWordIndex(
        words=every,
        exact=frozenset(word.key for word in every if word.is_exact),
        stems=frozenset(word.key for word in every if not word.is_exact),
    )


def parse_text_words(text: str) -> TextWords:
    found = {part for word in _WORD.findall(text) for part in _word_forms(word)}
    return TextWords(exact=frozenset(found), stems=frozenset(map(stem, found)))


def _word_forms(word: str) -> Iterable[str]:
    """Yield a word without its possessive, and its parts."""
    plain = _POSSESSIVE.sub("", word).casefold()
    yield plain
    if _PARTS.search(plain):
        yield from (part for part in _PARTS.split(plain) if part)


@lru_cache(maxsize=4096)
def note_words(text: str) -> tuple[NoteWord, ...]:
    """Return the content words of a note, each once."""
    found: dict[str, NoteWord] = {}
    before = end = 0
    last = ""
    for match in _WORD.finditer(text):
        starts = before == 0 or ends_sentence(text[end : match.start()], last, match[0])
        before, end, last = 1, match.end(), match[0]
        for word in _parse_word(match[0], starts=starts):
            found.setdefault(word.key, word)
    return tuple(found.values())


def _parse_word(written: str, *, starts: bool) -> Iterable[NoteWord]:
    plain = _POSSESSIVE.sub("", written)
    small = plain.casefold()
    if any(char.isdigit() for char in small):
        yield NoteWord(key=small, is_exact=True, is_common=False, worth=1.0)
        return
    if small in _EMPTY or len(small) < _SHORTEST:
        return
    # A word at the start of a sentence is capitalized anyway; with a possessive it is still a name.
    is_name = plain[0].isupper() and (plain != written or not (starts and is_common(small, COMMON)))
    if is_name:
        yield NoteWord(key=small, is_exact=True, is_common=False, worth=1.0)
        return
    yield NoteWord(
        key=stem(small), is_exact=False, is_common=is_common(small, COMMON), worth=weigh_word_by_rarity(small)
    )


def weigh_word_by_rarity(word: str) -> float:
    return next((worth for zipf, worth in FREQUENT if is_common(word, zipf)), 1.0)


def words_not_in_request(note: str, request: TextWords) -> tuple[NoteWord, ...]:
    """Return the words of a note that the request does not contain."""
    return tuple(word for word in note_words(note) if word not in request)


def word_coverage(own: Iterable[NoteWord], found: Mapping[str, NoteWord]) -> float:
    """Return the share of the own words' worth that was said."""
    every = list(own)
    whole = sum(word.worth for word in every)
    return sum(word.worth for word in every if word.key in found) / whole if whole else 0.0


AGAINST = (Relation.CONTRADICTS, Relation.UPDATE)
SURE = 0.8
"""Confidence from which a judgment against a note counts."""
MOSTLY = 0.6
"""Share of a note's own words from which a reply has acted on it."""
HALF = 0.5
SHARED = 2
"""Words that a sentence and a note must share before the judge is asked."""

BY_PERSON, CITED, IN_CALL, ASIDE, USED = 0.8, 0.95, 0.8, 0.7, 0.5
BY_REPLY = 0.6
ACTED, ACTED_MORE = 0.5, 0.4

_INSTEAD = re.compile(r"(?:(?:it|that|this|he|she|they)(?: is|'s| are| was)(?: now)?|now) (?P<value>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNote:
    """A note that was shown: its id, text, subject, and marks by which a reply may cite it."""

    id: str
    text: str
    subject: str = ""
    marks: tuple[str, ...] = ()
    edge: EdgeNote | None = None
    """The edge of the world that it shows, if it is no memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInferenceInput:
    """What was said in a turn. The request excludes what we injected."""

    notes: tuple[TurnNote, ...]
    request: str = ""
    reply: str = ""
    arguments: tuple[str, ...] = ()
    """Arguments of the tool calls."""
    reasoning: str = ""
    next_message: str = ""
    """The person's next message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredOutcome:
    note: str
    outcome: NoteOutcome
    q: float
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInferenceResult:
    """Outcomes, shares of credit for those acted on, and notes that cannot be read."""

    outcomes: tuple[InferredOutcome, ...] = ()
    credit: Mapping[str, float] = field(default_factory=dict, hash=False)
    unreadable: tuple[str, ...] = ()


def infer_turn_outcomes(turn: TurnInferenceInput) -> TurnInferenceResult:
    """Infer outcomes with credit, and list notes that have no words of their own."""
    heard = _parse_turn(turn)
    readings = [_match_note(note, heard) for note in turn.notes]
    best = max((reading.covered for reading in readings), default=0.0)
    found = [
        inferred
        for reading in readings
        if reading.own and (inferred := _apply_rules(reading, heard, is_best=reading.covered == best)) is not None
    ]
    acted = {each.note for each in found if each.outcome is NoteOutcome.ACTED}
    worth = {reading.note.id: reading.worth for reading in readings if reading.note.id in acted}
    return TurnInferenceResult(
        outcomes=tuple(found),
        credit=credit_shares_by_words(worth) if worth else {},
        unreadable=tuple(reading.note.id for reading in readings if not reading.own),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _TurnWords:
    turn: TurnInferenceInput
    request: TextWords
    sentences: tuple[tuple[str, TextWords], ...]
    arguments: TextWords
    reasoning: TextWords
    next_sentences: tuple[tuple[str, TextWords], ...]
    claims: Sequence[Claim] = ()
    """Claims of the reply about names; extracted only if notes show edges."""
    next_claims: Sequence[Claim] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoteMatch:
    note: TurnNote
    words: tuple[NoteWord, ...]
    every: NoteWordIndex
    own: tuple[NoteWord, ...]
    repeated: Mapping[str, NoteWord]
    """Own words that appear in the reply."""
    covered: float
    called: Mapping[str, NoteWord]
    """Own words in tool call arguments, except common ones."""

    @property
    def worth(self) -> dict[str, float]:
        return {key: word.worth for key, word in {**self.repeated, **self.called}.items()}


def _parse_turn(turn: TurnInferenceInput) -> _TurnWords:
    has_edges = any(note.edge is not None for note in turn.notes)
    return _TurnWords(
        turn=turn,
        request=parse_text_words(turn.request),
        sentences=tuple((text, parse_text_words(text)) for text in split_into_sentences(turn.reply)),
        arguments=parse_text_words("\n".join(turn.arguments)),
        reasoning=parse_text_words(turn.reasoning),
        next_sentences=tuple((text, parse_text_words(text)) for text in split_into_sentences(turn.next_message)),
        claims=extract_claims(turn.reply) if has_edges else (),
        next_claims=extract_claims(turn.next_message) if has_edges else (),
    )


def _match_note(note: TurnNote, heard: _TurnWords) -> _NoteMatch:
    words = note_words(note.text)
    own = words_not_in_request(note.text, heard.request)
    every = index_words(words)
    repeated = _find_said_words(index_words(own), every, (each for _, each in heard.sentences))
    return _NoteMatch(
        note=note,
        words=words,
        every=every,
        own=own,
        repeated=repeated,
        covered=word_coverage(own, repeated),
        called={word.key: word for word in own if not word.is_common and word in heard.arguments},
    )


def _find_said_words(own: NoteWordIndex, every: NoteWordIndex, where: Iterable[TextWords]) -> dict[str, NoteWord]:
    """Return the own words that were said. A common one counts only beside a distinctive word of the note."""
    found: dict[str, NoteWord] = {}
    for sentence in where:
        here = own.within(sentence)
        if not here:
            continue
        stands_out = not all(word.is_common for word in every.within(sentence))
        found |= {word.key: word for word in here if stands_out or not word.is_common}
    return found


Rule = Callable[[_NoteMatch, _TurnWords, bool], InferredOutcome | None]


def _apply_rules(reading: _NoteMatch, heard: _TurnWords, *, is_best: bool) -> InferredOutcome | None:
    for rule in _RULES:
        if (found := rule(reading, heard, is_best)) is not None:
            return found
    return None


def _match_correction(reading: _NoteMatch, heard: _TurnWords, is_best: bool) -> InferredOutcome | None:
    """Match a person's next message that says it is wrong."""
    if not is_correction(heard.turn.next_message):
        return None
    against = _find_contradiction(reading, heard.next_sentences)
    sentence = against[0] if against else _sentence_near_correction(reading, heard)
    if sentence is not None:
        return _build_correction_outcome(reading, strip_correction_cue(sentence))
    if _is_denied(reading, heard.next_claims):
        return _build_correction_outcome(reading, None)
    if is_best and _has_other_value(reading, heard.turn.next_message):
        return _build_correction_outcome(reading, substitute_value(reading.note.text, heard.turn.next_message))
    return None


def _build_correction_outcome(reading: _NoteMatch, sentence: str | None) -> InferredOutcome:
    """Build a correction, with what was said in place of the note if known."""
    details = {"said": remove_secrets(sentence)} if sentence and not sentence.endswith("?") else {}
    return _build_outcome(reading, NoteOutcome.CONTRADICTED, BY_PERSON, rule="corrected by a person", **details)


def _sentence_near_correction(reading: _NoteMatch, heard: _TurnWords) -> str | None:
    """Return the sentence with half of the note's words in or next to which a correction cue occurs."""
    cues = [is_correction(text) for text, _ in heard.next_sentences]
    return next(
        (
            text
            for at, (text, sentence) in enumerate(heard.next_sentences)
            if any(cues[max(0, at - 1) : at + 2]) and _word_share(reading.words, sentence) >= HALF
        ),
        None,
    )


def _has_other_value(reading: _NoteMatch, message: str) -> bool:
    """Whether a person replaces the value that the reply took from this note: `no, it is B`."""
    rest = text_after_correction(message)
    instead = _INSTEAD.match(rest) if rest else None
    if instead is None or reading.covered < MOSTLY or not parse_statement(reading.note.text).slots:
        return False
    value = parse_text_words(instead["value"])
    return not any(word in value for word in reading.own)


def _match_denial(reading: _NoteMatch, heard: _TurnWords, _is_best: bool) -> InferredOutcome | None:
    """Match a reply that says otherwise."""
    against = _find_contradiction(reading, heard.sentences)
    sure = against[1].confidence if against else SURE
    if against is None and not _is_denied(reading, heard.claims):
        return None
    return _build_outcome(reading, NoteOutcome.CONTRADICTED, BY_REPLY * sure, rule="the reply says otherwise")


def _is_denied(reading: _NoteMatch, claims: Sequence[Claim]) -> bool:
    """Whether claims put something else in the place of the note's edge."""
    return reading.note.edge is not None and reading.note.edge.is_denied_by(claims)


def _match_citation(reading: _NoteMatch, heard: _TurnWords, _is_best: bool) -> InferredOutcome | None:
    marks = (reading.note.id, *reading.note.marks)
    if not any(mark and mark in heard.turn.reply for mark in marks):
        return None
    return _build_outcome(reading, NoteOutcome.ACTED, CITED, rule="cited")


def _match_tool_call(reading: _NoteMatch, _heard: _TurnWords, _is_best: bool) -> InferredOutcome | None:
    words = list(reading.called)
    return _build_outcome(reading, NoteOutcome.ACTED, IN_CALL, rule="in a tool call", words=words) if words else None


def _match_coverage(reading: _NoteMatch, _heard: _TurnWords, _is_best: bool) -> InferredOutcome | None:
    if reading.covered < MOSTLY:
        return None
    q = ACTED + ACTED_MORE * reading.covered
    return _build_outcome(reading, NoteOutcome.ACTED, q, rule="most of it was said", words=list(reading.repeated))


def _match_dismissal(reading: _NoteMatch, heard: _TurnWords, _is_best: bool) -> InferredOutcome | None:
    for text, sentence in (*heard.sentences, *heard.next_sentences):
        if is_dismissal(text) and _names_subject(reading, sentence):
            return _build_outcome(reading, NoteOutcome.DISMISSED, ASIDE, rule="set aside")
    return None


def _match_mention(reading: _NoteMatch, heard: _TurnWords, _is_best: bool) -> InferredOutcome | None:
    thought = {word.key: word for word in reading.own if word in heard.reasoning}
    if not reading.repeated and word_coverage(reading.own, thought) < HALF:
        return None
    words = list(reading.repeated or thought)
    return _build_outcome(reading, NoteOutcome.USED, USED, rule="a word of it was said", words=words)


_RULES: tuple[Rule, ...] = (
    _match_correction,
    _match_denial,
    _match_citation,
    _match_tool_call,
    _match_coverage,
    _match_dismissal,
    _match_mention,
)


def _find_contradiction(reading: _NoteMatch, where: Sequence[tuple[str, TextWords]]) -> tuple[str, Judgement] | None:
    """Return the first sentence that contradicts the note with enough confidence, and the judgment."""
    note = JudgeStatement(text=reading.note.text, subject=reading.note.subject or None, order=1)
    for text, sentence in where:
        if text.endswith("?") or not _is_about(reading, sentence):
            continue
        judgement = decide.judge(note, JudgeStatement(text=text, order=2))
        if judgement.relation in AGAINST and judgement.confidence >= SURE:
            return text, judgement
    return None


def _is_about(reading: _NoteMatch, sentence: TextWords) -> bool:
    """Whether a sentence may be about the same thing: shares enough words, one of them distinctive."""
    shared = reading.every.within(sentence)
    return len(shared) >= SHARED and not all(word.is_common for word in shared)


def _word_share(words: Sequence[NoteWord], sentence: TextWords) -> float:
    return sum(word in sentence for word in words) / len(words) if words else 0.0


def _names_subject(reading: _NoteMatch, sentence: TextWords) -> bool:
    subject = note_words(reading.note.subject)
    if subject and all(word in sentence for word in subject):
        return True
    return any(word in sentence for word in reading.words if not word.is_common)


def _build_outcome(reading: _NoteMatch, outcome: NoteOutcome, q: float, **evidence: Any) -> InferredOutcome:
    return InferredOutcome(note=reading.note.id, outcome=outcome, q=q, evidence=evidence)
