"""Defines the table of cue patterns and finds the operands of a cue.

The object is the noun phrase after the cue, the subject what stands before it: a word, a name, an
abbreviation in parentheses, or the phrase before a parenthesis or an apposition. Words that name nothing
cannot be operands.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from festinger.text.assertion import AnnotatedText
from festinger.text.vocabulary import is_common as is_common_english
from festinger.text.words import FUNCTION_WORDS, load_words

TYPE = "type"
MEMBERSHIP = "membership"
OWNED_BY = "owned-by"
RUNS_ON = "runs-on"
TECH = "tech"
GEOGRAPHY = "geography"

KEYWORD = 0.70
PHRASE = 0.65
BARE = 0.60
SEVERAL_WORDS = 0.60
"""Maximum confidence for an object of several words."""
LOOSE = 0.55
"""Maximum confidence where the subject is further away or the wording is less explicit."""
WEAK = 0.50
"""Maximum confidence for common words, the past tense, and ambiguous wording: stored, but silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CuePattern:
    """What a cue says about the thing before it and the thing after it."""

    name: str
    is_isa: bool
    dimension: str
    confidence: float
    opens_clause: bool = False
    """Whether a common word can be its subject only where a clause begins."""
    whole_first: bool = False
    """Whether the whole stands before its part."""


def _isa_pattern(name: str, confidence: float, *, opens_clause: bool = False) -> CuePattern:
    return CuePattern(name=name, is_isa=True, dimension=TYPE, confidence=confidence, opens_clause=opens_clause)


def _part(name: str, dimension: str, confidence: float, *, opens_clause: bool = False) -> CuePattern:
    return CuePattern(name=name, is_isa=False, dimension=dimension, confidence=confidence, opens_clause=opens_clause)


def _whole(name: str, confidence: float = WEAK) -> CuePattern:
    return CuePattern(name=name, is_isa=False, dimension=MEMBERSHIP, confidence=confidence, whole_first=True)


def _by_words(*patterns: CuePattern) -> Mapping[tuple[str, ...], CuePattern]:
    return {tuple(pattern.name.split()): pattern for pattern in patterns}


KEYWORDS = {"ISA": _isa_pattern("ISA", KEYWORD), "ISPART": _part("ISPART", MEMBERSHIP, KEYWORD)}

ALONE = _by_words(
    _part("belongs to", MEMBERSHIP, PHRASE),
    _part("belong to", MEMBERSHIP, PHRASE),
    _part("runs on", RUNS_ON, PHRASE),
    _isa_pattern("kind of", BARE, opens_clause=True),
    _isa_pattern("type of", BARE, opens_clause=True),
    _isa_pattern("instance of", BARE, opens_clause=True),
    _part("part of", MEMBERSHIP, BARE, opens_clause=True),
    _part("member of", MEMBERSHIP, BARE, opens_clause=True),
    _part("contained in", MEMBERSHIP, BARE, opens_clause=True),
    _part("owned by", OWNED_BY, BARE, opens_clause=True),
    _part("hosted by", RUNS_ON, BARE, opens_clause=True),
    _part("deployed on", RUNS_ON, BARE, opens_clause=True),
    _whole("consists of", PHRASE),
    _whole("consist of", PHRASE),
    _whole("comprises", PHRASE),
    _whole("comprise", PHRASE),
    _whole("contains", LOOSE),
    _whole("includes", LOOSE),
    _isa_pattern("refers to", LOOSE),
    _isa_pattern("refer to", LOOSE),
)
"""Cues that need no other word."""

AFTER_BE = _by_words(
    _part("part of", MEMBERSHIP, PHRASE),
    _part("parts of", MEMBERSHIP, PHRASE),
    _part("members of", MEMBERSHIP, PHRASE),
    _part("owned by", OWNED_BY, PHRASE),
    _part("hosted by", RUNS_ON, PHRASE),
    _part("deployed on", RUNS_ON, PHRASE),
    _part("contained in", MEMBERSHIP, PHRASE),
    _part("written in", TECH, PHRASE),
    _part("built with", TECH, PHRASE),
    _part("located in", GEOGRAPHY, PHRASE),
    _isa_pattern("defined as", LOOSE),
    _whole("composed of", PHRASE),
    _whole("comprised of", PHRASE),
    _whole("made up of", PHRASE),
)
"""Cues after a form of `be`."""

OWN = frozenset({"my", "our"})
"""Words by which people claim something as theirs: what they name then has that name."""
ARTICLES = {"a": PHRASE, "an": PHRASE, "any": LOOSE, "the": WEAK, **dict.fromkeys(OWN, PHRASE)}
"""Words between a form of `be` and the object, with the confidence they give."""

FORMS_OF_BE = {"is": PHRASE, "are": BARE, "was": WEAK, "were": WEAK}
"""Maximum confidence by form: the past need not hold now."""

PARTS = frozenset({"part", "parts", "member", "members"})
"""Nouns before `of` that turn what something is into what it is part of."""


COLLECTIVE = _whole("of", WEAK)
"""`a herd of cattle`: the first word of the cue is itself the whole."""


IsCommon = Callable[[str], bool]

LONGEST_PHRASE = 6
"""Maximum words of an object."""
LONGEST_SUBJECT = 4
"""Maximum words of a subject that is no name."""
EVERYDAY_ZIPF = 4.5
"""English words at least this frequent are no names at the start of a sentence."""
FARTHEST = 60
"""Tokens between a subject and its cue, in parentheses or an apposition; bounds the cost of hostile texts."""

_PRONOUNS = load_words("pronouns")
_PARTICIPLES = load_words("participles")
_NOT_PARTICIPLES = load_words("not_participles")
_AFTERTHOUGHTS = load_words("afterthoughts")
_LY_NOUNS = load_words("ly_nouns")
_ADJECTIVES = load_words("adjectives")
_NOT_ADJECTIVES = load_words("not_adjectives")
_SAYINGS = load_words("sayings")
_EMPTY_NOUNS = load_words("empty_nouns")
_ADVERBS = load_words("adverbs")
_OPENERS = load_words("openers") | load_words("adverbs")
_CUE_WORDS = {phrase[:2] for phrase in ALONE if len(phrase) > 1} | {phrase[:2] for phrase in AFTER_BE}

ARTICLE_WORDS = frozenset({"a", "an", "the"})
GENERIC = frozenset({"a", "an", "every", "any"})
POSSESSIVES = frozenset({"my", "your", "his", "her", "its", "our", "their", "whose"})
LABELS = frozenset({"abbreviation", "expression", "label", "name", "nickname", "phrase", "synonym", "term", "word"})
"""Nouns for words: the thing itself stands next to them, or after their `for`."""
_PARTICULAR = POSSESSIVES | {"the"}
QUANTIFIERS = load_words("quantifiers")
HEDGES = frozenset({"bit", "lot", "tad"})
"""`a bit slow` names nothing."""
_POINTING = ARTICLE_WORDS | POSSESSIVES | frozenset({"this", "that", "these", "those", "some", "each", "no"})

_PREAMBLES = frozenset(
    [
        "in",
        "on",
        "at",
        "for",
        "from",
        "within",
        "during",
        "among",
        "under",
        "since",
        "after",
        "before",
        "according",
        "as",
        "with",
        "by",
        "of",
    ]
) | load_words("openers")
_OPENING = re.compile(r"""[ \t]+[\[*_"“'‘`]*[ \t]*""")
_CLOSING = re.compile(r"""[ \t]*[\]*_"”'’`]{0,3}[ \t]+""")
_PARENTHESIS_ENDS = re.compile(r"""[^()\w,;:]*\)[ \t)]*["”'’*_]*[ \t]+""")
_APPOSITION_ENDS = re.compile(r"""[^()\w;:]{0,20}[ \t)]{0,8}["”'’*_]{0,4}[ \t]{0,4},[ \t]{1,8}""")
_APPOSITION_BEGINS = re.compile(r"""["”'’*_]*[ \t]*[,(]""")
_INNER = re.compile(r"[ \t]+\[*[ \t]*|[ \t]*/[ \t]*")
_COMMA = re.compile(r"[ \t]*,[ \t]+")
_ADJECTIVE_ENDINGS = ("ous", "ful", "less", "ical", "ional")
_OWNER = re.compile(r"['’]['’s]")
_BLANK = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"[\d._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A thing that a cue relates: its text, the tokens it spans, and the maximum confidence in it."""

    text: str
    first: int
    last: int
    words: int = 1
    at_most: float = 1.0


def is_number(token: str) -> bool:
    return _NUMBER.fullmatch(token) is not None or token.isnumeric()


def is_blank(gap: str) -> bool:
    return gap == " " or _BLANK.fullmatch(gap) is not None


def noun_phrase_after(reading: AnnotatedText, start: int) -> range:
    """Return the tokens of the noun phrase at `start`, without its articles and owners."""
    first = end = _index_after_article(reading, start)
    limit = min(len(reading.tokens), first + LONGEST_PHRASE)
    while end < limit:
        if end > first and _OWNER.match(reading.gap(end)):
            first = end
        elif _ends_phrase(reading, end, first=first):
            link = _find_phrase_continuation(reading, end, first=first)
            if link is None:
                break
            end = link
        end += 1
    return range(first, min(end, limit))


def _index_after_article(reading: AnnotatedText, start: int) -> int:
    if start + 1 < len(reading.tokens) and reading.tokens[start].text in ARTICLE_WORDS | POSSESSIVES:
        return start + 1 if is_blank(reading.gap(start + 1)) else start
    return start


def _ends_phrase(reading: AnnotatedText, index: int, *, first: int) -> bool:
    word = reading.tokens[index].text
    if word in FUNCTION_WORDS or (index > first and not _INNER.fullmatch(reading.gap(index))):
        return True
    return index > first and (_follows_noun(reading, index) or _opens_cue(reading, index))


def skip_quantifiers(reading: AnnotatedText, start: int) -> int:
    """Return where the noun phrase of `one of the three most …` begins."""
    while (
        start + 1 < len(reading.tokens)
        and reading.tokens[start].text in QUANTIFIERS
        and is_blank(reading.gap(start + 1))
    ):
        start += 1
    return start


def _find_phrase_continuation(reading: AnnotatedText, end: int, *, first: int) -> int | None:
    """Return the token where a phrase that ends in an adjective continues after a comma, `and` or `or`."""
    if end == first or not _may_be_adjective(reading.tokens[end - 1].text):
        return None
    if reading.tokens[end].text in ("and", "or") and is_blank(reading.gap(end).removeprefix(",")):
        end += 1
    elif not _COMMA.fullmatch(reading.gap(end)):
        return None
    goes_on = end < len(reading.tokens) and reading.tokens[end].text not in FUNCTION_WORDS
    return end if goes_on else None


def _may_be_adjective(word: str) -> bool:
    """Return whether it precedes a noun when a comma, `and` or `or` follows it; includes `two-wheeled`."""
    return is_adjective(word) or "-" in word


def _opens_cue(reading: AnnotatedText, index: int) -> bool:
    following = reading.tokens[index + 1].text if index + 1 < len(reading.tokens) else ""
    word = reading.tokens[index].text
    return (word, following) in _CUE_WORDS and word not in _NOUN_CUES


_NOUN_CUES = frozenset({"kind", "type", "instance", "part", "parts", "member", "members"})


def _follows_noun(reading: AnnotatedText, index: int) -> bool:
    """Return whether the word only qualifies the noun before it."""
    word = reading.tokens[index].text
    if word in _PARTICIPLES and word.endswith(("ing", "ed")):
        # After an adverb it may precede a noun: `a commonly used phrase`.
        return not (reading.tokens[index - 1].text.endswith("ly") and _noun_follows(reading, index))
    if word.endswith("ing") and index + 1 < len(reading.tokens):
        return reading.tokens[index + 1].text in ARTICLE_WORDS | POSSESSIVES
    if word in _PARTICIPLES or word in _AFTERTHOUGHTS or _looks_adverbial(word):
        # `a specific set`: after an adjective even a participle is the noun.
        return not (is_adjective(reading.tokens[index - 1].text) or _noun_follows(reading, index))
    return False


def _looks_adverbial(word: str) -> bool:
    """Return whether it ends like a participle or an adverb."""
    if word.endswith("ed"):
        return word not in _NOT_PARTICIPLES
    return word.endswith("ly") and word not in _LY_NOUNS


def _noun_follows(reading: AnnotatedText, index: int) -> bool:
    """Return whether the phrase continues after the word, so that it belongs to a later noun."""
    if index + 1 >= len(reading.tokens) or not is_blank(reading.gap(index + 1)):
        return False
    following = reading.tokens[index + 1].text
    if following in FUNCTION_WORDS or following in _PARTICIPLES:
        return False
    return not _looks_adverbial(following)


def is_adjective(word: str) -> bool:
    """Return whether it can only be a word that precedes a noun."""
    if word in _ADJECTIVES or _looks_adverbial(word):
        return True
    return word.endswith(_ADJECTIVE_ENDINGS) and word not in _NOT_ADJECTIVES


def object_after(reading: AnnotatedText, start: int, *, is_whole: bool = False) -> Operand | None:
    """Return what the cue before `start` says the subject is or is part of; a given whole keeps its name."""
    if start >= len(reading.tokens) or not _OPENING.fullmatch(reading.gap(start)):
        return None
    phrase = noun_phrase_after(reading, start)
    if not phrase or not _can_be_operand(reading, phrase[-1]):
        return None
    word = reading.tokens[phrase[-1]].text
    if word in _EMPTY_NOUNS or reading.tokens[phrase[0]].text in HEDGES or is_adjective(word):
        return None
    if is_whole and reading.tokens[start].text in _PARTICULAR:
        word = _name_of_whole(reading, phrase)
    return Operand(text=word, first=phrase[0], last=phrase[-1], words=len(phrase))


def _name_of_whole(reading: AnnotatedText, phrase: range) -> str:
    """Return `payments_team` for `the payments team`, but `orchard` for `the Orchard project`."""
    nouns = [reading.tokens[at] for at in phrase if at == phrase[-1] or not is_adjective(reading.tokens[at].text)]
    if [token.capital for token in nouns] == [True, False]:
        return nouns[0].text
    return "_".join(token.text for token in nouns)


def dimension_after(
    reading: AnnotatedText, last: int, *, dimensions: Container[str], is_common: IsCommon
) -> Operand | None:
    """Return the dimension that `of Z` after an object names: empty if Z is no name, `None` without `of`."""
    index = last + 1
    if not _is_word(reading, index, "of"):
        return None
    index += 2 if _is_word(reading, index + 1, "the") else 1
    if index >= len(reading.tokens) or not _OPENING.fullmatch(reading.gap(index)):
        return Operand(text="", first=last, last=last, at_most=WEAK)
    token = reading.tokens[index]
    named = token.capital or token.text in dimensions or not is_common(token.text)
    if not named or token.text in FUNCTION_WORDS or not _can_be_operand(reading, index):
        return Operand(text="", first=last, last=last, at_most=WEAK)
    return Operand(text=token.text, first=index, last=index)


def _is_word(reading: AnnotatedText, index: int, word: str) -> bool:
    return index < len(reading.tokens) and reading.tokens[index].text == word and is_blank(reading.gap(index))


def part_after(reading: AnnotatedText, start: int, *, is_common: IsCommon) -> Operand | None:
    """Return the part that is named after its whole; a common word only if no determiner precedes it."""
    part = object_after(reading, start)
    if part is None or not is_common(part.text):
        return part
    if part.first > start:
        return None
    return replace(part, at_most=WEAK)


def whole_at(reading: AnnotatedText, cue: int, *, lowest: int, is_collective: bool) -> Operand | None:
    """Return the whole that is named before its part, or that is itself the first word of the cue."""
    if is_collective:
        return Operand(text=reading.tokens[cue].text, first=cue, last=cue)
    lowest = max(lowest, reading.bounds(cue)[0], cue - FARTHEST)
    place = _find_subject_end(reading, cue, lowest=lowest)
    if place is None:
        return None
    index, at_most = place
    word = reading.tokens[index].text
    if word in _PRONOUNS or word in FUNCTION_WORDS or not _can_be_operand(reading, index):
        return None
    return Operand(text=word, first=index, last=index, at_most=at_most)


def subjects_before(
    reading: AnnotatedText, cue: int, *, lowest: int, strict: bool, is_common: IsCommon, is_own: bool = False
) -> list[Operand]:
    """Return the subjects of the cue that begins at token `cue`: mostly one, two if it has two names.

    No token before `lowest` is considered. `strict` allows a common word only where a clause begins; `is_own`
    means that the speaker calls the subject theirs.
    """
    lowest = max(lowest, reading.bounds(cue)[0], cue - FARTHEST)
    place = _find_subject_end(reading, cue, lowest=lowest)
    if place is None:
        return []
    index, at_most = place
    subject = _subject_at(reading, index, lowest=lowest, strict=strict, is_common=is_common)
    if subject is None:
        return []
    if subject.at_most == WEAK and _is_used_as_name(reading, index, lowest=lowest, is_own=is_own):
        subject = Operand(text=reading.tokens[index].text, first=index, last=index)
    subject = replace(subject, at_most=min(subject.at_most, at_most))
    other = _other_name(reading, subject.first, lowest=lowest, is_common=is_common)
    return [subject] if other is None else [other, subject]


def _find_subject_end(reading: AnnotatedText, cue: int, *, lowest: int) -> tuple[int, float] | None:
    """Return the last token of the subject, and the maximum confidence in that."""
    index = cue - 1
    while index >= lowest and reading.tokens[index].text in _ADVERBS and is_blank(reading.gap(index + 1)):
        index -= 1
    if index < lowest:
        return None
    gap = reading.gap(index + 1)
    if _CLOSING.fullmatch(gap):
        return index, 1.0
    if _PARENTHESIS_ENDS.fullmatch(gap):
        return _before_parenthesis(reading, index, lowest=lowest)
    if _APPOSITION_ENDS.fullmatch(gap):
        return _before_apposition(reading, index, lowest=lowest)
    return None


def _before_parenthesis(reading: AnnotatedText, last: int, *, lowest: int) -> tuple[int, float] | None:
    opening = _opening_parenthesis(reading, last, lowest=lowest)
    if opening is None:
        return None
    if opening == last and _is_abbreviation(reading, last):
        return last, 1.0
    if opening - 1 < lowest:
        return None
    return opening - 1, LOOSE


def _opening_parenthesis(reading: AnnotatedText, last: int, *, lowest: int) -> int | None:
    """Return the first token inside the parenthesis that closes after `last`."""
    depth = _parenthesis_depth(reading.gap(last + 1)) if last + 1 < len(reading.tokens) else 1
    for index in range(last, lowest, -1):
        depth += _parenthesis_depth(reading.gap(index))
        if depth <= 0:
            return index
    return None


def _parenthesis_depth(gap: str) -> int:
    return gap.count(")") - gap.count("(")


def _is_abbreviation(reading: AnnotatedText, index: int) -> bool:
    token = reading.tokens[index]
    written = reading.text[token.start : token.end]
    return len(written) > 1 and sum(letter.isupper() for letter in written) * 2 >= len(written)


def _before_apposition(reading: AnnotatedText, last: int, *, lowest: int) -> tuple[int, float] | None:
    """Return the subject of `X, which is known as …, is a Y`: the phrase at the start of the sentence."""
    first = reading.bounds(last)[0]
    if first < lowest:
        return None
    if reading.tokens[first].text in _PREAMBLES:
        first = next((index for index in range(first + 1, last) if reading.gap(index).startswith(",")), last)
    phrase = noun_phrase_after(reading, first)
    if not phrase or phrase[-1] >= last or not _APPOSITION_BEGINS.match(reading.gap(phrase[-1] + 1)):
        return None
    return phrase[-1], LOOSE


def _subject_at(
    reading: AnnotatedText, index: int, *, lowest: int, strict: bool, is_common: IsCommon
) -> Operand | None:
    token = reading.tokens[index]
    if token.text in _PRONOUNS or token.text in FUNCTION_WORDS or not _can_be_operand(reading, index):
        return None
    if "_" in token.text or not is_common(token.text):
        return Operand(text=token.text, first=index, last=index)
    return _common_subject(reading, index, lowest=lowest, strict=strict)


def _is_used_as_name(reading: AnnotatedText, index: int, *, lowest: int, is_own: bool) -> bool:
    """Return whether an ordinary word is used as a name: it stands alone and is capitalized.

    At the start of a sentence this needs `is_own`: `Atlas is our server`, but `Speed is our concern`.
    """
    token, before = reading.tokens[index], index - 1
    if not token.capital or reading.tokens[index + 1].capital:
        return False
    if token.sentence_start and (not is_own or is_common_english(token.text, EVERYDAY_ZIPF)):
        return False
    return before < lowest or reading.tokens[before].text not in _POINTING


def _common_subject(reading: AnnotatedText, index: int, *, lowest: int, strict: bool) -> Operand | None:
    """Return a common word with the words that belong to it; `None` if it refers to something at hand."""
    first = _phrase_start(reading, index, lowest=lowest)
    before = first - 1
    if before >= lowest and _OWNER.match(reading.gap(first)):
        return None
    if before < lowest or not is_blank(reading.gap(first)):
        return _joined(reading, first, index)
    determiner = reading.tokens[before]
    if determiner.text in _POINTING:
        named = any(reading.tokens[at].capital for at in range(first, index + 1))
        begins = before == lowest or not is_blank(reading.gap(before))
        generic = determiner.text in GENERIC and begins
        return _joined(reading, first, index) if generic or (named and determiner.text in ARTICLE_WORDS) else None
    return None if strict else Operand(text=reading.tokens[index].text, first=index, last=index, at_most=WEAK)


def _phrase_start(reading: AnnotatedText, index: int, *, lowest: int) -> int:
    first = index
    while first > lowest and index - first < LONGEST_SUBJECT - 1 and _belongs_to_phrase(reading, first):
        first -= 1
    while first < index and reading.tokens[first].sentence_start and reading.tokens[first].text in _OPENERS:
        first += 1
    return first


def _belongs_to_phrase(reading: AnnotatedText, first: int) -> bool:
    """Return whether the word before belongs to the phrase that begins at `first`."""
    word = reading.tokens[first - 1].text
    return is_blank(reading.gap(first)) and not (
        word in FUNCTION_WORDS or word in _PRONOUNS or word in _SAYINGS or word in LABELS or is_number(word)
    )


def _joined(reading: AnnotatedText, first: int, last: int) -> Operand:
    name = "_".join(reading.tokens[index].text for index in range(first, last + 1))
    return Operand(text=name, first=first, last=last, at_most=WEAK)


def _other_name(reading: AnnotatedText, first: int, *, lowest: int, is_common: IsCommon) -> Operand | None:
    """Return the first of two names for one thing, as in `the X or Y is a Z` at the start of a sentence."""
    at = first - 1
    if at >= lowest and reading.tokens[at].text in ARTICLE_WORDS:
        at -= 1
    if at <= lowest or reading.tokens[at].text != "or" or not reading.tokens[lowest].sentence_start:
        return None
    place = _find_subject_end(reading, at, lowest=lowest)
    other = place and _subject_at(reading, place[0], lowest=lowest, strict=True, is_common=is_common)
    return replace(other, at_most=WEAK) if other else None


def _can_be_operand(reading: AnnotatedText, index: int) -> bool:
    """Return whether a token can be an operand: no number, and no part of a longer quotation."""
    if is_number(reading.tokens[index].text):
        return False
    span = reading.quotation_span(index)
    if span is None:
        return True
    neighbours = (at for at in (index - 1, index + 1) if 0 <= at < len(reading.tokens))
    return not any(span[0] <= reading.tokens[at].start < span[1] for at in neighbours)
