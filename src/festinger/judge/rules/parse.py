"""Reads from one statement all that decides whether another says the same.

Reads a text once: its words and content, numbers, days, negations, quantifiers, names, tense, the words that
announce a change, and the slots it fills (`parse_slots`). Pure, and linear in the length of the text.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from itertools import pairwise

from festinger.judge.model import Slot
from festinger.judge.rules.quantities import MONTH_NAME, UNITS, Quantities, parse_quantities
from festinger.judge.rules.slots import LONGEST_SUBJECT, TokenizedSentence, find_verb_index, parse_slots
from festinger.judge.rules.words import load_kinds, load_phrases, load_words, load_words_of_kind, read_lines, stem
from festinger.text.hygiene import strip_lead_in
from festinger.text.normalize import fold, normalize_text
from festinger.text.words import FUNCTION_WORDS
from festinger.text.words import load_words as text_words

LONGEST_CACHED = 2000
"""Characters of a text whose reading is cached: longer ones are rare and large."""

LONGEST_READ = 20_000
"""Characters of a text that are read; no memory is as long, and of the rest only the fold is compared."""

LONGEST_SENTENCE = 1000
"""Characters of a text that may fill a slot: longer ones say more than one thing."""

BEGINNING = 6
"""Words within which a number names what a statement is about, where no verb is known."""

_WORD = re.compile(r"[^\W_]++(?:['.@/_+#&:-]++[^\W_]++)*+(?:\+\+|#(?!\w))?")
_SENTENCE_END = re.compile(r"[.!?:;\n\"(]\s{0,3}+$")
_IDENTIFIER = re.compile(r"[a-z]\w*+[_/@.]\w|\w++[_/@]\w|[a-z]++-?\d|\d++[a-z-]++\d|v?\d++\.\d++\.\d")
_DAY = re.compile(r"\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?|\d{1,4}\.\d{1,2}\.\d{4}")
_PRONOUNS = {
    form: person
    for person, forms in {
        "i": "i me my mine myself",
        "you": "you your yours yourself",
        "he": "he him his himself",
        "she": "she her hers herself",
        "we": "we us our ours ourselves",
        "they": "they them their theirs themselves",
    }.items()
    for form in forms.split()
}
_PAST = frozenset(["was", "were", "had", "did"])
_HAD = frozenset(("had", each) for each in load_words_of_kind("grammar", "article"))
_FUTURE = frozenset(["will", "shall"])
_RELATIONAL = load_words_of_kind("grammar", "relational")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementReading:
    fold: str
    whole: bool
    """Whether all of it was read."""
    words: tuple[str, ...]
    """In lowercase, as written."""
    head: tuple[str, ...]
    """The words before the verb, which name what it is about; none where they are many or not known."""
    content: tuple[str, ...]
    """Stems of the content words in order; numbers are in `amounts`."""
    gist: tuple[str, ...]
    """Words in order without function words; negations, numbers and modal verbs stay."""
    amounts: Quantities
    negations: int
    """How many of its clauses are denied."""
    doubled: bool
    """Whether one of its clauses is negated twice: `nobody did not`."""
    denied: frozenset[str]
    """Stems of the content words that are denied; of all where a mere `No` does."""
    quantifiers: frozenset[str]
    names: frozenset[str]
    capitalized: frozenset[str]
    """Names that may be ordinary words: they have their capital from the start of a sentence."""
    persons: frozenset[str]
    """Grammatical persons of its pronouns."""
    relations: tuple[str, ...]
    """Prepositions in alphabetical order: they say who does what to whom."""
    tense: frozenset[str]
    announces: bool
    """Whether it says that something has changed."""
    past: bool
    """Whether it is about the past."""
    slots: tuple[Slot, ...]
    stemmed: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stemmed", frozenset(self.content))

    @property
    def negated(self) -> bool:
        return self.negations > 0


def parse_statement(text: str, *, said_at: datetime | None = None) -> StatementReading:
    if len(text) > LONGEST_CACHED:
        return _read(text, said_at)
    return _kept(text, said_at)


def _read(text: str, said_at: datetime | None) -> StatementReading:
    plain = _straighten_quotes(normalize_text(strip_lead_in(text[:LONGEST_READ])))
    found = [(match.group(), match.start()) for match in _WORD.finditer(plain)]
    written = tuple(word for word, _ in found)
    small = tuple(word.casefold() for word in written)
    starts = tuple(_starts_sentence(plain, at) for _, at in found)
    bare = tuple(map(without_possessive, small)) if "'" in plain else small
    amounts = parse_quantities(plain.casefold(), said_at=said_at)
    content = tuple(stem(short) for word, short in zip(small, bare, strict=True) if _is_content(word, short))
    negated = _find_negated_clauses(small, plain)
    denied = [words for words in negated if sum(map(_denies, words, [*words[1:], ""])) % 2]
    # `without` denies only what follows it.
    reach = {
        without_possessive(word) for words in denied for word in words["without" in words and words.index("without") :]
    }
    return StatementReading(
        fold=fold(text),
        whole=len(text) <= LONGEST_READ,
        words=small,
        head=_head(written, small),
        content=content,
        gist=tuple(
            short
            for word, short in zip(small, bare, strict=True)
            if word not in FUNCTION_WORDS or word in _kept_in_gist()
        ),
        amounts=amounts,
        negations=len(denied),
        doubled=any(map(_has_two_negators, negated)),
        denied=frozenset(stem(each) for each in reach if _is_content(each, each)) or frozenset(content),
        quantifiers=_quantifiers(written),
        names=_names(written, bare, starts),
        capitalized=frozenset(
            short
            for word, short, first in zip(small, bare, starts, strict=True)
            if first and word not in FUNCTION_WORDS
        ),
        persons=frozenset(_PRONOUNS[word] for word in small if word in _PRONOUNS),
        relations=tuple(sorted(word for word in small if word in _RELATIONAL)),
        tense=_tense(small),
        announces=_contains_listed_phrase(small, "update_cues"),
        past=_contains_listed_phrase(small, "past_cues") or any(map(_HAD.__contains__, pairwise(small))),
        slots=parse_slots(TokenizedSentence(text=plain, words=written, starts=starts))
        if len(plain) <= LONGEST_SENTENCE
        else (),
    )


_kept = lru_cache(maxsize=4096)(_read)


def _head(written: tuple[str, ...], small: tuple[str, ...]) -> tuple[str, ...]:
    spoken = small[0].partition("'")[0] if small else ""
    if spoken in _PRONOUNS and _PRONOUNS[spoken] == spoken:
        return (spoken,)
    places = [find_verb_index(written), next((at for at in range(1, len(small)) if small[at] in _irregular()), None)]
    if found := [at for at in places if at is not None]:
        return small[: min(found)] if min(found) <= LONGEST_SUBJECT else ()
    # `Room 12 seats eight`: what a number names at the beginning, whatever follows.
    numbered = (at for at in range(1, min(BEGINNING, len(small))) if small[at][-1].isdigit())
    return next((small[: at + 1] for at in numbered if small[at - 1] not in FUNCTION_WORDS), ())


@cache
def _irregular() -> frozenset[str]:
    """Forms that are verbs wherever they stand: `took`, `went`."""
    return frozenset(word for line in read_lines("irregular_forms") for word in line.split()[1:])


def _straighten_quotes(text: str) -> str:
    return text.translate(_QUOTES)


_QUOTES = str.maketrans("‘’‛ʼ`´“”„«»–—−‐‑", "''''''\"\"\"\"\"-----")


def _starts_sentence(text: str, at: int) -> bool:
    if at > 1 and text[at - 1] == " " and text[at - 2].isalnum():  # nearly always
        return False
    return at == 0 or _SENTENCE_END.search(text[max(0, at - 4) : at]) is not None


def without_possessive(word: str) -> str:
    return word.removesuffix("'s").removesuffix("'")


def _is_content(word: str, short: str) -> bool:
    return (
        word not in FUNCTION_WORDS
        and word not in _OF_CHANGE
        and not word.endswith("n't")
        and word not in load_words("negations")
        and short not in FUNCTION_WORDS
        and not word[0].isdigit()
    )


_OF_CHANGE = frozenset({"longer", "anymore"})
"""`no longer` without its negation names nothing."""


@cache
def _kept_in_gist() -> frozenset[str]:
    return load_words("negations") | frozenset(load_kinds("quantifiers"))


def is_negation(word: str) -> bool:
    return word in load_words("negations") or word.endswith("n't")


def _find_negated_clauses(small: tuple[str, ...], text: str) -> list[list[str]]:
    """Return the words of each clause with a negation."""
    if not any(map(is_negation, small)):
        return []
    clauses = (_WORD.findall(part) for part in _CLAUSE_END.split(text.casefold()))
    return [words for words in clauses if any(map(is_negation, words))]


def _has_two_negators(words: list[str]) -> bool:
    return sum(word in _NEGATORS or word.endswith("n't") for word in words) > 1


def _denies(word: str, following: str) -> bool:
    """Whether a word denies its clause: `nor` only carries on a negation, and `not only` denies nothing."""
    return is_negation(word) and word != "nor" and not (word == "not" and following in ("only", "just"))


_NEGATORS = load_words_of_kind("grammar", "negator")
_CLAUSE_WORDS = "|".join(sorted(load_words_of_kind("grammar", "clause")))
_CLAUSE_END = re.compile(rf"[,;:!?()\"]|\.\s|\b(?:{_CLAUSE_WORDS})\b")


def _quantifiers(written: tuple[str, ...]) -> frozenset[str]:
    listed = load_kinds("quantifiers")
    # In the middle of a sentence `May` is a month.
    words_here = (word.casefold() for at, word in enumerate(written) if not (at and word == "May"))
    return frozenset(kind for word in words_here if word in listed for kind in listed[word])


def _tense(small: tuple[str, ...]) -> frozenset[str]:
    found = set()
    if not _PAST.isdisjoint(small):
        found.add("past")
    if not _FUTURE.isdisjoint(small):
        found.add("future")
    return frozenset(found)


def _contains_listed_phrase(small: tuple[str, ...], name: str) -> bool:
    firsts, phrases = _load_padded_phrases(name)
    if firsts.isdisjoint(small):
        return False
    joined = f" {' '.join(small)} "
    return any(phrase in joined for phrase in phrases)


@cache
def _load_padded_phrases(name: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the first words of the phrases of a list, and the phrases padded with spaces, to match whole words."""
    phrases = sorted(load_phrases(name))
    return frozenset(phrase[0] for phrase in phrases), tuple(f" {' '.join(phrase)} " for phrase in phrases)


def _names(written: tuple[str, ...], bare: tuple[str, ...], starts: tuple[bool, ...]) -> frozenset[str]:
    found = set()
    for at, (word, small) in enumerate(zip(written, bare, strict=True)):
        names = (
            (not small.isalpha() and _IDENTIFIER.match(small))
            or (word[0].isupper() and _is_name(written, at, starts=starts[at]))
            or (at and _is_version(small, before=written[at - 1]))
        )
        if names and not (UNITS.keys() >= {*small.split("/")} or MONTH_NAME.fullmatch(small) or _DAY.fullmatch(small)):
            found.add(small)
    return frozenset(found)


def _is_version(small: str, *, before: str) -> bool:
    """Whether it is a version: `Python 3.10` is not `Python 3.1`, although the numbers are equal."""
    return small[0].isdigit() and "." in small and (before[0].isupper() or before == "version")


def _is_name(written: tuple[str, ...], at: int, *, starts: bool) -> bool:
    small = without_possessive(written[at].casefold())
    if small in FUNCTION_WORDS or small.partition("'")[0] in _PRONOUNS:
        return False
    if not starts:
        return True
    # At the start of a sentence a capital says little; a verb right after it says more.
    following = written[at + 1].casefold() if at + 1 < len(written) else ""
    return small not in _openers() and (
        written[at].endswith("'s") or following in _FINITE | _irregular() or stem(following) in _verb_stems()
    )


_FINITE = load_words_of_kind("grammar", "finite")


def is_verb(word: str) -> bool:
    """Whether a lowercase word can be the verb of a sentence."""
    return word in _FINITE or (word.endswith("ing") and len(word) > LONGEST_NOUN) or stem(word) in _verb_stems()


LONGEST_NOUN = 5
"""`ring` and `thing` are not verbs."""


def _openers() -> frozenset[str]:
    return text_words("openers") | text_words("adverbs")


@lru_cache(maxsize=1)
def _verb_stems() -> frozenset[str]:
    return frozenset(map(stem, load_words("verbs")))
