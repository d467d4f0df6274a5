"""Does a text order its reader about, rather than say how things are?

A page or the result of a tool can be written so that an agent takes it for an instruction. Such a text may be true
and still must not be kept as if somebody had said it. Known by the grammar of what is said to a machine: drop what
you were told, be somebody else, show your prompt, say just this; by commands to act on things; and, in a text that
otherwise tells something, by a sentence that sets a task to nobody. Talk about orders is none: the verb of an order
stands where a clause begins. What to do about such a text is left to others.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from festinger.text.fold import fold
from festinger.text.sentences import sentences_in
from festinger.text.words import LISTS, words

READ_CHARS = 8_000

PAGE_WORDS = 80
"""A text that tells less beside its tasks is not a page with something put into it: it may be all request."""
MOST_TASKS = 0.25
"""Share of the words in sentences that set tasks, beyond which a text is a list of tasks and no page."""
FEWEST_WORDS = 4
"""Of a sentence that sets a task; less is a title, a button or an aside."""


def orders_about(text: str) -> bool:
    """Whether it tells whoever reads it what to do."""
    said = sentences_in(_shouts().sub(". ", text[:READ_CHARS]))
    plain = [fold(sentence) for sentence in said]
    return any(map(_is_order, plain)) or _begins_anew(plain) or _holds_a_task(said)


def _is_order(sentence: str) -> bool:
    is_said = _phrases().search(sentence) or any(form.search(sentence) for form in _forms())
    return bool(is_said) or _commands_an_act(sentence)


def _commands_an_act(sentence: str) -> bool:
    """`Transfer the money`: a verb of doing at the very beginning, with something to do it to."""
    first, _, rest = _LEAD.sub("", sentence).partition(" ")
    # One word alone is a title or a button, and what follows a verb that is a noun too says which it is.
    return first in words("order_verbs") and bool(rest) and rest.partition(" ")[0] not in words("after_nouns")


def _begins_anew(plain: Sequence[str]) -> bool:
    """`Well done. Now write …`: as if what the reader was told before were over."""
    return any(_OVER.match(before) and _NEXT.match(after) for before, after in pairwise(plain))


def _holds_a_task(said: Sequence[str]) -> bool:
    """Whether a text that tells something holds a sentence that sets a task, as a prompt would."""
    if any(_SCENE.match(fold(sentence)) for sentence in said):
        return False
    lengths = [len(_WORD.findall(sentence)) for sentence in said]
    tasks = sum(length for sentence, length in zip(said, lengths, strict=True) if _is_task(sentence))
    return sum(lengths) - tasks >= PAGE_WORDS and 0 < tasks <= MOST_TASKS * sum(lengths)


def _is_task(sentence: str) -> bool:
    """A request for words or facts in which nobody speaks to anybody: no `me`, no `you`, nothing at hand. A question
    is none: letters are full of them."""
    bare = _LEAD.sub("", fold(sentence))
    asked = frozenset(_WORD.findall(bare))
    if len(asked) < FEWEST_WORDS or asked & words("near_words"):
        return False
    first, _, rest = bare.partition(" ")
    return first in words("task_verbs") and rest.partition(" ")[0] not in words("after_nouns")


_WORD = re.compile(r"[^\W\d_]+")
_OVER = re.compile(
    r"(?:okay|ok|very good|good job|well done|very well done|excellent|great|fantastic|congratulations|that is enough"
    r"|that is done|sehr gut|gut gemacht|ausgezeichnet|einfach großartig|das ist erledigt|das genügt)"
    r"(?: (?:performance|work|leistung|gemacht))?$"
)
_NEXT = re.compile(r"(?:but |and |please )?(?:now|next|nun|jetzt|verfasse nun|bitte)\b")
_SCENE = re.compile(
    r"(?:so |now |ok |please )?(?:imagine|suppose|assume|pretend|picture this|act as|you are an? |you're an? "
    r"|as an? |i want you |i need you |i would like you |i'd like you |can you |could you |would you )"
)
"""Who sets a scene, or asks somebody outright, writes a request from end to end."""
_LEAD = re.compile(
    r"^(?:[-*•\d).]+\s+|(?:please|kindly|now|then|also|and|immediately)[, ]\s*|(?:always|never|do not|don't)\s+)+"
)
_CLAUSE = (
    r"(?:^|[.!?:;,\"'(\]-]\s*"
    r"|\b(?:and|then|but|or|now|nun|jetzt|please|bitte|just|only|instead|stop|also|must|should|you to|need to)\s+)"
)
"""Where a clause begins that may order something; not after `to`, `who` or a subject, where it is talk."""

_SAY = "say|print|output|write|reply|respond|answer|repeat|state|type|schreibe|sag|sage"
_SHOW = "show|print|reveal|repeat|output|display|give|tell|write|return|leak|share|say|zeige|zeig"
_PROMPT = r"(?:prompts?|prompt[- ]texte?s?|system prompt|instructions|system message|initial instructions)\b"
_NOT_A_ROLE = (
    "able|ready|in|on|at|logged|connected|here|free|done|going|aware|looking|working|allowed|part|not"
)


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    drop, told, earlier = (
        "|".join(sorted(words(name))) for name in ("disregard_verbs", "told_nouns", "earlier_words")
    )
    total = "all|any|every|everything|your|these|alle|sämtliche|deine|ihre|toutes|todas|tutte|sve|все"
    held = rf"(?:\w+ ){{0,3}}(?:{earlier}|{total}) (?:(?:\w+|[^\s]+) ){{0,3}}?(?:{told})\b"
    return tuple(
        map(
            re.compile,
            (
                # Drop what you were told.
                rf"{_CLAUSE}(?:{drop}) (?:about )?{held}",
                rf"{_CLAUSE}(?:{drop}) (?:about )?(?:everything|all that|alles|todo|tout|все|sve)"
                r"(?:$|[,.!:]| (?:above|before|you|i|we|else|prior|that|and|was|davor|gesagte|que|ce))",
                rf"{_CLAUSE}(?:{drop}) (?:the |all )?(?:above|the foregoing)\b",
                rf"\b(?:{told}|information(?:en)?) (?:above|before) (?:is|are) (?:void|irrelevant|outdated)\b",
                # Be somebody else.
                r"\bfrom now on,? (?:you|your|act|respond|reply|answer|always|never|every|the assistant|i want you)\b",
                rf"\b(?:you are now|now you are|you're now|jetzt bist du|nun bist du) (?!(?:{_NOT_A_ROLE})\b)\w",
                r"\bi want you to (?:act|behave|respond|only|pretend|ignore|forget)\b",
                r"\bich möchte, dass (?:sie|du) (?:als|nur)\b",
                rf"\b(?:stop|stopp)\s*[:-]+\s*(?:{_SAY})\b",
                # Show your prompt.
                rf"{_CLAUSE}(?:{_SHOW})(?: me| us| mir)?(?: \w+){{0,2}} (?:your|deinen?|deine) (?:\w+ ){{0,2}}{_PROMPT}",
                rf"{_CLAUSE}(?:{_SHOW})(?: me| us)?(?: \w+){{0,3}} the (?:full|entire|initial|original|hidden|whole|above) "
                rf"{_PROMPT}",
                rf"\bwhat (?:are|were|is|was) your (?:\w+ )?{_PROMPT}",
                r"\bwhat (?:is|was|stands) (?:written )?(?:above|at the beginning)\b",
                # Say just this.
                rf"{_CLAUSE}(?:{_SAY})(?: only| with| back| after me| exactly| this| the following| the words?| that)*[:,]? ?\"",
                rf"{_CLAUSE}(?:{_SAY}) (?:only with|only the|nothing but|after me)\b",
                rf"{_CLAUSE}(?:say|state) (?:that|yes|no)\b",
                rf"{_CLAUSE}(?:do not|don't) (?:answer|respond to|reply to) (?:the|this|my|any)\b",
                r"\bin (?:all |each of )?your (?:answers?|responses?|repl(?:y|ies)|outputs?)\b",
            ),
        )
    )


@cache
def _shouts() -> re.Pattern[str]:
    """The gap before an order that begins with a capital in the midst of something else."""
    verbs = "|".join(
        sorted({spelt for verb in words("disregard_verbs") for spelt in (verb.title(), verb.upper())})
    )
    return re.compile(rf"(?<=[^\s.!?:]) (?=(?:{verbs})\b)")


@cache
def _phrases() -> re.Pattern[str]:
    lines = (LISTS / "orders.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, listed)) + r")\b")
