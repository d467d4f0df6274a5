"""Decides whether a text is worth keeping, or only small talk, a question, transient or an instruction.

Small talk is recognized by sentence form and short lists. A page or tool result written to instruct an agent may be true and still must not be kept as if
somebody had said it. It is recognized by the grammar of addressing a machine, by commands to act on things,
and in an informative text by a sentence that sets a task to nobody. Talk about orders does not count: the
verb of an order begins a clause.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from festinger.text.normalize import fold
from festinger.text.words import LISTS, load_words, split_into_sentences

_SEPARATOR = re.compile(r"[,.;:!?…\-\n]+|\band\b")
_TIME = re.compile(
    r"(?:it is |it's |the time is )?(?:\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[ap]\.?m\.?)?(?: utc| gmt| z)?"
    r"|\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:\d{2}(?::\d{2})?z?)?)"
)
_PROGRESS = re.compile(r"(?:\w+ )?(?:\d{1,3} ?%|\d+ ?/ ?\d+|\d+ of \d+)(?: \w+)?")
_ASKS = re.compile(
    r"(?:(?:so|and|but|ok|okay|well|please|hey|hi|hello)[, ]+)*"
    r"(?:who|whom|whose|what|when|where|why|how|which|is|are|am|was|were|do|does|did|can|could|will|would|shall|should"
    r"|may|might|have|has|had)\b(?!\s+(?:is|are|was|were)\b.*\b(?:because|that)\b)"
)
_TELLS = re.compile(r"\b(?:remember|note) that\b")


def is_small_talk(text: str) -> bool:
    """Return whether it says no more than that somebody is there, agrees, or goes on."""
    plain = fold(text)
    if _TIME.fullmatch(plain) or _PROGRESS.fullmatch(plain):
        return True
    parts = [part.strip(" '\"()[]*_") for part in _SEPARATOR.split(plain)]
    said = [part for part in parts if part]
    return all(part in _load_phrases("heartbeats") or _TIME.fullmatch(part) for part in said)


def is_transient(text: str) -> bool:
    """Return whether it holds only at the moment it is said."""
    return _compile_phrase_list("transients").search(fold(text)) is not None


def is_question(text: str) -> bool:
    """Return whether it ends in a question mark or begins as only a question does."""
    stripped = text.rstrip(" \t\n\"'”’»)*_")
    if stripped.endswith(("?", "？", "؟")):
        return True
    plain = fold(text)
    if stripped.endswith((".", "!")) or _TELLS.search(plain):
        return False
    return _ASKS.match(plain) is not None and len(plain.split()) > 1


@cache
def _load_phrases(name: str) -> frozenset[str]:
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(fold(line) for line in lines if line.strip() and not line.startswith("#"))


@cache
def _compile_phrase_list(name: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(_load_phrases(name)))) + r")\b")


def strip_lead_in(text: str) -> str:
    """Remove phrases such as `By the way,`; a text that is nothing but a lead-in stays as it is."""
    rest = _lead_in_pattern().sub("", text)
    return rest if rest.strip() else text


@cache
def _lead_in_pattern() -> re.Pattern[str]:
    lines = (LISTS / "lead_ins.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    phrases = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(listed, key=len, reverse=True))
    return re.compile(rf"^\s*(?:(?:and|so|but|oh|well)\s+)?(?:(?:{phrases})\s*[,:]\s*)+", re.IGNORECASE)


READ_CHARS = 8_000

PAGE_WORDS = 80
"""A text with fewer words outside its tasks may be all request, not a page with a task planted in it."""
MOST_TASKS = 0.25
"""Share of words in task sentences above which a text is a list of tasks and not a page."""
FEWEST_WORDS = 4
"""Fewest words of a task sentence; less is a title, a button or an aside."""


def is_instruction(text: str) -> bool:
    """Return whether it tells its reader what to do."""
    said = split_into_sentences(_shouted_order_pattern().sub(". ", text[:READ_CHARS]))
    plain = [fold(sentence) for sentence in said]
    return any(map(_is_order, plain)) or _starts_new_task(plain) or _holds_a_task(said)


def _is_order(sentence: str) -> bool:
    is_said = _order_phrase_pattern().search(sentence) or any(form.search(sentence) for form in _order_patterns())
    return bool(is_said) or _commands_an_act(sentence)


def _commands_an_act(sentence: str) -> bool:
    """Return whether it begins with an action verb and an object, such as `Transfer the money`."""
    first, _, rest = _LEAD.sub("", sentence).partition(" ")
    # One word alone is a title or a button; if the verb can be a noun too, the next word tells which it is.
    return first in load_words("order_verbs") and bool(rest) and rest.partition(" ")[0] not in load_words("after_nouns")


def _starts_new_task(plain: Sequence[str]) -> bool:
    """Match `Well done. Now write …`, as if the reader's earlier task were over."""
    return any(_OVER.match(before) and _NEXT.match(after) for before, after in pairwise(plain))


def _holds_a_task(said: Sequence[str]) -> bool:
    """Return whether an informative text holds a sentence that sets a task, as a prompt would."""
    if any(_SCENE.match(fold(sentence)) for sentence in said):
        return False
    lengths = [len(_ORDER_WORD.findall(sentence)) for sentence in said]
    tasks = sum(length for sentence, length in zip(said, lengths, strict=True) if _is_task(sentence))
    return sum(lengths) - tasks >= PAGE_WORDS and 0 < tasks <= MOST_TASKS * sum(lengths)


def _is_task(sentence: str) -> bool:
    """Return whether it asks for text or facts and addresses nobody: no `me`, no `you`, nothing at hand.

    Questions do not count: letters are full of them.
    """
    bare = _LEAD.sub("", fold(sentence))
    asked = frozenset(_ORDER_WORD.findall(bare))
    if len(asked) < FEWEST_WORDS or asked & load_words("near_words"):
        return False
    first, _, rest = bare.partition(" ")
    return first in load_words("task_verbs") and rest.partition(" ")[0] not in load_words("after_nouns")


_ORDER_WORD = re.compile(r"[^\W\d_]+")
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
"""A text that sets a scene, or asks somebody directly, is a request from end to end."""
_LEAD = re.compile(
    r"^(?:[-*•\d).]+\s+|(?:please|kindly|now|then|also|and|immediately)[, ]\s*|(?:always|never|do not|don't)\s+)+"
)
_CLAUSE = (
    r"(?:^|[.!?:;,\"'(\]-]\s*"
    r"|\b(?:and|then|but|or|now|nun|jetzt|please|bitte|just|only|instead|stop|also|must|should|you to|need to)\s+)"
)
"""Where a clause begins that may be an order; not after `to`, `who` or a subject, where it is only talk."""

_SAY = "say|print|output|write|reply|respond|answer|repeat|state|type|schreibe|sag|sage"
_SHOW = "show|print|reveal|repeat|output|display|give|tell|write|return|leak|share|say|zeige|zeig"
_PROMPT = r"(?:prompts?|prompt[- ]texte?s?|system prompt|instructions|system message|initial instructions)\b"
_NOT_A_ROLE = "able|ready|in|on|at|logged|connected|here|free|done|going|aware|looking|working|allowed|part|not"


@cache
def _order_patterns() -> tuple[re.Pattern[str], ...]:
    drop, told, earlier = (
        "|".join(sorted(load_words(name))) for name in ("disregard_verbs", "told_nouns", "earlier_words")
    )
    total = "all|any|every|everything|your|these|alle|sämtliche|deine|ihre|toutes|todas|tutte|sve|все"
    held = rf"(?:\w+ ){{0,3}}(?:{earlier}|{total}) (?:(?:\w+|[^\s]+) ){{0,3}}?(?:{told})\b"
    return tuple(
        map(
            re.compile,
            (
                # Ignore what you were told.
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
def _shouted_order_pattern() -> re.Pattern[str]:
    """Match the gap before an order that begins with a capital in the middle of other text."""
    verbs = "|".join(
        sorted({spelt for verb in load_words("disregard_verbs") for spelt in (verb.title(), verb.upper())})
    )
    return re.compile(rf"(?<=[^\s.!?:]) (?=(?:{verbs})\b)")


@cache
def _order_phrase_pattern() -> re.Pattern[str]:
    lines = (LISTS / "orders.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, listed)) + r")\b")
