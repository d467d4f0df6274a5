"""Defines learn requests and parsed statements, with validation, hygiene and hashes.

`LearnRequest` is what a caller passes in, `Statement` what is learned of it. What a person asks to
learn is accepted; what a job read must be long enough, no heartbeat or question, lasting, and not a restated
prompt.
`fold_hash` covers the text normalized in case, quotes and spacing, and a subject that the text leaves out: equal
hashes mean one statement.
`gist_hash` drops function words but keeps the order of the rest, because only the order says who manages
whom. All functions are pure.
"""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Any
from uuid import UUID

from festinger.clock import aware, iso
from festinger.errors import BadInput, TooLarge
from festinger.ids import AgentId, MemoryId, Origin
from festinger.judge.model import JudgeStatement, Slot
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.subjects import unstated_subject
from festinger.memory.model import INTERNAL, Kind, SourceTag, comparable_kinds, parse_kind
from festinger.text.hygiene import is_question, is_small_talk, is_transient, strip_lead_in
from festinger.text.normalize import HIDDEN, UNSEEN, fold
from festinger.text.overlap import MOSTLY, shingle_overlap
from festinger.text.secrets import Redact, RedactionResult, redact
from festinger.text.words import FUNCTION_WORDS, load_words

MARK_BYTES = 16

KEPT = load_words("telling_words")
"""Function words that change the meaning: negations, quantifiers and modal verbs."""

DROPPED = FUNCTION_WORDS - KEPT

_WORD = re.compile(r"[^\W_]+(?:[.,:'_/@-][^\W_]+)*%?|[%€$£¥°]|[<>=+]+")
_POSSESSIVE = re.compile(r"'s$")
_NOT = re.compile(r"\b(\w+)n't\b")
_PREFIXES = {"ca": "can", "wo": "will", "sha": "shall"}


def fold_hash(text: str, subject: str | None = None) -> bytes:
    return _hash_text(_of_subject(fold(text), text, subject))


def gist_hash(text: str, subject: str | None = None) -> bytes:
    return _hash_text(_of_subject(" ".join(gist_words(text)), text, subject))


def _of_subject(words: str, text: str, subject: str | None) -> str:
    """Lead by a subject that the text leaves out: `She lives in Oslo` is said of Anna, and then of Berta."""
    unstated = unstated_subject(text, subject)
    return f"{unstated}\n{words}" if unstated else words


def gist_words(text: str) -> list[str]:
    """Return the meaningful words of a statement in order; all of them if there are none."""
    spelt = _NOT.sub(_expand_negation, fold(strip_lead_in(text)).replace("cannot", "can not"))
    found = [_POSSESSIVE.sub("", word) for word in _WORD.findall(spelt)]
    return [word for word in found if word not in DROPPED] or found or [spelt]


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return the words that two texts must share to be about the same thing."""
    return frozenset(gist_words(text)) - KEPT


def content_overlap(text: str, other: str) -> float:
    """Share of the shorter text's content words that also occur in the other one."""
    ours, theirs = content_words(text), content_words(other)
    if not ours or not theirs:
        return 0.0
    return len(ours & theirs) / min(len(ours), len(theirs))


def _expand_negation(match: re.Match[str]) -> str:
    return f"{_PREFIXES.get(match[1], match[1])} not"


def _hash_text(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:MARK_BYTES]


LONGEST = 8_000
LONGEST_SUBJECT = 200
MOST_TAGS = 50
LONGEST_KEY = 200
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""A NUL byte and half a character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWithTrust:
    """A turn that a statement was derived from, with the trust in its speaker."""

    id: UUID
    trust: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnRequest:
    """A statement passed in by a caller. Speaker and session come from the `Scope`."""

    text: str
    subject: str | None = None
    kind: str = Kind.FACT
    origin: Origin = Origin.PERSON
    source: str | None = None
    source_tag: SourceTag | None = None
    source_confidence: float = 1.0
    event_time: datetime | None = None
    valid_from: datetime | None = None
    derived_from: tuple[MemoryId, ...] = ()
    turns: tuple[TurnWithTrust, ...] = ()
    by_model: bool | None = None
    """Whether a model worded it; defaults to whether the origin is a model."""
    tags: tuple[str, ...] = ()
    shared: bool | None = None
    immutable: bool = False
    key: str | None = None
    wait: float = 0.0
    asked: bool = True
    """Whether somebody asked to learn this, as opposed to a job that read it somewhere."""
    imported: bool = False
    """Whether its owner imported it: its size never counts as a burst, and it brings back nothing that was forgotten."""
    episode_id: UUID | None = None
    turn_id: UUID | None = None
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)
    corrects: UUID | None = None
    """The memory that its speaker corrects with it."""
    only_as_news: bool = False
    """Whether it is learned only if it replaces something known."""

    @property
    def worded_by_model(self) -> bool:
        return self.origin is Origin.MODEL if self.by_model is None else self.by_model

    @property
    def body_hash(self) -> bytes:
        """Hash that two calls with the same key must share."""
        times = [iso(at) if at else None for at in (self.event_time, self.valid_from)]
        sources = [str(each) for each in self.derived_from]
        details = [self.subject, str(self.kind), self.origin.value, self.source, self.source_confidence]
        body = [self.text, details, times, sources, list(self.tags), self.shared, self.immutable]
        return sha256(json.dumps(body).encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The part of a request that is learned."""

    text: str
    kind: Kind
    subject: str | None
    subject_key: str | None
    slot: Slot | None
    fold: bytes
    gist: bytes
    owner: AgentId | None
    trust: float
    at: datetime
    request: LearnRequest
    redactions: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()
    """Why it must be quarantined, regardless of other memories."""

    @property
    def origin(self) -> Origin:
        return self.request.origin

    @property
    def is_internal(self) -> bool:
        """Whether it comes from the agent's own thoughts or a job: never evidence."""
        return self.origin is Origin.JOB or self.request.source_tag in INTERNAL

    @property
    def comparable_kinds(self) -> tuple[Kind, ...]:
        """The kinds of memories to compare it with; what a job derived never replaces or disputes what was said."""
        return (self.kind,) if self.origin is Origin.JOB else comparable_kinds(self.kind)

    @property
    def judge_statement(self) -> JudgeStatement:
        return JudgeStatement(
            text=self.text,
            subject=self.subject,
            slot=self.slot,
            event_time=self.request.event_time,
            said_at=self.at,
            origin=self.request.origin,
            unstated=unstated_subject(self.text, self.subject),
        )


def normalize_learn_request(request: LearnRequest, *, redact: Redact = redact) -> LearnRequest:
    """Normalize a request. Raises `BadInput` or `TooLarge` with a hint."""
    if not isinstance(request.text, str):
        raise BadInput("A memory is text.", hint="Give one sentence as text.")
    if not request.text.strip():
        raise BadInput("There is nothing to learn: the text is empty.", hint="Give one sentence.")
    if len(request.text) > LONGEST:
        raise TooLarge(
            f"A memory has at most {LONGEST:,} characters; this one has {len(request.text):,}.",
            hint="Learn it as a document, in parts.",
        )
    _check_storable(request)
    _check_numbers(request)
    return replace(
        request,
        kind=parse_kind(request.kind),
        origin=Origin(request.origin),
        event_time=aware(request.event_time) if request.event_time else None,
        valid_from=aware(request.valid_from) if request.valid_from else None,
        tags=_tags(request.tags),
        subject=_subject(request.subject, redact),
    )


def is_storable(text: str) -> bool:
    """Whether the store can hold a text."""
    return _UNSTORABLE.search(text) is None


def _check_storable(request: LearnRequest) -> None:
    try:
        metadata = json.dumps(request.metadata, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInput("The metadata is no JSON.", hint="Give texts, finite numbers, lists and objects.") from error
    given = {
        "text": request.text,
        "subject": (request.subject or "").translate(UNSEEN),
        "source": request.source or "",
        "key": request.key or "",
        "tags": " ".join(request.tags),
        "metadata": metadata.replace("\\\\", "").replace("\\u0000", "\0"),
    }
    for name, text in given.items():
        if not is_storable(text):
            what = "a NUL byte" if "\0" in text else "half a character"
            raise BadInput(f"The {name} holds {what}.", hint="Decode it again from its source.")


def _check_numbers(request: LearnRequest) -> None:
    if not 0.0 <= request.source_confidence <= 1.0:
        raise BadInput(f"`source_confidence` lies between 0 and 1; {request.source_confidence} does not.")
    if request.key is not None and not 0 < len(request.key) <= LONGEST_KEY:
        raise BadInput(f"A key has 1 to {LONGEST_KEY} characters.")
    if request.immutable and request.origin not in (Origin.PERSON, Origin.SYSTEM):
        raise BadInput(
            "Only a person or the system may say something for good.",
            hint="Leave `immutable` out, or let a person say it.",
        )


def _subject(subject: str | None, redact: Redact) -> str | None:
    plain = " ".join((subject or "").translate(UNSEEN).split())
    if len(plain) > LONGEST_SUBJECT:
        raise BadInput(f"A subject has at most {LONGEST_SUBJECT} characters.", hint="Name the thing only.")
    return redact(plain).text or None


def _tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    plain = tuple(dict.fromkeys(" ".join(tag.split()) for tag in tags if tag.strip()))
    if len(plain) > MOST_TAGS or any(len(tag) > LONGEST_SUBJECT for tag in plain):
        raise BadInput(f"A memory has at most {MOST_TAGS} tags of {LONGEST_SUBJECT} characters.")
    return plain


def strip_blocks_and_secrets(
    text: str, without_blocks: Callable[[str], str], *, redact: Redact = redact
) -> RedactionResult:
    """Remove injected blocks, hidden characters, secrets and whatever else `redact` removes."""
    own = without_blocks(text)
    seen = own.translate(UNSEEN) if has_hidden_text(own) else own
    redacted = redact(seen.strip())
    return replace(redacted, text=redacted.text.strip())


def has_hidden_text(text: str) -> bool:
    return not HIDDEN.isdisjoint(text)


def build_statement(
    request: LearnRequest, clean: RedactionResult, *, owner: AgentId | None, trust: float, at: datetime, **more: Any
) -> Statement:
    """Build the statement with its slot and hashes."""
    slot = parse_slot(clean.text, request.subject, said_at=at)
    subject = request.subject or (slot.subject.replace("_", " ") if slot else None)
    return Statement(
        text=clean.text,
        kind=Kind(request.kind),
        subject=subject,
        subject_key=subject_key(subject),
        slot=slot,
        fold=fold_hash(clean.text, subject),
        gist=gist_hash(clean.text, subject),
        owner=owner,
        trust=trust,
        at=at,
        request=request,
        redactions=clean.kinds,
        **more,
    )


def parse_slot(text: str, subject: str | None, *, said_at: datetime | None = None) -> Slot | None:
    """Return the slot that a text fills, if a rule can read it; of several, that of the named subject."""
    found = parse_statement(text, said_at=said_at).slots
    wanted = subject_key(subject)
    mine = [slot for slot in found if subject_key(slot.subject) == wanted] if wanted else list(found)
    return mine[0] if mine else None


def subject_key(subject: str | None) -> str | None:
    """Normalize a subject for comparison: folded, without determiners."""
    words = [word for word in fold(subject or "").replace("_", " ").split() if word not in _POINTERS]
    return " ".join(words) or None


_POINTERS = frozenset({"the", "a", "an", "this", "that"})


SHORTEST = 10
FEWEST_WORDS = 2


class LearnRefusalReason(StrEnum):
    """Why a statement was refused."""

    TOO_SHORT = "too_short"
    RESTATED_PROMPT = "restated_prompt"
    HEARTBEAT = "heartbeat"
    TRANSIENT = "transient"
    QUESTION = "question"
    UNSUPPORTED = "unsupported"
    DUPLICATE = "duplicate_refusal"


def find_refusal_reason(text: str, *, prompts: frozenset[tuple[str, ...]] = frozenset()) -> LearnRefusalReason | None:
    """Why a statement is not worth keeping; None if it is. `prompts` are shingles of the system prompts."""
    if is_small_talk(text):
        return LearnRefusalReason.HEARTBEAT
    if len(text) < SHORTEST or len(content_words(text)) < FEWEST_WORDS:
        return LearnRefusalReason.TOO_SHORT
    if shingle_overlap(text, prompts) >= MOSTLY:
        return LearnRefusalReason.RESTATED_PROMPT
    if is_question(text):
        return LearnRefusalReason.QUESTION
    return LearnRefusalReason.TRANSIENT if is_transient(text) else None


SUPPORT = 0.3
"""Share of a statement's content words that must occur in its turns."""
SURE = 0.6
"""Minimum confidence of whoever read it."""


def is_supported(text: str, turns: Collection[str], *, confidence: float) -> bool:
    """Whether the given turns support a statement."""
    words = content_words(text)
    if not turns or not words or confidence < SURE:
        return False
    heard = frozenset().union(*(content_words(turn) for turn in turns))
    return len(words & heard) / len(words) >= SUPPORT
