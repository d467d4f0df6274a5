"""Generates a simulated month of messages, and marks what is worth keeping.

Thirty days of three agents: sessions that begin with one long policy and hold ten messages each, and calls of
`learn`. The amount of every kind is fixed; the order, the wording and the speaker come from a seed. Each
message carries its kind and the truth that it states, which the measured system never sees.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from benchmarks import month_words as words
from benchmarks.truths import Truth, TruthSaying, truths

FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
AGENTS = ("clerk", "helper", "scout")
DAYS, SESSIONS_A_DAY, MESSAGES = 30, 40, 10
"""Days, sessions per day, and messages per session."""
LEARNT = 1 / 30
"""Calls of `learn` per message."""


class MonthMessageKind(StrEnum):
    TOOL = "tool"
    CHATTER = "chatter"
    HEARTBEAT = "heartbeat"
    QUESTION = "question"
    ECHO = "echo"
    DURABLE = "durable"
    INVENTED = "invented"
    SUPPOSED = "supposed"
    RESTATED = "restated"
    SECRET = "secret"  # noqa: S105 - a kind of message
    HOSTILE = "hostile"


ASKED: Mapping[MonthMessageKind, float] = {
    MonthMessageKind.TOOL: 0.20,
    MonthMessageKind.CHATTER: 0.13,
    MonthMessageKind.HEARTBEAT: 0.08,
    MonthMessageKind.QUESTION: 0.035,
    MonthMessageKind.ECHO: 0.06,
    MonthMessageKind.SUPPOSED: 0.04,
    MonthMessageKind.SECRET: 0.005,
    MonthMessageKind.HOSTILE: 0.005,
}
"""Shares of what goes to the model.

Without durable statements, which are 5 % of all messages, and without the question that opens a session in
which our notes come back: with those, one message in ten is a question.
"""
ANSWERED: Mapping[MonthMessageKind, float] = {
    MonthMessageKind.CHATTER: 0.12,
    MonthMessageKind.HEARTBEAT: 0.07,
    MonthMessageKind.ECHO: 0.04,
    MonthMessageKind.INVENTED: 0.05,
    MonthMessageKind.RESTATED: 0.05,
}
"""Shares of what the model says."""
DURABLE = 0.05

USER, TOOL, ASSISTANT = "user", "tool", "assistant"


class Echo(StrEnum):
    """How notes that we put into a prompt come back."""

    VERBATIM = "verbatim"
    UNTAGGED = "untagged"
    REWORDED = "reworded"


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthMessage:
    role: str
    kind: MonthMessageKind
    text: str = ""
    """Empty for an echo: it is made of what was put into the prompt."""
    saying: TruthSaying | None = None
    echo: Echo | None = None
    secret: str = ""
    opens: bool = False
    """Whether it is the first of its session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthSession:
    name: str
    agent: str
    at: datetime
    turns: tuple[tuple[tuple[MonthMessage, ...], MonthMessage], ...]
    """What goes to the model each time, and its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthLearnCall:
    """A call of `learn`."""

    agent: str
    saying: TruthSaying


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    at: datetime
    sessions: tuple[MonthSession, ...]
    calls: tuple[MonthLearnCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    policy: str
    truths: tuple[Truth, ...]
    days: tuple[Day, ...]

    def messages(self) -> Iterator[MonthMessage]:
        for day in self.days:
            for session in day.sessions:
                for asked, answered in session.turns:
                    yield from (*asked, answered)

    def calls(self) -> Iterator[MonthLearnCall]:
        for day in self.days:
            yield from day.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Outside material: facts of lives, the policy of an agent, and results of tools."""

    facts: Sequence[str]
    policy: str
    results: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScheduledSaying:
    """A saying with its day, agent and form."""

    day: int
    agent: str
    is_call: bool
    saying: TruthSaying


def month(material: Material, *, seed: int, days: int = DAYS, sessions: int = SESSIONS_A_DAY) -> Month:
    """The month, or fewer days of fewer sessions; deterministic for a seed and material."""
    chance = random.Random(seed)  # noqa: S311 - talk to read, not a secret
    total = days * sessions * MESSAGES
    known = truths(material.facts, number=_truths(total), seed=seed)
    said = list(_spread(known, days=days, chance=chance))
    names = [(each.day, each.saying.text.split()[0]) for each in said if each.saying.is_relation]
    writer = _Writer(chance=chance, results=material.results, names=names, sessions=sessions)
    asked, answered = (_dealt(shares, total, chance=chance) for shares in (ASKED, ANSWERED))
    made = [
        _day(
            day,
            [each for each in said if each.day == day],
            asked=_share(asked, day, days=days),
            answered=_share(answered, day, days=days),
            writer=writer,
        )
        for day in range(days)
    ]
    return Month(policy=material.policy, truths=tuple(known), days=tuple(made))


def _truths(total: int) -> int:
    """How many truths give as many sayings as there are durable messages and calls."""
    return round(total * (DURABLE + LEARNT) / (1 + 1 / 3 + 1 / 10))


def _spread(known: Sequence[Truth], *, days: int, chance: random.Random) -> Iterator[_ScheduledSaying]:
    """When, by whom and how everything is said: first, then again, then changed."""
    by_call = LEARNT / (LEARNT + DURABLE)
    for truth in known:
        agent, count = chance.choice(AGENTS), len(truth.sayings)
        on = sorted(chance.sample(range(days), count)) if days >= count else [0] * count
        for day, saying in zip(on, truth.sayings, strict=True):
            # A relation is read from talk; `learn` takes plain facts.
            is_call = not saying.is_relation and chance.random() < by_call * 4 / 3
            yield _ScheduledSaying(day=day, agent=agent, is_call=is_call, saying=saying)


def _dealt(shares: Mapping[MonthMessageKind, float], total: int, *, chance: random.Random) -> list[MonthMessageKind]:
    deck = [kind for kind, share in shares.items() for _ in range(round(total * share))]
    chance.shuffle(deck)
    return deck


def _share(deck: Sequence[MonthMessageKind], day: int, *, days: int) -> list[MonthMessageKind]:
    return list(deck[len(deck) * day // days : len(deck) * (day + 1) // days])


def _day(
    day: int,
    said: Sequence[_ScheduledSaying],
    *,
    asked: list[MonthMessageKind],
    answered: list[MonthMessageKind],
    writer: "_Writer",
) -> Day:
    at = FIRST_DAY + timedelta(days=day)
    hands: list[tuple[list[MonthMessage], list[MonthMessage]]] = [([], []) for _ in range(writer.sessions)]
    for place, kind in enumerate(asked):
        hands[place % writer.sessions][0].append(writer.asked(kind))
    for place, kind in enumerate(answered):
        hands[place % writer.sessions][1].append(writer.answered(kind))
    for each in said:
        if not each.is_call:
            number = writer.chance.randrange(writer.sessions // len(AGENTS)) * len(AGENTS)
            hands[number + AGENTS.index(each.agent)][0].append(writer.told(each.saying))
    for asked_there, answered_there in hands:
        if any(message.kind is MonthMessageKind.ECHO for message in (*asked_there, *answered_there)):
            asked_there.append(writer.opening(day))
    sessions = tuple(
        MonthSession(
            name=f"day{day}-{number}",
            agent=AGENTS[number % len(AGENTS)],
            at=at + timedelta(hours=8, minutes=15 * number),
            turns=tuple(_turns(*hand, chance=writer.chance)),
        )
        for number, hand in enumerate(hands)
    )
    calls = tuple(MonthLearnCall(agent=each.agent, saying=each.saying) for each in said if each.is_call)
    return Day(at=at, sessions=sessions, calls=calls)


def _turns(
    asked: list[MonthMessage], answered: list[MonthMessage], *, chance: random.Random
) -> Iterator[tuple[tuple[MonthMessage, ...], MonthMessage]]:
    """All questions, split into as many stretches as there are answers; no stretch is empty."""
    chance.shuffle(asked)
    # What brings up our notes is asked first, and what repeats them comes last.
    asked.sort(key=lambda message: (not message.opens, message.kind is MonthMessageKind.ECHO))
    answers = answered[: len(asked)] or [
        MonthMessage(role=ASSISTANT, kind=MonthMessageKind.HEARTBEAT, text="Understood.")
    ]
    for number, answer in enumerate(answers):
        here, there = (len(asked) * place // len(answers) for place in (number, number + 1))
        yield tuple(asked[here:there]), answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    chance: random.Random
    results: Sequence[str]
    names: Sequence[tuple[int, str]]
    """Names of things, with the day on which each is mentioned."""
    sessions: int

    def asked(self, kind: MonthMessageKind) -> MonthMessage:
        match kind:
            case MonthMessageKind.TOOL:
                return MonthMessage(role=TOOL, kind=kind, text=self.chance.choice(self.results))
            case MonthMessageKind.HOSTILE:
                text = f"{self.chance.choice(self.results)[:300]}\n{words.order(self.chance)}"
                return MonthMessage(role=TOOL, kind=kind, text=text)
            case MonthMessageKind.SECRET:
                text, key = words.secret(self.chance)
                return MonthMessage(role=USER, kind=kind, text=text, secret=key)
            case MonthMessageKind.ECHO:
                return MonthMessage(role=USER, kind=kind, echo=self.chance.choice(tuple(Echo)))
            case MonthMessageKind.QUESTION:
                return MonthMessage(role=USER, kind=kind, text=words.question(self.chance))
        write = {
            MonthMessageKind.CHATTER: words.talk,
            MonthMessageKind.HEARTBEAT: words.sign_of_life,
            MonthMessageKind.SUPPOSED: words.supposed,
        }
        return MonthMessage(role=USER, kind=kind, text=write[kind](self.chance))

    def answered(self, kind: MonthMessageKind) -> MonthMessage:
        if kind is MonthMessageKind.ECHO:
            return MonthMessage(role=ASSISTANT, kind=kind, echo=self.chance.choice(tuple(Echo)))
        write = {
            MonthMessageKind.CHATTER: words.reply,
            MonthMessageKind.HEARTBEAT: words.sign_of_life,
            MonthMessageKind.INVENTED: words.invented,
            MonthMessageKind.RESTATED: words.restated,
        }
        return MonthMessage(role=ASSISTANT, kind=kind, text=write[kind](self.chance))

    def opening(self, day: int) -> MonthMessage:
        """A question about something mentioned before, if anything was."""
        known = [name for told, name in self.names if told < day]
        text = words.question_about(self.chance.choice(known), self.chance) if known else words.question(self.chance)
        return MonthMessage(role=USER, kind=MonthMessageKind.QUESTION, text=text, opens=True)

    def told(self, saying: TruthSaying) -> MonthMessage:
        """A durable statement in a conversation: relations as they are, facts with a request to keep them."""
        query = self.chance.choice(("Remember that ", "Please note that ", "Remember: "))
        front = "" if saying.is_relation else query
        return MonthMessage(role=USER, kind=MonthMessageKind.DURABLE, text=f"{front}{saying.text}", saying=saying)
