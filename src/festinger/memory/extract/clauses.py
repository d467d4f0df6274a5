"""Splits a message into clauses and computes their features.

A sentence is cut where both sides can stand alone (`prod is in A, staging is in B`). Each clause knows what
precedes it: text after `Translate this:` is material to work on, not the writer's own statement.
In the features, function words and common words stand for themselves; names, numbers, paths and rare words
only for their shape, so that the model learns how people say things and not what they talk about. All
functions are pure.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from wordfreq.numbers import digit_freq, smash_numbers
from wordfreq.tokens import lossy_tokenize

from festinger.judge.rules.slots import SKIPPED, find_verb_index
from festinger.judge.rules.words import read_lines
from festinger.text.vocabulary import word_shares
from festinger.text.words import FUNCTION_WORDS

LONGEST_MESSAGE = 8_000
"""Characters of a message that are read; nobody types more."""
LONGEST_CLAUSE = 500
LONGEST_SIDE = 40
"""Words on one side of a cut that are searched for a verb."""

_SENTENCE = re.compile(r"[^.!?。！？\n]++(?:[.!?]++(?=[^\s.!?\"')\]])[^.!?。！？\n]++)*+[.!?。！？]*+[\"')\]]?")
_EMOTICON = re.compile(r"\s{1,2}[:;]-?[()DP](?=\s|$)")
"""Emoticons, which end a sentence like a full stop."""
_ABBREVIATED = re.compile(r"(?:\b(?i:e\.g|i\.e|etc|vs|dr|mr|mrs|ms|st|approx|incl)|(?<![\w/])[A-Z])\.$")
_CUT = re.compile(
    r";\s{1,3}|\s[-–—]{1,2}\s|,\s{1,3}(?:(?:and|but|so|or|while|yet)\s)?|\s(?:and|but|while|because(?!\sof\b))\s|\s\(|\)\s?"
    r"|\sso\s(?=\w{2,20}\s(?:me|us)\b)"
)
_OBJECT = re.compile(r"[A-Z]\w{0,30}(?:\s\w{1,20}){1,3}\s(?:it|them)\b")
"""`Katja owns it`: cut off from its referent it says nothing."""
_WORD = re.compile(r"[^\W_]++(?:['’.@/_+#&:-]++[^\W_]++)*+(?:\+\+|#(?!\w))?")
_SUBJECT = re.compile(
    r"(?:i|we|he|she|they|it|you|there|this|that|these|those|my|our|his|her|their|its|your|the|a|an"
    r"|i'm|i've|i'll|i'd|we're|we've|he's|she's|it's|they're|that's|there's)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:can|could|would|will|do|does|did|is|are|was|were|should|shall|may|any|what|which|who|whose|when|where|why|how)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"([a-z]{2,20})(?<!ed)(?<![^s]s)\s(?:me|us)\b", re.IGNORECASE)
"""Something asked for, whatever the verb: `tell me how`."""
_DIRECTIVE = re.compile(r"(?:always|never|don'?t|do\s+not|please|only|use|call|keep|no\s+more)\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"\b(?:i'm|i've|i'll|i'd|we're|we've|he's|she's|it's|they're|that's|there's)\b", re.IGNORECASE)
_SAID_OF = re.compile(
    r"\b(?:(?:i|we|you|they)\s+(?:\w+ly\s+|just\s+)?([a-z]{3,})|(?:he|she|it)\s+(?:\w+ly\s+|just\s+)?([a-z]{2,}(?:ed|[^s]s)))\b",
    re.IGNORECASE,
)
"""What follows a subject pronoun is a verb, whichever: `we base`, `she upgraded`."""
_MARKER = re.compile(
    r"(?:and|but|so|also|plus|btw|by\s+the\s+way|fyi|ps|p\.s\.|ok|okay|well|o+h+|a+h+|h+m+|u+[hm]+|e+r+m*|u+gh+|hey|hi|hello|yeah|yes|yep|yup|no|nope"
    r"|nah|wait|actually|anyway|anyways|please|pls|sorry|oops|right|sure|thanks|thank\s+you|look|listen|fine|great|cool"
    r"|heads[\s-]up|reminder|update|correction|note|context|background|just\s+so\s+you\s+know|for\s+(?:context|reference|info"
    r"|your\s+information|the\s+record|what\s+it's\s+worth)|in\s+case\s+it\s+(?:helps|matters)|as\s+(?:i|you)\s+\w+(?:\s+(?:before"
    r"|earlier))?|to\s+be\s+clear|like\s+i\s+said|quick\s+(?:note|one|thing|update)|one\s+(?:more\s+)?thing|good\s+to\s+know"
    r"|since(?=\s+(?:i|we|my|our|the|it|they|he|she|you|there)\b)|because(?!\s+of\b)|given\s+that|considering(?:\s+that)?|i\s+should\s+(?:add|mention|say)(?:\s+that)?|you\s+should\s+know(?:\s+that)?"
    r"|(?:please\s+)?note\s+that|turns\s+out|scratch\s+that|never\s+mind)(?![\w'])\s*[,:;.!–—-]*\s*",
    re.IGNORECASE,
)
"""Lead-ins before a statement that are not part of it."""
_NEVER_ALONE = re.compile(r"(?:no|yes|right|note|update|context|background|fine|great|cool|look|sure)\b", re.IGNORECASE)
"""Lead-ins only before a comma, a colon or another one: `no peanuts` and `update the docs` are statements."""


_WISH = re.compile(
    r"(?:(?:can|could|will|would) (?:you|u)|(?:is|would) it (?:be )?(?:ok|okay|possible) to) (?:please |pls )?(?P<wish>[^?]+)\?",
    re.IGNORECASE,
)
_FOR_GOOD = re.compile(
    r"\b(?:always|never|whenever|(?:every|each)\s+time|from\s+(?:now|here|today)(?:\s+on)?|in\s+(?:the\s+)?future|going\s+forward"
    r"|by\s+default|for\s+good)\b",
    re.IGNORECASE,
)
"""A wish for good, also as a question: `can you always answer in French?`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A piece of a message that says one thing, with its context."""

    text: str
    start: int
    end: int
    sentence: str
    """The whole sentence that contains it."""
    position: int
    """Number of sentences before it in the message."""
    before: str = ""
    """The preceding sentence."""
    head: str = ""
    """The text before the first colon, if the clause comes after it."""


def strip_clause_lead_ins(text: str) -> str:
    """Strip lead-ins from a clause, unless there is nothing else; of a wish for good also the asking."""
    rest = text
    while match := _MARKER.match(rest):
        ends_in_mark = match.group().rstrip()[-1:] in ",:;.!–—-"
        left = rest[match.end() :]
        leads_on = _MARKER.match(left) and not _NEVER_ALONE.match(left)
        if not left.strip() or (_NEVER_ALONE.match(rest) and not ends_in_mark and not leads_on):
            break
        rest = left
    wish = _WISH.fullmatch(rest.strip())
    return wish["wish"] if wish and _FOR_GOOD.search(wish["wish"]) else rest.strip()


def split_clauses(message: str) -> list[Clause]:
    """Return the clauses of a message in order."""
    found: list[Clause] = []
    before, head = "", ""
    for place, (sentence, start) in enumerate(_sentences(message[:LONGEST_MESSAGE])):
        for text, offset in _cut(sentence):
            if 0 < len(text) <= LONGEST_CLAUSE:
                found.append(
                    Clause(
                        text=text,
                        start=start + offset,
                        end=start + offset + len(text),
                        sentence=sentence,
                        position=place,
                        before=before,
                        head=head or _head_within(sentence, offset),
                    )
                )
        head = head or _head_of(sentence)
        before = sentence
    return found


def split_words(text: str) -> tuple[str, ...]:
    """Split into words as written, with straight apostrophes."""
    return tuple(_WORD.findall(text.replace("’", "'")))


def _sentences(message: str) -> Iterator[tuple[str, int]]:
    pending, at = "", 0
    for match in _SENTENCE.finditer(_EMOTICON.sub(lambda found: ".".ljust(len(found.group())), message)):
        text = match.group()
        if pending and match.start() == at + len(pending):
            text, start = pending + text, at
        else:
            if pending.strip():
                yield _stripped(pending, at)
            start = match.start()
        if _ABBREVIATED.search(text.rstrip()) and not text.endswith("\n"):
            pending, at = text, start
            continue
        pending = ""
        if text.strip():
            yield _stripped(text, start)
    if pending.strip():
        yield _stripped(pending, at)


def _stripped(text: str, start: int) -> tuple[str, int]:
    bare = text.lstrip()
    return bare.rstrip(), start + len(text) - len(bare)


def _head_of(sentence: str) -> str:
    """Return the words before a colon that announces material; empty if there is none."""
    left, colon, right = sentence.partition(":")
    if not colon or (right and not right[0].isspace()):
        return ""
    return left


def _head_within(sentence: str, offset: int) -> str:
    left = _head_of(sentence)
    return left if left and offset > len(left) else ""


def _cut(sentence: str) -> Iterator[tuple[str, int]]:
    """Yield the clauses of a sentence with their offsets."""
    start = 0
    colon = re.match(r"[^:\n]{2,60}:\s+(?=\S)", sentence)
    if colon and contains_verb(sentence[colon.end() :]):
        yield _trimmed(sentence, 0, colon.end())
        start = colon.end()
    for match in _CUT.finditer(sentence, start):
        left, right = sentence[start : match.start()], sentence[match.end() :]
        is_asked = match.group().startswith(",") and right.endswith("?")
        if can_stand_alone(left) and (is_asked or can_stand_alone(right, is_right=True)) and not _OBJECT.match(right):
            yield _trimmed(sentence, start, match.start())
            start = match.end()
    yield _trimmed(sentence, start, len(sentence))


def _trimmed(sentence: str, start: int, end: int) -> tuple[str, int]:
    text = sentence[start:end]
    bare = text.lstrip(" ,;(–—")
    return bare.rstrip(" ,;(–—"), start + len(text) - len(bare)


def can_stand_alone(text: str, *, is_right: bool = False) -> bool:
    """Whether a piece of a sentence has its own subject and verb, or is a directive."""
    if _DIRECTIVE.match(text) or (is_right and (_asks_for(text) or (text.endswith("?") and _ASKING.match(text)))):
        return True
    written = split_words(text[:LONGEST_CLAUSE])[:LONGEST_SIDE]
    if len(written) < 2:
        return False
    if is_right and written[0].islower() and not _SUBJECT.match(text):
        verb = find_verb_index(written)
        # `and now have 135 customers` has a verb, and who has them stands before.
        return verb is not None and verb <= 3 and any(word not in SKIPPED for word in written[:verb])
    return contains_verb(text)


def _asks_for(text: str) -> bool:
    found = _REQUEST.match(text)
    return found is not None and found[1].casefold() not in FUNCTION_WORDS | verb_forms()


def contains_verb(text: str) -> bool:
    written = split_words(text[:LONGEST_CLAUSE])[:LONGEST_SIDE]
    return (
        _CONTRACTED.search(" ".join(written)) is not None
        or any((each[1] or each[2]).casefold() not in FUNCTION_WORDS for each in _SAID_OF.finditer(" ".join(written)))
        or find_verb_index(written) is not None
        or any(word in verb_forms() for word in written[1:])
    )


@cache
def verb_forms() -> frozenset[str]:
    """Forms that are verbs in any context: `left`, `took`, `went`."""
    return frozenset(word for line in read_lines("irregular_forms") for word in line.split()[1:])


COMMON = 4.9
"""Zipf frequency from which a word stands for itself."""
FRAME_CHARS = 300
"""Characters on either side of a clause that are read as its frame."""
LONG_MESSAGE = 600
"""Length from which a message likely contains pasted text."""

_NUMBER = re.compile(r"\d[\d.,:]*(?:[a-z%]{0,4})")
_PATH = re.compile(r"\w[./_@:-]\w")
_SYMBOLS = re.compile(r"[{}<>=|\\$*#;\[\]]")
_LOG = re.compile(r"\b\d{2}:\d{2}:\d{2}\b|\b(?:ERROR|WARN|INFO|DEBUG|Traceback|Exception)\b|^\s*at \w|^\s*File \"")
_SUFFIXES = ("ing", "ed", "ly", "s")


def features_of(clause: Clause, message: str) -> frozenset[str]:
    """Return the features of a clause within its message."""
    shapes = ["^", *to_word_shapes(clause.text), "$"]
    return frozenset(
        (
            *(f"w {shape}" for shape in shapes),
            *_ngram_features("b", shapes, 2),
            *_starts(shapes),
            *_context(clause),
            *_frame(clause, message),
            *_marks(clause, message),
        )
    )


def to_word_shapes(text: str) -> list[str]:
    """Return each word as itself if it is common, else as its shape."""
    return [_shape(word, first=not at) for at, word in enumerate(split_words(text))]


@lru_cache(maxsize=20_000)
def _shape(word: str, *, first: bool) -> str:
    small = word.casefold()
    if small in FUNCTION_WORDS or "'" in small:
        return small
    if _NUMBER.fullmatch(small):
        return "<number>"
    if word[:1].isupper() and not first:
        return "<name>"
    if is_common_word(small):
        return small
    if _PATH.search(word):
        return "<path>"
    return next((f"<{suffix}>" for suffix in _SUFFIXES if small.endswith(suffix)), "<word>")


def is_common_word(word: str) -> bool:
    """Whether a word is common, or a compound of such words; as `wordfreq` says, without its large dictionary."""
    shares, inverse = _common_shares(), 0.0
    for token in lossy_tokenize(word, "en"):
        known = smash_numbers(token)
        if known not in shares:
            return False
        inverse += 1 / (shares[known] * (digit_freq(token) if known != token else 1))
    return bool(inverse) and round(9 - math.log10(inverse), 2) >= COMMON


@cache
def _common_shares() -> dict[str, float]:
    return word_shares(COMMON)


def _ngram_features(kind: str, shapes: Sequence[str], size: int) -> Iterator[str]:
    for at in range(len(shapes) - size + 1):
        yield f"{kind} {' '.join(shapes[at : at + size])}"


def _starts(shapes: Sequence[str]) -> Iterator[str]:
    for length in (1, 2, 3):
        yield f"s{length} {' '.join(shapes[1 : 1 + length])}"


def _context(clause: Clause) -> Iterator[str]:
    if clause.head:
        head = to_word_shapes(clause.head)
        yield "behind a colon"
        yield from (f"h {shape}" for shape in head[:6])
    elif clause.position:
        yield "not first"
        before = to_word_shapes(clause.before)
        yield f"before {' '.join(before[:1])}"
        yield f"before {' '.join(before[:2])}"
        yield "after a question" if clause.before.endswith("?") else "after a statement"
    else:
        yield "first"
    if clause.text != clause.sentence:
        yield "part of a sentence"


def _frame(clause: Clause, message: str) -> Iterator[str]:
    """Yield the words around a clause: they tell whether it is the writer's own, a story or a quoted mail."""
    around = message[: clause.start][-FRAME_CHARS:], message[clause.end :][:FRAME_CHARS]
    for where, text in zip(("left", "right"), around, strict=True):
        for word in {word.casefold() for word in split_words(text)}:
            if word.isalpha() and len(word) > 2:
                yield f"{where} {word}"
    for word in {word.casefold() for word in split_words(clause.text)}:
        if word.isalpha():
            yield f"r {word}"


def _marks(clause: Clause, message: str) -> Iterator[str]:
    text, sentence = clause.text, clause.sentence
    if text.endswith("?"):
        yield "asks"
    elif sentence.endswith("?"):
        yield "before a question"
    if text.endswith("!"):
        yield "shouts"
    if text.endswith(":"):
        yield "announces"
    symbols = len(_SYMBOLS.findall(text))
    if symbols >= 2:
        yield "symbols"
    if symbols >= 5:
        yield "many symbols"
    if _LOG.search(text):
        yield "log"
    if '"' in sentence or "“" in sentence:
        yield "quotes"
    if text.startswith(("-", "*", "•", ">")):
        yield "bullet"
    count = len(split_words(text))
    yield f"length {min(count // 3, 8)}"
    if "\n" in message.strip():
        yield "lines"
    if len(message) > LONG_MESSAGE:
        yield "long message"
    if "?" in message:
        yield "message asks"
