"""How is a text read for the world?

Secrets go out first; then the words are cut with the vocabulary of the space, and what the text asserts is found.
The one place where this room asks the room `text`. What is done with the words is left to `recollection` and
`encounters`, what is done with the claims to `learning`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from festinger.ids import Origin
from festinger.settings.beliefs import WorldSettings
from festinger.text.cues import Cue, cues, retractions
from festinger.text.normalize import normalised
from festinger.text.secrets import without_secrets
from festinger.text.tokens import Token, content, token_texts, tokens
from festinger.text.vocabulary import may_be_vocabulary
from festinger.world.claims import Claim
from festinger.world.recollection import Heard
from festinger.world.world import World

CLAIMED_CHARS = 4096
"""How much of the newest text is scanned for claims within a request."""

LONGEST_SENTENCE = 300

_DENIAL = re.compile(r"not\b|n['’]t\b|no\s+longer\b", re.IGNORECASE)
"""Without one of these nothing is taken back; most texts need not be looked at closer."""

IsCommon = Callable[[str, float], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A text, its tokens and who said it."""

    text: str
    """Without secrets."""
    tokens: Sequence[Token]
    origin: Origin

    @property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens]


def read(text: str, origin: Origin, world: World) -> Read:
    """Read a text with the words that a space knows."""
    return _read(without_secrets(text), origin, world)


def _read(plain: str, origin: Origin, world: World) -> Read:
    return Read(text=plain, tokens=tokens(plain, world.knows), origin=origin)


def claims(read: Read, world: World, *, is_common: Callable[[str], bool]) -> list[Claim]:
    """What a text asserts, and what it takes back."""
    dimensions = world.dimension_names
    found = cues(read.text, read.tokens, dimensions=dimensions, is_common=is_common)
    said = [_claim(read, cue) for cue in found]
    denied = []
    if _DENIAL.search(read.text):
        denials = retractions(read.text, read.tokens, dimensions=dimensions, is_common=is_common)
        denied = [_claim(read, cue, is_retraction=True) for cue in denials]
    return [
        claim
        for claim in (*said, *denied)
        if all(map(may_be_vocabulary, (claim.concept, claim.parent, claim.dimension)))
    ]


def _claim(read: Read, cue: Cue, *, is_retraction: bool = False) -> Claim:
    return Claim(
        concept=cue.subject,
        parent=cue.parent,
        dimension=cue.dimension,
        is_isa=cue.is_isa,
        confidence=cue.confidence,
        pattern=cue.pattern,
        origin=read.origin,
        is_retraction=is_retraction,
    )


def heard(
    text: str, origin: Origin, world: World, *, is_common: Callable[[str], bool], claim_chars: int
) -> Heard:
    """A text as a recollection hears it, with what its last `claim_chars` characters assert."""
    plain = without_secrets(text)
    if len(text) <= claim_chars:
        whole = _read(plain, origin, world)
        return Heard(words=whole.words, origin=origin, claims=claims(whole, world, is_common=is_common))
    # Places are asked for only where claims are, and cost more than the words.
    words = token_texts(plain, world.knows)
    if claim_chars <= 0:
        return Heard(words=words, origin=origin)
    newest = _read(plain[-claim_chars:], origin, world)
    return Heard(words=words, origin=origin, claims=claims(newest, world, is_common=is_common))


def countable(read: Read, world: World, *, terms: WorldSettings, is_common: IsCommon) -> dict[str, Token]:
    """The words of a text that count, each once, with where it stands first."""
    found: dict[str, Token] = {}
    for token in content(read.tokens, min_chars=terms.token_min_chars):
        if is_common(token.text, terms.common_word_zipf) or not may_be_vocabulary(token.text):
            continue
        row = world.row(token.text) if token.text in world.aliases else None
        found.setdefault(row.token if row else token.text, token)
    return found


def sentence_at(read: Read, token: Token) -> str:
    """The sentence in which a token stands, cut around it if it is long."""
    plain = normalised(read.text)
    starts = [each.start for each in read.tokens if each.sentence_start]
    start = max((each for each in starts if each <= token.start), default=0)
    end = min((each for each in starts if each > token.start), default=len(plain))
    if end - start > LONGEST_SENTENCE:
        start = max(start, token.start - LONGEST_SENTENCE // 2)
    return plain[start : min(end, start + LONGEST_SENTENCE)].strip()
