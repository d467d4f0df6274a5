"""Of whom does a clause speak, and of what of theirs?

Whoever speaks is one subject, however named. Only what is named or pointed at is a subject: what is said of *a* man,
or of some, is said of nobody in particular. Where the verb is, is told by `relations`.
"""

from festinger.judge.holdings import Frame
from festinger.judge.lifefacts import USER
from festinger.judge.slot_keys import attribute_key, key
from festinger.judge.wordlists import members, words
from festinger.text.words import words as text_words

LONGEST_SUBJECT = 14
"""Words before a verb."""

SELVES = members("grammar", "self")
OURS = members("grammar", "our")
RELATIVES = members("grammar", "relative")
SKIPPED = text_words("adverbs") | words("negations") | members("grammar", "adverb")
"""What may stand before and behind a verb and names nothing."""

_INDEFINITE = members("grammar", "indefinite")
_POSSESSIVES = members("grammar", "possessive")
_DEEDS = members("grammar", "deed")
_JOINING = members("grammar", "joining")


def subject_of(left: tuple[str, ...]) -> tuple[str | None, str, Frame]:
    """Subject, attribute and how they are put; no subject if it is nobody in particular."""
    left = _without_adverbs(left)
    small = [word.casefold() for word in left]
    if not left or small[0] in _INDEFINITE or small[0] in _POSSESSIVES or _is_no_noun(left):
        return None, "", Frame.PLAIN
    subject, rest = owner(left)
    if subject is not None and (rest or subject == USER):
        return subject, attribute_key(rest), Frame.OWNED if rest else Frame.PLAIN
    if small[0] == "the" and not RELATIVES.isdisjoint(small[1:6]):
        return _names_in(left) or key(left), attribute_key(left[1:], without=_names_in(left)), Frame.DEFINITE
    if small[0] == "the" and "of" in small[1:6]:
        at = small.index("of")
        return key(left[at + 1 :]) or None, attribute_key(left[1:at]), Frame.DEFINITE
    return key(left) or None, "", Frame.PLAIN


def _is_no_noun(left: tuple[str, ...]) -> bool:
    """Whether the words before a verb name nobody in particular: a deed, the middle of a sentence, a number of some."""
    small = [word.casefold() for word in left]
    is_deed = small[0] in _DEEDS or small[0].endswith(("ed", "ly"))
    goes_on = len(left) > 1 and left[1].islower()
    counts = len(small) > 1 and small[0] == "the" and (small[1] in _INDEFINITE or small[1].isdigit())
    return small[-1] in _JOINING or counts or (is_deed and goes_on)


def _without_adverbs(left: tuple[str, ...]) -> tuple[str, ...]:
    while left and left[0].casefold() in SKIPPED:
        left = left[1:]
    while left and left[-1].casefold() in SKIPPED:
        left = left[:-1]
    return left


def owner(written: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Whose it is, and what."""
    small = [word.casefold() for word in written]
    if small and small[0] in OURS:
        return USER, written[1:]
    start = 1 if small and small[0] == "the" else 0
    if small[start : start + 1] and small[start] in SELVES:
        return USER, written[start + 1 :]
    for at, word in enumerate(small):
        if word.endswith("'s") and at < LONGEST_SUBJECT:
            owner = key((*written[:at], written[at][:-2]))
            return (USER if owner == USER else owner) or None, written[at + 1 :]
    return None, ()


def _names_in(left: tuple[str, ...]) -> str:
    return key(tuple(word for word in left[1:] if word[0].isupper() or word[0].isdigit()))
