"""Extracts the statements of a message that are worth remembering, each able to stand alone.

What a person asks to be remembered is always kept; of the rest, what the classifier takes for a lasting
statement. A less likely one is returned too, to be kept only if it is news about something known (`only_as_news`).
A clause that points back (`they always start with INV-`) gets the noun it refers to.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from festinger.judge.rules.parse import is_verb
from festinger.judge.rules.slots import find_verb_index
from festinger.memory.extract.classifier import ClauseEncoder, score_clause_form, statement_probabilities
from festinger.memory.extract.clauses import (
    LONGEST_MESSAGE,
    Clause,
    can_stand_alone,
    is_common_word,
    split_clauses,
    split_words,
    strip_clause_lead_ins,
)
from festinger.memory.extract.corrections import CALENDAR
from festinger.memory.extract.forget_request import find_forget_topic
from festinger.memory.extract.introductions import ANYWHERE, find_introductions
from festinger.memory.model import Kind
from festinger.text.hygiene import is_question, is_small_talk, is_transient
from festinger.text.secrets import MARK
from festinger.text.words import FUNCTION_WORDS, SMALL_NUMBERS, load_words

THRESHOLD = 0.8
"""Probability from which a clause is kept. Of messages held out of training .89 of what should be kept is, and .93 of what
is kept should be."""
THRESHOLD_BY_FORM = 0.4
"""The same without the encoder, where one in five is wrong: a higher one misses the shortest statements."""
SURE = 0.9
"""The same for a clause that seems to describe a passing state."""
LASTING = 0.25
"""The same for a rule that says of itself that it lasts (`answer in Dutch from now on`)."""
NEWS = 0.08
"""The same for what replaces something known: `chapel days are over` says little alone, and much to a choir that sings there."""
HOPELESS = -4.0
"""Logit by form alone below which no clause is kept: the least of those kept among the labeled messages is -2.8, and
the encoder would have to be surer than it is of four in five."""
OWN_LIST, OWN_SHARE = 2, 1 / 3
"""Items of a list kept for themselves, and their share, from which the others are kept, too: who lists facts lists facts."""
LONGEST_NAME = 2
"""Words of an item that may be a mere name: `Postgres 15`."""
MOST_READ = 60
"""Clauses read per message; more means a document."""
MOST = 20
DECISION = "decision"

_PLACE = (
    r"(?:\s+(?:down|away|aside|somewhere|on\s+(?:file|record)|(?:in|to)\s+(?:your\s+)?memory|for\s+(?:later|next\s+time"
    r"|(?:the\s+)?future)))"
)
_FOLLOWED = r"(?=\s*(?:that\b|[:,–—→=-]))"
_ASKED = re.compile(
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?|(?:i(?:'d|\s+would)\s+like|i\s+want)\s+you\s+to\s+)?"
    r"(?:(?:please\s+)?(?:make|take)\s+(?:a\s+)?note|note\s+to\s+self|memo|don'?t\s+forget|do\s+not\s+forget|for\s+the\s+record"
    rf"|(?:remember|memori[sz]e|note)(?:\s+(?:this|it|these(?:\s+\w{{1,12}})?|the\s+following))?(?:\s+for\s+me)?{_PLACE}?"
    r"|(?:keep|bear)(?:\s+(?:this|that|it))?\s+in\s+mind"
    rf"|save\s+(?:this|that|it)(?:\s+for\s+me)?{_PLACE}?{_FOLLOWED}"
    rf"|(?:keep|store|put|jot|write|file|commit)(?:\s+(?:this|that|it|the\s+following))?{_PLACE}{{1,2}}{_FOLLOWED})"
    r"\s*(?:that\b|of\s+this\b|:|,|[-–—=]>|[-–—→])?\s*",
    re.IGNORECASE,
)
"""Words that ask to keep something: a verb of keeping, what is kept only as a pronoun, and where or for when."""
_ASKS = re.compile(
    r"\b(?:remember|memori[sz]e|note|memo|mind|forget|record|save|memory|keep|store|put|jot|write|file)\b",
    re.IGNORECASE,
)
LONGEST_ASKING = 8_000
_TRAILER = re.compile(
    r"[\s,]{1,3}(?:btw|by\sthe\sway|fyi|lol|haha|ok\??|okay\??|please|pls|thanks|though|tho|:\)|:\(|;\))[\s.!,]{0,3}$",
    re.IGNORECASE,
)
"""Trailers after a statement that are not part of it."""
_DECIDED = re.compile(
    r"\b(?:we|i|they|the\s+team)(?:\s+have|'ve|\s+all)?\s+(?:decided|agreed|settled\s+on|chose|concluded)\b"
    r"|\bthe\s+decision\s+is\b|\b(?:let's|we(?:'ll|\s+will))\s+go\s+with\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\b(?:prefer|favou?rite|would\s+rather|like|love|hate|dislike|can(?:'t|not)\s+stand|enjoy|allerg|intoleran|vegan|vegetarian)",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"[ \t]{0,12}(?:[-*•–]|\d{1,2}[.)])[ \t]{1,4}(?=\S)")
_RULE = re.compile(
    r"(?:always|never|don'?t|do\s+not|only|use|avoid|stop|keep|call|answer|reply|respond|write|speak|give|when|whenever|before"
    r"|after|no|from\s+now\s+on)\b|.*\b(?:must|should|have\s+to|need\s+to|mustn't|shouldn't)\b",
    re.IGNORECASE,
)
_EVERY_TIME = re.compile(
    r"\b(?:always|never|every|each|any|whenever|when|from\s+now\s+on|in\s+future|going\s+forward|all|again|ever|by\s+default)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"(?:i|we|my|our|it|they|he|she|this|that|call|\w+s)\b", re.IGNORECASE)
"""What a statement may begin with: a person, a thing with a verb that agrees, or how to be called."""
_POINTING = re.compile(
    r"(?:it|they|he|she|this|that|these|those|its|their|his|her|mine|ours|hers|theirs)(?:'s|'re)?\b", re.IGNORECASE
)
_PERSONAL = frozenset({"he", "she", "his", "her"})
_PLURAL = frozenset({"they", "their", "these", "those"})
_ANSWER = re.compile(r"(?:only|just|both|either)\b", re.IGNORECASE)
_TO_SPEAKER = re.compile(r"\b(?:me|us|my|our|i|we)\b|[:=]", re.IGNORECASE)
_SOME = frozenset({*SMALL_NUMBERS[1:], "some", "several", "many", "few", "a", "an", "someone", "somebody", "people"})
SHORTEST_PART = 3
"""Words of a part of a sentence that may say nothing alone."""
_WHOLE = frozenset({"this", "that", "these", "those", "mine", "ours", "hers", "theirs"})
"""What points back to all that was just said, or to one of several, not to a noun."""
_POSSESSIVES = frozenset({"its", "their", "his", "her"})
_PERSON = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof)\.?\s)?\b[A-Z][\w'-]*[a-z](?:\s[A-Z][\w'-]*[a-z])*(?<!'s)|\b(?:my|our)\s[\w-]+"
)
"""A name, or one of the speaker's own: `Mr Furey`, `my brother`."""
_CONJUNCTION = re.compile(r"[\s,]\s?(?:and|but|so|or)$")
_OBJECT = re.compile(r"\b(?:it|them)\b", re.IGNORECASE)
_TOPIC = re.compile(r"\b(?:on|about|regarding|re|the|my|our)\b", re.IGNORECASE)
_DETERMINERS = frozenset({"the", "my", "our"})
LONGEST_CONTEXT = 120
LONGEST_SUBJECT = 5
"""Words within which the verb must come for what precedes it to count as the subject."""
_NOUN = re.compile(
    r"\b(?:my|our|the|this|these|a|an|new)\s+((?:[\w'/-]+\s+){0,2}?[\w'/-]+?)(?=\s+(?:in|on|at|for|of|to|from|with|by|is|are|was|has|that"
    r"|which|and|or|so)\b|[.,;:?!)]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedStatement:
    """A statement found in a message."""

    text: str
    clause: str
    """As it appears in the message."""
    kind: Kind
    is_asked: bool = False
    """Whether the person asked to have it remembered."""
    is_decision: bool = False
    only_as_news: bool = False
    """Whether it is too unlikely to be kept unless it replaces something known."""
    points_back: bool = False
    """Whether its subject is a pronoun that nothing in the message explains."""
    is_introduction: bool = False
    """Whether it says only who somebody is, and was made of words told in passing."""

    @property
    def tags(self) -> tuple[str, ...]:
        return (DECISION,) if self.is_decision else ()


async def extract_statements(message: str, *, encoder: ClauseEncoder | None = None) -> list[ExtractedStatement]:
    """Return what a person's message states, in order."""
    message, lists = flatten_lists(message)
    clauses = [*split_clauses(message), *(find_introductions(message) if encoder else ())]
    asked = _asked_sentences(clauses)
    readable = [clause for clause in clauses if can_be_statement(clause, is_asked=clause.position in asked)][:MOST_READ]
    likely = await statement_probabilities(readable, message, encoder=encoder)
    usual = THRESHOLD if encoder else THRESHOLD_BY_FORM
    places = [message.count("\n", 0, clause.start) for clause in readable]
    own = lists & _lines_of_facts(places, [share >= usual for share in likely])
    found = []
    for clause, line, probability in zip(readable, places, likely, strict=True):
        is_asked = clause.position in asked
        is_likely = is_asked or line in own or probability >= _threshold_of(clause, usual)
        may_be_news = encoder and clause.position != ANYWHERE and probability >= NEWS
        if is_likely or (may_be_news and score_clause_form(clause, message) >= HOPELESS):
            found += [
                replace(each, only_as_news=not is_likely, is_introduction=clause.position == ANYWHERE)
                for each in _build_statements(clause, is_asked=is_asked)
            ]
    return _drop_contained(found)[:MOST]


def _drop_contained(found: Sequence[ExtractedStatement]) -> list[ExtractedStatement]:
    """Drop what another one repeats whole: a clause that points back may keep the sentence before it, and who is
    introduced may be told about (`my husband Dele is a nurse`)."""
    whole = [each for each in found if not each.only_as_news]
    return [each for each in found if not any(_contains(other, each) for other in whole)]


def _contains(whole: ExtractedStatement, part: ExtractedStatement) -> bool:
    if whole.text.casefold() == part.text.casefold():
        return False
    introduced = set(split_words(part.text.casefold())) - FUNCTION_WORDS if part.is_introduction else ()
    said = set(split_words(whole.text.casefold()))
    return part.text.casefold() in whole.text.casefold() or (bool(introduced) and said.issuperset(introduced))


def _lines_of_facts(lines: Sequence[int], are_sure: Sequence[bool]) -> frozenset[int]:
    """Return the lines of which enough clauses are kept for themselves."""
    read = Counter(lines)
    sure = Counter(line for line, is_sure in zip(lines, are_sure, strict=True) if is_sure)
    return frozenset(line for line, count in sure.items() if count >= max(OWN_LIST, OWN_SHARE * read[line]))


def flatten_lists(message: str) -> tuple[str, frozenset[int]]:
    """Rewrite lists of one's own as prose; returns the numbers of the lines that hold one, too.

    The classifier has learned from prose who says what. A list below a task or a question is material to work on. Each
    item becomes a sentence, but mere names of things, which say nothing alone, stay together behind the line above.
    """
    lines: list[str] = []
    lists: set[int] = set()
    said = message[:LONGEST_MESSAGE].split("\n")
    for is_list, group in groupby(said, key=lambda line: _LIST_ITEM.match(line) is not None):
        above = next((line.rstrip() for line in reversed(lines) if line.strip()), "")
        if not is_list or _asks_for_work(above):
            lines += group
            continue
        items = [_LIST_ITEM.sub("", line, count=1).rstrip(" .;,") for line in group]
        names = [item for item in items if len(split_words(item)) <= LONGEST_NAME and not can_stand_alone(item)]
        if names:
            head = f"{lines.pop().rstrip()} " if lines and lines[-1].rstrip().endswith(":") else ""
            lines.append(f"{head}{', '.join(names)}.")
        lists.add(len(lines))
        lines.append(" ".join(_to_sentence(item) for item in items if item not in names))
    return "\n".join(lines), frozenset(lists)


def _to_sentence(item: str) -> str:
    return f"{item[:1].upper()}{item[1:]}{'' if item.endswith(('!', '?')) else '.'}"


def _asks_for_work(line: str) -> bool:
    asked = split_clauses(line)[-1:]
    return line.endswith("?") or any(is_task(strip_clause_lead_ins(clause.text)) for clause in asked)


def _threshold_of(clause: Clause, usual: float) -> float:
    if is_transient(clause.text):
        return SURE
    bare = strip_clause_lead_ins(clause.text)
    return LASTING if _RULE.match(bare) and _EVERY_TIME.search(bare) else usual


def may_hold_statements(message: str) -> bool:
    """Whether `extract_statements` might find anything in a message. Fast, and never wrong when it says no."""
    message, _ = flatten_lists(message)
    clauses = [*split_clauses(message), *find_introductions(message)]
    return bool(_asked_sentences(clauses)) or any(
        can_be_statement(clause, is_asked=False) and score_clause_form(clause, message) >= HOPELESS
        for clause in clauses
    )


def asks_to_remember(message: str) -> bool:
    """Whether a person asks to have something remembered. Fast: runs on every request."""
    return _ASKS.search(message[:LONGEST_ASKING]) is not None and bool(_asked_sentences(split_clauses(message)))


def is_task(text: str) -> bool:
    """Whether a clause is a one-time request: `write a …`, `find me a …`; standing wishes are not."""
    first, _, rest = text.partition(" ")
    verb = first.casefold()
    orders = verb in load_words("task_verbs") | load_words("work_verbs") or rest.partition(" ")[0].casefold() in (
        "me",
        "us",
    )
    return orders and first[:1].isalpha() and _EVERY_TIME.search(text) is None and _OWN.match(text) is None


def can_be_statement(clause: Clause, *, is_asked: bool) -> bool:
    """Whether a clause can be a statement at all: no question, task, announcement, heartbeat or wish to forget."""
    bare = _strip_asking(clause.text) if is_asked else strip_clause_lead_ins(clause.text)
    if len(split_words(bare)) < 2 or bare.endswith(("?", ":")) or is_small_talk(bare) or is_question(bare):
        return False
    if is_asked:
        return True
    return not (
        MARK.decode() in bare or is_task(bare) or find_forget_topic(bare) is not None or _is_stump(bare, clause)
    )


def _is_stump(text: str, clause: Clause) -> bool:
    """Whether it says nothing alone: an answer without a verb (`Only pay-03`), or what some unnamed did (`Two people
    joined`, of a longer sentence)."""
    words = split_words(text.casefold())
    if _ANSWER.match(text) and not any(map(is_verb, words)) and not _TO_SPEAKER.search(text):
        return True
    return clause.text != clause.sentence and len(words) <= SHORTEST_PART and words[0] in _SOME


def classify_kind(text: str) -> Kind:
    """Classify a statement as preference, procedure or fact."""
    if _RULE.match(text):
        return Kind.PROCEDURAL
    return Kind.PREFERENCE if _TASTE.search(text) else Kind.FACT


def _asked_sentences(clauses: Sequence[Clause]) -> set[int]:
    """Return the sentences that a person asked to have remembered, including those after `Remember this:`."""
    found: set[int] = set()
    for clause in clauses:
        head = strip_clause_lead_ins(clause.head) if clause.head else ""
        opened = _ASKED.match(strip_clause_lead_ins(clause.sentence))
        asks_back = clause.sentence.endswith("?")
        if (opened and not asks_back) or (head and _ASKED.fullmatch(f"{head}:")):
            found.add(clause.position)
    return found


def _strip_asking(text: str) -> str:
    bare = strip_clause_lead_ins(text)
    match = _ASKED.match(bare)
    return strip_clause_lead_ins(bare[match.end() :]) if match else bare


def _topic_of(clause: Clause) -> str:
    """The noun phrase before the colon in front of a clause (`news on the budget: we got 6k`); empty if none."""
    if not clause.head or not clause.sentence.startswith(clause.head):
        return ""
    between = clause.sentence[len(clause.head) :].partition(clause.text)[0]
    topic = strip_clause_lead_ins(clause.head)
    written = split_words(topic)
    is_noun_phrase = 1 < len(written) <= LONGEST_SUBJECT and find_verb_index(written) is None and _TOPIC.search(topic)
    return topic if is_noun_phrase and not between.strip(" :") else ""


def _build_statements(clause: Clause, *, is_asked: bool) -> Iterator[ExtractedStatement]:
    bare = _strip_asking(clause.text) if is_asked else strip_clause_lead_ins(clause.text)
    bare = _TRAILER.sub("", bare).rstrip(" .!;,")
    topic = "" if is_asked else _topic_of(clause)
    for text in split_role_and_employer(bare):
        if len(split_words(text)) < 2:
            continue
        resolved = f"{topic}: {text}" if topic else resolve_pronoun(text, clause)
        yield ExtractedStatement(
            text=resolved[:1].upper() + resolved[1:],
            clause=clause.text,
            kind=classify_kind(text),
            is_asked=is_asked,
            is_decision=_DECIDED.search(text) is not None,
            points_back=resolved is text and _POINTING.match(text) is not None,
        )


_ROLE = re.compile(
    r"(?P<who>i'm|i\s+am|i\s+work\s+as)\s+(?P<role>(?:an?|the)\s+[^,;]{3,60}?)\s+(?:at|for|with)\s+"
    r"(?P<place>(?:the\s+)?[A-Z0-9][\w&.'-]*(?:\s+[A-Z0-9][\w&.'-]*)*)(?P<rest>.*)$",
    re.IGNORECASE,
)


def split_role_and_employer(text: str) -> list[str]:
    """Split `I'm a data engineer at Acme` into role and employer: two facts that change separately."""
    match = _ROLE.match(text)
    if match is None or not any(word[:1].isupper() for word in match["place"].split()):
        return [text]
    return [f"{match['who']} {match['role']}", f"I work at {match['place']}{match['rest']}"]


def resolve_pronoun(text: str, clause: Clause) -> str:
    """Replace a leading pronoun, or the object of a rule, by what the preceding text names.

    An object is replaced in rules such as `never put it into anything`; if nothing is named, a rule keeps the sentence
    before it.
    """
    match = _POINTING.match(text)
    earlier = clause.sentence[: clause.sentence.find(clause.text)] or clause.before
    if match is None:
        found = _OBJECT.search(text) if _RULE.match(text) else None
        if found is None or not earlier or earlier.endswith("?"):
            return text
        if subject := subject_of(earlier):
            return f"{text[: found.start()]}{subject}{text[found.end() :]}"
        return f"{earlier.rstrip(' ,.!')}: {text}" if len(earlier) <= LONGEST_CONTEXT else text
    word = match.group().casefold()
    noun = _find_antecedent(word, earlier) or _find_antecedent(word, clause.before)
    if noun is None:
        context = _CONJUNCTION.sub("", strip_clause_lead_ins(earlier).rstrip(" ,.!(")).rstrip(" ,.!(")
        is_usable = 0 < len(context) <= LONGEST_CONTEXT and not earlier.endswith("?")
        return f"{context}{'. ' if earlier == clause.before else ', '}{text}" if is_usable else text
    rest = text[match.end() :]
    if word in _POSSESSIVES:
        return f"{noun}'s{rest}"
    verb = {"'s": " is", "'re": " are"}.get(word[len(word.partition("'")[0]) :], "")
    return f"{noun}{verb}{rest}"


def _find_antecedent(pronoun: str, earlier: str) -> str | None:
    """Return what a pronoun refers to in the text before it; None if nothing fits, or several people do."""
    word = pronoun.partition("'")[0]
    subject = subject_of(strip_clause_lead_ins(earlier))
    if word in _WHOLE:
        return None
    if word in _PERSONAL:
        named = [
            each.group()
            for each in _PERSON.finditer(earlier)
            if each.group().casefold() not in CALENDAR
            and (
                each.start()
                or _is_whose(each)
                or each.group() == subject
                or not is_common_word(each.group().casefold())
            )
        ]
        return named[0] if len(set(named)) == 1 else None
    if word in split_words(earlier.casefold()):
        return None  # the same pronoun means the same thing, whatever was named in between
    nouns = [each.group().strip() for each in _NOUN.finditer(earlier)]
    fitting = [noun for noun in (*([subject] if subject else []), *nouns) if _is_plural(noun) == (word in _PLURAL)]
    return fitting[-1] if fitting else None


def _is_whose(name: re.Match[str]) -> bool:
    return name.string[name.end() :].startswith("'s")


def _is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith("ss")


def subject_of(sentence: str) -> str | None:
    """Return the few words before the verb of a sentence, unless they only point to something or are no one phrase."""
    written = split_words(sentence)[:LONGEST_SUBJECT]
    verb = find_verb_index(written)
    if not verb or written[0].casefold() in FUNCTION_WORDS - _DETERMINERS:
        return None
    subject = " ".join(written[:verb])
    return subject if subject in sentence.replace("’", "'") else None
