"""Generates turns labeled with what became of their note.

Nobody labeled conversations for this, so a seeded writer assembles them: facts of made-up places and people,
other notes, questions, and replies that act on a note, mention it, set it aside, contradict it or ignore it.
That is easier than life: its numbers say that rules do what they are for, not how people talk.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from festinger.outcomes.inference import TurnInferenceInput, TurnNote

NONE = "none"
BESIDE = 4
"""Other notes next to the one that a turn is about."""

_HEADS = ("Vel", "Tas", "Bran", "Quo", "Mer", "Lun", "Ost", "Per", "Cald", "Wex", "Fen", "Hob", "Ziv", "Gar")
_TAILS = ("mor", "ket", "dale", "rin", "stead", "wick", "lona", "varn", "bury", "tosk", "mere", "holt")
_THINGS = ("colour", "fruit", "instrument", "season", "board game", "tea")
_VALUES = ("teal", "crimson", "quince", "cello", "papaya", "ocarina", "backgammon", "rooibos", "mauve", "oboe")
_GOODS = ("copper wire", "roof slate", "linseed oil", "plywood", "bicycle parts", "barley")
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays")
_FILLERS = (
    "Let me know if there is anything else.",
    "Here is what I can say about that.",
    "That should help you to plan the day.",
    "I hope this answers your question.",
    "Of course, there are other ways to see it.",
)
_CHAT = (
    "Sure, I can help with that. What would you like to know first?",
    "A short walk and a glass of water often help.",
    "Please send me the file, and I will have a look at it.",
    "You can sort the list with one line of code.",
    "It depends on what matters most to you.",
)
_THANKS = ("Thanks, that helps.", "Great, and how long does it take?", "Good. Please write it down.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFact:
    """A fact with another value that it could have had, and words for each of its roles."""

    name: str
    value: str
    other: str
    say: Callable[[str, str], str] = field(compare=False)
    again: Callable[[str, str], str] = field(compare=False)
    ask: str
    is_single: bool = True
    """Whether only one value can hold at a time: otherwise a second one contradicts nothing by itself."""

    @property
    def text(self) -> str:
        return self.say(self.name, self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledOutcomeTurn:
    """A turn, the note that it is about, and what became of it."""

    id: str
    turn: TurnInferenceInput
    note: str
    label: str


def _name(chance: random.Random) -> str:
    return chance.choice(_HEADS) + chance.choice(_TAILS)


def _two(chance: random.Random, among: tuple[str, ...]) -> tuple[str, str]:
    value, other = chance.sample(among, 2)
    return value, other


def _favourite(chance: random.Random) -> OutcomeFact:
    thing, (value, other) = chance.choice(_THINGS), _two(chance, _VALUES)
    return OutcomeFact(
        name=_name(chance),
        value=value,
        other=other,
        say=lambda name, it: f"{name}'s favourite {thing} is {it}.",
        again=lambda name, it: f"For {name}, {it} is the favourite {thing}.",
        ask="What should I bring along?",
    )


def _port(chance: random.Random) -> OutcomeFact:
    value, other = str(chance.randrange(2000, 5000)), str(chance.randrange(5000, 9999))
    return OutcomeFact(
        name=_name(chance),
        value=value,
        other=other,
        say=lambda name, it: f"The {name} server listens on port {it}.",
        again=lambda name, it: f"Port {it} is where the {name} server listens.",
        ask="Where do I connect?",
    )


def _opening(chance: random.Random) -> OutcomeFact:
    hours = [f"{hour:02}{half:02}" for hour in range(6, 11) for half in (5, 25, 40)]
    value, other = _two(chance, tuple(hours))
    return OutcomeFact(
        name=_name(chance),
        value=value,
        other=other,
        say=lambda name, it: f"The harbour office of {name} opens at {it}.",
        again=lambda name, it: f"You find the {name} harbour office open from {it} on, it opens at that time.",
        ask="When can I come by?",
    )


def _shipping(chance: random.Random) -> OutcomeFact:
    goods, (value, other) = chance.choice(_GOODS), _two(chance, _DAYS)
    return OutcomeFact(
        name=_name(chance),
        value=value,
        other=other,
        say=lambda name, it: f"{name} Freight ships {goods} on {it}.",
        again=lambda name, it: f"On {it}, {goods} is shipped by {name} Freight.",
        ask="When does it leave?",
        is_single=False,
    )


_FACTS = (_favourite, _port, _opening, _shipping)


def turns(number: int, *, seed: int) -> Iterator[LabelledOutcomeTurn]:
    """This many labeled turns; deterministic for a seed."""
    chance = random.Random(seed)  # noqa: S311 - turns to read, not a secret
    for at in range(number):
        fact = chance.choice(_FACTS)(chance)
        label, said, next_message = chance.choice(_WRITERS)(fact, chance)
        notes = [fact.text, *(chance.choice(_FACTS)(chance).text for _ in range(BESIDE))]
        order = chance.sample(range(len(notes)), len(notes))
        fillers = chance.sample(_FILLERS, 2)
        turn = TurnInferenceInput(
            notes=tuple(TurnNote(id=f"t{at}n{place}", text=notes[place]) for place in order),
            request=fact.ask,
            reply=f"{fillers[0]} {said} {fillers[1]}",
            next_message=next_message,
        )
        yield LabelledOutcomeTurn(id=f"turn {at}", turn=turn, note=f"t{at}n0", label=label)


Written = tuple[str, str, str]


def _acted(fact: OutcomeFact, chance: random.Random) -> Written:
    say = fact.say if chance.random() < 0.5 else fact.again
    return "acted", say(fact.name, fact.value), chance.choice(_THANKS)


def _used(fact: OutcomeFact, chance: random.Random) -> Written:
    said = chance.choice(("I would ask somebody at {0} about that.", "It may have to do with {0}."))
    return "used", said.format(fact.name), chance.choice(_THANKS)


def _dismissed(fact: OutcomeFact, chance: random.Random) -> Written:
    said = chance.choice(
        ("Leaving aside what is noted about {0}, any choice is fine.", "What I know of {0} does not apply here.")
    )
    return "dismissed", said.format(fact.name), chance.choice(_THANKS)


def _corrected(fact: OutcomeFact, chance: random.Random) -> Written:
    wordings = ("That is wrong. {1}", "Actually, {1}", "No, it is {0}.")
    correction = chance.choice(wordings if fact.is_single else wordings[:2])
    return (
        "contradicted",
        fact.say(fact.name, fact.value),
        correction.format(fact.other, fact.say(fact.name, fact.other)),
    )


def _denied(fact: OutcomeFact, chance: random.Random) -> Written:
    if not fact.is_single:
        return _acted(fact, chance)
    return "contradicted", fact.say(fact.name, fact.other), chance.choice(_THANKS)


def _passed_by(_fact: OutcomeFact, chance: random.Random) -> Written:
    return NONE, chance.choice(_CHAT), chance.choice(_THANKS)


_WRITERS = (_acted, _acted, _used, _dismissed, _corrected, _denied, _passed_by)
