"""Writes statement pairs made from frames, for `encoder.py` to learn how statements relate.

    python -m benchmarks.training.generate FILE

A frame of `frames.toml` says something of a subject and a value in several wordings: `forms` state it, `news` tell a new
value, `ended` and `denied` take one away, and `near` leaves it standing. Its kind says what another value does to the first:
`one` holds at a time, `many` hold together, a `fixed` fact has one forever. Values have several spellings (9:30, half past
nine), drawn anew for each mention. Pairs of different frames about one subject stand side by side.
"""

import json
import random
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FRAMES = Path(__file__).with_name("frames.toml")
LABELS = ("independent", "same", "update", "contradicts")
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
HOURS = ["twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
ALL, SOME, NONE = ("all", "every one of the"), ("some", "a few"), ("none of the", "no")
Spellings = tuple[str, ...]


def clock(rng: random.Random) -> Spellings:
    hour, minute = rng.randrange(6, 22), rng.choice((0, 0, 15, 30, 45))
    half = f"{(hour - 1) % 12 + 1}:{minute:02} {'am' if hour < 12 else 'pm'}"
    spelled = [f"{hour:02}:{minute:02}", half, half.replace(" ", "")]
    if minute == 0:
        spelled += [
            half.replace(":00", ""),
            f"{HOURS[hour % 12]} o'clock {'in the morning' if hour < 12 else 'in the afternoon'}",
        ]
    if minute == 30 and hour < 12:
        spelled.append(f"half past {HOURS[hour % 12]} in the morning")
    return tuple(spelled)


def date(rng: random.Random) -> Spellings:
    day, month, year = rng.randrange(1, 29), rng.randrange(12), rng.choice((2025, 2026, 2027))
    name = MONTHS[month]
    return (
        f"{day} {name} {year}",
        f"{name} {day}, {year}",
        f"{year}-{month + 1:02}-{day:02}",
        f"{day} {name[:3]} {year}",
    )


def money(rng: random.Random) -> Spellings:
    amount = rng.choice((rng.randrange(2, 100), rng.randrange(10, 200) * 10, rng.randrange(10, 50) * 100))
    sign, name = rng.choice((("€", "euros"), ("$", "dollars"), ("£", "pounds")))
    return (f"{sign}{amount}", f"{amount} {name}", f"{amount:,} {name}", f"{sign}{amount:,}")


def ram(rng: random.Random) -> Spellings:
    size = rng.choice((4, 8, 16, 32, 64, 128, 256, 512))
    return (f"{size} GB", f"{size}GB", f"{size} gigabytes", f"{size} gigs")


def percount(rng: random.Random) -> Spellings:
    count, unit = (
        rng.choice((60, 100, 150, 200, 250, 350, 500, 750, 1000, 2000, 5000)),
        rng.choice(("minute", "hour", "day")),
    )
    return (
        f"{count} requests per {unit}",
        f"{count} requests a {unit}",
        f"{count} calls per {unit}",
        f"{count:,} requests/{unit}",
    )


def dated(rng: random.Random) -> Spellings:
    return (
        f"{rng.randrange(3, 99)} on {rng.choice(('Monday', 'Tuesday', 'Thursday', '3 March', '14 May', 'the first of June'))}",
    )


Draw = Callable[[random.Random], Spellings]
DRAWN: dict[str, Draw] = {
    "clock": clock,
    "date": date,
    "money": money,
    "ram": ram,
    "percount": percount,
    "dated": dated,
    "port": lambda rng: (str(rng.choice((rng.randrange(1024, 9999), rng.randrange(10000, 65000)))),),
    "version": lambda rng: (rng.choice(("18.04", "20.04", "22.04", "24.04", "25.10")),),
    "year": lambda rng: (str(rng.randrange(1850, 2025)),),
    "count": lambda rng: (str(rng.randrange(5, 400)),),
}


class FrameWriter:
    """Draws subjects and values and words pairs of one frame."""

    def __init__(self, pools: dict[str, list[Spellings]], frame: dict[str, Any], rng: random.Random) -> None:
        self.pools, self.frame, self.rng = pools, frame, rng

    def draw(self, pool: str, *others: Spellings) -> Spellings:
        while True:
            found = DRAWN[pool](self.rng) if pool in DRAWN else self.rng.choice(self.pools[pool])
            if not any(set(found) & set(other) for other in others) or len(self.pools.get(pool, "ab")) == 1:
                return found

    def word(self, form: str, **values: Spellings) -> str:
        spelled = {name: self.rng.choice(value) for name, value in values.items() if f"{{{name}}}" in form}
        text = form.format(**spelled)
        return text if self.rng.random() < 0.25 else text[0].upper() + text[1:]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        frame, pick = self.frame, self.rng.choice
        s, v = self.draw(frame["key"]), self.draw(frame["value"])
        if frame["key"] == frame["value"]:
            v = self.draw(frame["value"], s)
        t, w = self.draw(frame["key"], s, v), self.draw(frame["value"], v, s)
        x = self.draw("person", s, v, w, t)
        kind, forms = frame["kind"], frame["forms"]
        if kind == "quantifier":
            yield from self.quantified(s, v)
            return
        opposed = frame["value"] in ("onoff", "condition", "status")  # not the one may mean the other
        first = pick(forms)
        old = self.word(first, s=s, v=v)
        for other in self.rng.sample([form for form in forms if form != first], 2 if len(forms) > 2 else 1):
            yield old, self.word(other, s=s, v=v), "same"
        change = {"one": "update", "fixed": "contradicts", "many": "independent", "dated": "independent"}.get(kind)
        if change:
            yield old, self.word(pick(forms), s=s, v=w), change
        if kind == "role":
            yield old, self.word(pick(forms), s=v, v=s), "contradicts"
        if kind == "mutual":
            yield old, self.word(pick(forms), s=v, v=s), "same"
        for form in self.rng.sample(frame["news"], min(2, len(frame["news"]))):
            yield old, self.word(form, s=s, v=w, o=v), "update"
        if frame["ended"]:
            yield old, self.word(pick(frame["ended"]), s=s, v=v), "update"
            if not opposed:
                yield old, self.word(pick(frame["ended"]), s=s, v=w), "independent"
        if frame["denied"]:
            yield old, self.word(pick(frame["denied"]), s=s, v=v), "contradicts"
            if not opposed:
                yield old, self.word(pick(frame["denied"]), s=s, v=w), "independent"
        for form in self.rng.sample(frame["near"], min(3, len(frame["near"]))):
            yield old, self.word(form, s=s, v=w, v0=v, x=x, w=w, t=t), "independent"
        if len(self.pools.get(frame["key"], "ab")) > 1:
            yield old, self.word(pick(forms), s=t, v=pick((v, w))), "independent"

    def quantified(self, s: Spellings, v: Spellings) -> Iterator[tuple[str, str, str]]:
        def said(how: Spellings) -> str:
            return f"{self.rng.choice(how)} {s[0]} {v[0]}"

        yield f"all {s[0]} {v[0]}", f"{s[0]} {v[0]} without exception", "same"
        yield f"none of the {s[0]} {v[0]}", f"not one of the {s[0]} {v[0]}", "same"
        yield said(ALL), said(NONE), "contradicts"
        yield said(NONE), said(ALL), "contradicts"
        yield said(NONE), said(SOME), "contradicts"
        yield said(SOME), said(NONE), "contradicts"
        yield said(SOME), said(ALL), "independent"
        yield said(ALL), f"all {self.draw('group', s)[0]} {v[0]}", "independent"
        yield said(ALL), f"all {s[0]} {self.draw('verbs', v)[0]}", "independent"


def generate(count: int, seed: int = 0) -> list[dict[str, Any]]:
    read = tomllib.loads(FRAMES.read_text(encoding="utf-8"))
    pools = {
        name: [tuple(part.strip() for part in value.split("|")) for value in values.split(",")]
        for name, values in read["pools"].items()
    }
    rng = random.Random(seed)
    writers = [FrameWriter(pools, frame, rng) for frame in read["frame"]]
    found: dict[tuple[str, str], str] = {}
    while len(found) < count:
        writer = rng.choice(writers)
        for old, new, label in writer.pairs():
            found.setdefault((old, new), label)
        other = rng.choice(writers)  # another attribute of the same subject
        if (
            other is not writer
            and other.frame["key"] == writer.frame["key"]
            and {other.frame["kind"], writer.frame["kind"]} <= {"one", "many"}
        ):
            s = writer.draw(writer.frame["key"])
            old, new = (
                each.word(rng.choice(each.frame["forms"]), s=s, v=each.draw(each.frame["value"], s))
                for each in (writer, other)
            )
            found.setdefault((old, new), "independent")
    return [
        {"old": old, "new": new, "label": LABELS.index(label)}
        for (old, new), label in found.items()
        if old.lower() != new.lower()
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(generate(1000)), encoding="utf-8")
