"""Long single replies for benchmarking a stream guard: honest repetitive text, and degenerate output.

Standalone and deterministic.  Every kind has two separately written builders, one per half.  A degenerate
stream opens with sensible text; `degenerate_from` is the offset at which the repetition sets in.

    for stream in streams():
        ...

Run the module to print the counts and check the invariants.
"""

from __future__ import annotations

import base64
import calendar
import collections
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Label = Literal["honest", "degenerate"]
Half = Literal["dev", "held"]

MIN_CHARS, MAX_CHARS = 2_000, 20_000
PER_DEGENERATE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One reply of the model, as the client would see it at its end (or where it was cut)."""

    id: str
    label: Label
    half: Half
    kind: str
    text: str
    degenerate_from: int | None = None


Honest = Callable[[random.Random], str]
Degenerate = Callable[[random.Random, int], tuple[str, str]]


# --------------------------------------------------------------------------------------------- helpers


def alnum(r: random.Random, n: int) -> str:
    """n random lower-case letters and digits."""
    return "".join(r.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(n))


def hx(r: random.Random, n: int) -> str:
    """n random hex digits."""
    return "".join(r.choice("0123456789abcdef") for _ in range(n))


def spin(r: random.Random, template: str) -> str:
    """Pick one alternative of every {a|b|c} group."""
    return re.sub(r"\{([^{}]*\|[^{}]*)\}", lambda m: r.choice(m.group(1).split("|")), template)


def code(lang: str, lines: Sequence[str]) -> str:
    """A fenced block."""
    return f"```{lang}\n" + "\n".join(lines) + "\n```\n"


def fill(r: random.Random, make: Callable[[int], str], low: int = 3_000, high: int = 15_000) -> str:
    """Call make(0), make(1), ... until a random length is reached, then cut as a token limit would."""
    want = r.randint(low, high)
    parts: list[str] = []
    size = 0
    while size < want:
        parts.append(make(len(parts)))
        size += len(parts[-1])
    return "".join(parts)[:want]


# ----------------------------------------------------------------------------------------- honest, dev


def hd_sql(r: random.Random) -> str:
    rows = [
        f"INSERT INTO towns (id, name, country, pop) VALUES ({n}, '{alnum(r, 7).title()}', "
        f"'{r.choice(['DE', 'FR', 'PT', 'SE'])}', {r.randint(900, 90000)});"
        for n in range(1, 181)
    ]
    return "Here are the seed rows:\n\n" + code("sql", rows)


def hd_toc(r: random.Random) -> str:
    words = ["Setup", "Wiring", "Sensors", "Motors", "Vision", "Maps", "Planning", "Safety", "Power", "Tuning"]
    lines: list[str] = []
    page = 3
    for c, w in enumerate(words, 1):
        lines.append(f"Chapter {c}  {w} {'.' * (50 - len(w))} {page}")
        for s in range(1, 6):
            page += r.randint(2, 9)
            title = f"{w} basics part {s}"
            lines.append(f"  {c}.{s}  {title} {'.' * (48 - len(title))} {page}")
    return "\n".join(lines) + "\n"


def hd_css(r: random.Random) -> str:
    names = ["card", "nav", "hero", "badge", "alert", "modal", "table", "form", "list", "tabs", "chip", "menu"]
    lines: list[str] = []
    for n in names * 4:
        for state in ("", ":hover"):
            lines += [
                f".{n}-{hx(r, 2)}{state} {{",
                "  display: flex;",
                "  align-items: center;",
                f"  padding: {r.randint(2, 16)}px;",
                f"  color: #{hx(r, 6)};",
                "  border-radius: 4px;",
                "}",
            ]
    return code("css", lines)


def hd_yaml(r: random.Random) -> str:
    lines = ["services:"]
    for n in range(1, 65):
        lines += [
            f"  worker-{n:02d}:",
            "    image: registry.example/worker:3.2",
            "    restart: unless-stopped",
            "    environment:",
            f"      SHARD: '{n}'",
            "      LOG_LEVEL: info",
            "    networks: [backend]",
        ]
    return "One service per shard, as asked:\n\n" + code("yaml", lines)


def hd_counting(r: random.Random) -> str:
    return "Sure, here we go:\n" + ", ".join(str(n) for n in range(1, 501)) + ". Done!"


def hd_asserts(r: random.Random) -> str:
    def roman(n: int) -> str:
        out = ""
        for v, s in (
            (100, "C"),
            (90, "XC"),
            (50, "L"),
            (40, "XL"),
            (10, "X"),
            (9, "IX"),
            (5, "V"),
            (4, "IV"),
            (1, "I"),
        ):
            while n >= v:
                out, n = out + s, n - v
        return out

    return code(
        "python", ["def test_roman() -> None:"] + [f"    assert roman({n}) == '{roman(n)}'" for n in range(1, 301)]
    )


def hd_test_output(r: random.Random) -> str:
    lines = ["The run's output was:", ""]
    for _ in range(220):
        ms = r.randint(1, 40)
        lines.append(f"PASS src/{alnum(r, 6)}/{alnum(r, 5)}.test.ts ({ms} ms)")
    return "\n".join(lines + ["", "Tests: 220 passed, 220 total"])


def hd_matrix(r: random.Random) -> str:
    rows = ["[" + ", ".join("1" if i == k else "0" for k in range(60)) + "]," for i in range(60)]
    return "The 60 by 60 identity matrix:\n\n" + code("", rows)


def hd_ascii(r: random.Random) -> str:
    tree = [" " * (30 - n) + "*" * (2 * n + 1) for n in range(30)] * 2
    trunk = [" " * 27 + "|||||||"] * 8
    ground = ["=" * 61] * 2
    return "A two-tier tree for your README:\n\n" + code("", tree + trunk + ground) + "\nHave fun with it!\n"


def hd_dots(r: random.Random) -> str:
    lines = []
    for n in range(1, 61):
        row = "".join("F" if r.random() < 0.01 else "." for _ in range(72))
        lines.append(f"{row} [{n * 100 // 60:3d}%]")
    return "collected 4320 items\n\n" + "\n".join(lines) + "\n\nA few failed; see the F marks.\n"


def hd_json(r: random.Random) -> str:
    rows = [
        {"id": n, "type": "point", "active": True, "x": round(r.uniform(0, 9), 2), "y": round(r.uniform(0, 9), 2)}
        for n in range(60)
    ]
    return "```json\n" + json.dumps(rows, indent=1) + "\n```\n"


def hd_csv(r: random.Random) -> str:
    lines = ["date,store,sku,qty,price"]
    lines += [
        f"2025-01-{n % 28 + 1:02d},S{n % 4},SKU-{r.randint(1, 40):03d},{r.randint(1, 9)},9.99" for n in range(150)
    ]
    return "\n".join(lines) + "\n"


def hd_days(r: random.Random) -> str:
    lines: list[str] = []
    for m in range(1, 13):
        for d in range(1, calendar.monthrange(2025, m)[1] + 1):
            wd = calendar.day_name[calendar.weekday(2025, m, d)]
            lines.append(f"- {wd}, {calendar.month_name[m]} {d}: ")
    return "Here is your journal skeleton for the whole year:\n\n" + "\n".join(lines)


def hd_poem(r: random.Random) -> str:
    stanzas = [
        "The lamp is lit at half past four,\nthe kettle sings, the cat's at the door,",
        "A letter came from over the hill,\nthe ink was wet, the paper still,",
        "The baker's boy has gone to sea,\nhe left his bicycle to me,",
        "The plum tree bent beneath its load,\nand wasps were drunk along the road,",
        "My mother hummed and darned a sleeve,\nshe'd hum to stay, she'd hum to leave,",
        "The river rose and took the pier,\nwe built it twice in the same year,",
        "A swallow slept inside the shed,\nand woke the hens from overhead,",
        "The snow lay blue against the wall,\nand made a small town of it all,",
        "The doctor came with frozen hands,\nand told us tales of other lands,",
        "The clock ran late, the clock ran fast,\nit told the future like the past,",
        "We counted stars and lost the count,\nand argued over the amount,",
        "The fair set up behind the school,\nits music drifted to the pool,",
        "The road was paved, the road was sold,\nthe young ones left, the rest grew old,",
        "And still at dusk I climb the stair,\nand set the lamp, and leave it there,",
    ]
    refrain = "\nand oh, the wind, the wind comes round,\nand lays the long grass on the ground.\n\n"
    return "The Long Grass\n\n" + refrain.join(stanzas) + refrain


def hd_song(r: random.Random) -> str:
    chorus = (
        "[Chorus]\nSo drive, drive, drive till the radio dies,\nthere's dust on the dash and "
        "there's gold in the skies,\n"
        "hold on to the wheel and hold on to the night,\nwe'll be halfway to nowhere by "
        "morning light.\nDrive, drive, drive.\n\n"
    )
    verses = [
        ("Packed up the wagon with a tent and a cake,\nleft a note on the fridge by the picture of the lake.\n"),
        "Gas station coffee and a map from the war,\nyou said every mile makes you wonder what it's for.\n",
        "A trucker in Tulsa bought us eggs and a song,\nsaid he had been driving for his whole life long.\n",
        "We slept by a silo in the hum of the wires,\nwoke up to the smell of somebody's fires.\n",
        "The heater gave out on the edge of the plain,\nwe sang with our teeth till it started to rain.\n",
        "There's a postcard I wrote and I never did send,\nit says that the road isn't looking to end.\n",
    ]
    return (
        "".join(f"[Verse {n}]\n{v}\n{chorus}" for n, v in enumerate(verses, 1))
        + "[Outro]\nDrive, drive, drive,\ndrive.\n"
    )


def hd_changelog(r: random.Random) -> str:
    lines: list[str] = ["# Changelog", ""]
    for n in range(60, 0, -1):
        lines += [f"## 1.{n}.0", "", "### Fixed", ""]
        for _ in range(r.randint(1, 3)):
            lines.append(
                f"- Fixed a crash in `{alnum(r, 6)}` when the input is {r.choice(['empty', 'huge', 'not UTF-8'])}."
            )
        lines += ["", "### Changed", "", f"- Bumped `{alnum(r, 5)}` to {r.randint(1, 9)}.{r.randint(0, 20)}.", ""]
    return "\n".join(lines)


def hd_imports(r: random.Random) -> str:
    return code("python", [f"from acme.models.{m} import {m.title()}Model" for m in (alnum(r, 8) for _ in range(65))])


def hd_enum(r: random.Random) -> str:
    lines = ["class ErrorCode(enum.IntEnum):"]
    lines += [f"    ERR_{alnum(r, 6).upper()}_{alnum(r, 4).upper()} = {4000 + n}" for n in range(90)]
    return code("python", lines)


def hd_hexdump(r: random.Random) -> str:
    lines: list[str] = []
    for n in range(200):
        row = "00" * 16 if 30 <= n < 110 else hx(r, 32)
        lines.append(f"{n * 16:08x}  " + " ".join(row[k : k + 2] for k in range(0, 32, 2)) + "  |................|")
    return code("", lines)


def hd_times(r: random.Random) -> str:
    return "\n".join(f"{a} x {b} = {a * b}" for a in range(1, 26) for b in range(1, 21))


def hd_table(r: random.Random) -> str:
    lines = ["| Host | Ping | Disk | Backup | Patch |", "|---|---|---|---|---|"]
    lines += [
        f"| web-{n:03d} | ok | ok | ok | ok |" if n != 71 else "| web-071 | ok | FULL | ok | ok |" for n in range(1, 91)
    ]
    return "I checked all 90 hosts:\n\n" + "\n".join(lines) + "\n\nOnly web-071 needs attention.\n"


def hd_names(r: random.Random) -> str:
    first = ["Ada", "Ben", "Cleo", "Dov", "Ema", "Finn", "Gia", "Hugo", "Ivy", "Jon", "Kai", "Lea", "Max", "Nia"]
    last = ["Abel", "Bauer", "Costa", "Dunn", "Engel", "Fox", "Grant", "Hale", "Ito", "Jung", "Kerr", "Lund"]
    return "\n".join(f"{n}. {r.choice(first)} {r.choice(last)}" for n in range(1, 601))


def hd_base64(r: random.Random) -> str:
    blob = base64.b64encode(
        bytes(r.randrange(256) for _ in range(900)) + bytes(700) + bytes(r.randrange(256) for _ in range(900))
    )
    text = blob.decode()
    return (
        "-----BEGIN DATA-----\n"
        + "\n".join(text[k : k + 76] for k in range(0, len(text), 76))
        + "\n-----END DATA-----\n"
    )


def hd_log(r: random.Random) -> str:
    lines = [
        (
            f"2025-02-11T08:{n // 60:02d}:{n % 60:02d}.{r.randint(0, 999):03d}Z INFO  http GET "
            f"/api/items/{r.randint(1, 9999)} 200 {r.randint(3, 60)}ms"
        )
        for n in range(100)
    ]
    return "The excerpt around the incident:\n\n" + code("", lines)


def hd_checklist(r: random.Random) -> str:
    rooms = ["Kitchen", "Bath", "Hall", "Attic", "Garage", "Office", "Cellar", "Porch"]
    jobs = [
        "sweep the floor",
        "wipe the windows",
        "empty the bin",
        "dust the shelves",
        "check the smoke alarm",
        "water the plants",
    ]
    return "\n".join(
        f"## {m}\n" + "\n".join(f"- [ ] {room}: {j}" for room in rooms for j in jobs[:4])
        for m in ("June", "July", "August", "September", "October")
    )


def hd_units(r: random.Random) -> str:
    return "\n".join(f"{c} °C is {c * 9 / 5 + 32:.1f} °F" for c in range(-40, 101))


def hd_i18n(r: random.Random) -> str:
    keys = ["save", "cancel", "open", "close", "delete", "copy", "print", "share", "undo", "redo", "find", "help"]
    return "\n".join(
        f"menu.{alnum(r, 4)}.{k}.label={k.title()}\nmenu.{alnum(r, 4)}.{k}.tooltip=Click to {k}" for k in keys * 9
    )


def hd_html(r: random.Random) -> str:
    rows = [
        f'  <tr><td class="n">{n}</td><td>{alnum(r, 6)}</td><td class="p">{r.randint(1, 99)} EUR</td></tr>'
        for n in range(60)
    ]
    return code("html", ["<table>", *rows, "</table>"])


def hd_switch(r: random.Random) -> str:
    lines = ["switch (op) {"]
    for n in range(48):
        lines += [f"  case 0x{n:02x}:", f"    cpu_{alnum(r, 4)}(ctx);", "    break;"]
    return code("c", [*lines, "  default:", "    abort();", "}"])


def hd_prose(r: random.Random) -> str:
    return """Moving a service from one database to another is mostly a matter of order. Before you touch a \
line of code, write down which queries matter. You will be surprised how few there are: in most services \
a dozen statements make up nearly all of the load, and the rest runs once a night or never.

Next, put a thin layer between the code and the driver. It does not need to be clever. A module with one \
function for each of the dozen statements is enough, and it gives you a place to count, to time and \
later to switch.

Now write to both. The old database stays in charge; the new one only listens. When the new one fails, \
note it and carry on. For a week or two you will find the odd thing: a column that was too short, a time \
zone that was implied, a trigger that nobody remembered. Each of those would have been an outage on the \
day of the move.

Back-fill the past while this runs. Copy old rows in small batches, ordered by primary key, and note the \
last key after each batch, so that you can stop at any time. Don't do it at full speed just because the \
machine can; the disks are shared with the people who pay for them.

Then read from both, and compare. Serve the old answer, log the difference. At first there will be \
thousands of differences, and most of them will be about sorting, because nobody ever said ORDER BY and \
the old engine just happened to return rows by insertion. Fix the queries, not the comparison.

Once the log is quiet, turn the switch for a small share of the users. One percent is plenty. Watch the \
slow requests rather than the average, since averages hide the one customer with forty thousand rows. \
Double the share every day that nothing happens.

When everybody reads from the new database, keep writing to the old one for a while. It costs little and \
it is the only way back. People like to skip this step, as the old system looks so very much like waste \
by then. They are also the people who restore from a backup on a Sunday.

At last, stop writing, take a final dump, label it with the date and the commit, and delete the layer \
you wrote at the start, or keep it if you have grown fond of it. The move is over when the old \
credentials are revoked; until then somebody's script is still using them.
"""


def hd_reasoning(r: random.Random) -> str:
    return """Let me work out how many trucks we need. There are 412 pallets, and a truck takes 33 if all \
of them are standard size. So 412 / 33 is 12.48, and that makes 13 trucks.

Wait, not all pallets are standard. The list says 60 of them are half pallets. Two half pallets take the \
room of one, so 60 half pallets count as 30. That leaves 352 + 30 = 382 places, and 382 / 33 is 11.6, so \
12 trucks.

Hmm, but weight may be the limit instead. A truck may carry 24 tons. The standard pallets weigh 700 kg \
on average, so 33 of them weigh 23.1 tons, which is fine. The half pallets hold batteries, and the sheet \
says 520 kg each. Two of them on one place weigh 1040 kg, more than a standard one.

Let me redo it by weight: 352 times 700 kg is 246.4 tons. 60 times 520 kg is 31.2 tons. Together 277.6 \
tons, and 277.6 / 24 is 11.57. So 12 trucks by weight too, provided that the batteries are spread \
evenly. Five half pallets per truck: 2.6 tons of batteries, and 29.3 standard pallets with 20.5 tons. \
That is 23.1 tons. Good, it fits.

Wait, batteries are dangerous goods. Is there a rule on how many may be in one truck? The transport \
sheet mentions a limit of 1000 points per vehicle, and each half pallet is worth 150 points. So at most \
six per truck. Five is below that, fine.

One more check: the depot in Graz can only take trucks of 18 tons. How many pallets go to Graz? 48 \
standard ones, no batteries. At 700 kg that's 33.6 tons, so two of the small trucks with 24 pallets \
each, 16.8 tons. Those don't count against the 12, because they'd be separate. The rest is then 304 \
standard and 60 half pallets: 212.8 + 31.2 = 244 tons, 244 / 24 = 10.2, so 11 large trucks. With 11 \
trucks, the batteries are 60 / 11 = 5.5 per truck, so some carry six, which is still within the points.

Should I worry about the loading ramps? There are three, and a large truck takes 50 minutes to load. 11 \
trucks on three ramps are four rounds, so 200 minutes, and the small ones fit into the last round. The \
shift is six hours. Fine.

So the answer is 11 large trucks plus two small ones for Graz, 13 in all. That's the same number I \
started from, but for a different reason, and the split matters for the booking.
"""


def hd_diff(r: random.Random) -> str:
    lines: list[str] = []
    for _ in range(22):
        f = f"pkg/{alnum(r, 6)}.go"
        lines += [
            f"--- a/{f}",
            f"+++ b/{f}",
            f"@@ -{r.randint(1, 90)},4 +{r.randint(1, 90)},4 @@",
            " import (",
            '-\t"log"',
            '+\t"log/slog"',
            " )",
        ]
    return code("diff", lines)


def hd_bars(r: random.Random) -> str:
    lines = [f"{y} | {'#' * (n + r.randint(5, 12))} {n + 20}" for n, y in enumerate(range(1970, 2026))]
    return "Rainfall by year (each # is 20 mm):\n\n" + code("", lines)


# ---------------------------------------------------------------------------------------- honest, held


def hh_sql(r: random.Random) -> str:
    rows = ",\n".join(
        f"  ({n}, {r.randint(1, 50)}, '2024-11-{n % 30 + 1:02d}', 'pending', NULL)" for n in range(3001, 3301)
    )
    return f"INSERT INTO loans (id, patron_id, due, state, returned_at) VALUES\n{rows};\n"


def hh_toc(r: random.Random) -> str:
    lines = ["## Table of contents", ""]
    for part in ("Tides", "Currents", "Waves", "Ice", "Charts", "Pilotage", "Lights", "Buoys"):
        lines.append(f"- [{part}](#{part.lower()})")
        for sub in ("Overview", "Terms", "Tools", "Worked example", "Exercises", "Answers"):
            lines.append(f"  - [{part}: {sub}](#{part.lower()}-{sub.lower().replace(' ', '-')})")
    return "\n".join(lines) + "\n"


def hh_css(r: random.Random) -> str:
    lines = [":root {"]
    for color in ("red", "teal", "amber", "slate", "lime"):
        lines += [
            f"  --{color}-{s}: hsl({r.randint(0, 359)} {r.randint(30, 90)}% {95 - s // 10}%);"
            for s in range(50, 951, 50)
        ]
    lines += ["}"] + [f".m-{n} {{ margin: {n * 4}px; }}" for n in range(40)]
    return "\n".join(lines) + "\n"


def hh_yaml(r: random.Random) -> str:
    docs = [
        f"apiVersion: v1\nkind: Service\nmetadata:\n  name: branch-{alnum(r, 5)}\n  "
        "namespace: library\nspec:\n"
        f"  type: ClusterIP\n  selector:\n    app: branch\n  ports:\n    - port: {8000 + n}\n "
        "     targetPort: http\n"
        for n in range(50)
    ]
    return "---\n".join(docs)


def hh_counting(r: random.Random) -> str:
    return "Counting down from 600, as you wished.\n" + "\n".join(str(n) for n in range(600, -1, -1)) + "\nLiftoff!"


def hh_asserts(r: random.Random) -> str:
    lines = ["#[test]", "fn leap_years() {"]
    for y in range(1800, 2040):
        lines.append(f"    assert_eq!(is_leap({y}), {'true' if calendar.isleap(y) else 'false'});")
    return code("rust", [*lines, "}"])


def hh_test_output(r: random.Random) -> str:
    lines = ["=== RUN   TestTide"]
    for n in range(99):
        name = f"TestTide/station_{n:02d}"
        lines += [f"=== RUN   {name}", f"    --- PASS: {name} (0.0{r.randint(0, 9)}s)"]
    return "\n".join([*lines, "--- PASS: TestTide (1.91s)", "PASS"])


def hh_matrix(r: random.Random) -> str:
    rows = [" & ".join("0" if k > i else str(r.choice([0, 1])) for k in range(28)) + r" \\" for i in range(28)]
    return "$$\n\\begin{pmatrix}\n" + "\n".join(rows) + "\n\\end{pmatrix}\n$$\n"


def hh_ascii(r: random.Random) -> str:
    wall = ["|" + "_|" * 32 if n % 2 else "|_" + "|_" * 31 + "|" for n in range(26)]
    gate = ["|" + "_|" * 13 + " " * 12 + "|_" * 13 + "|"] * 7
    return "Your castle wall with a gate:\n\n" + code("", wall + gate) + "\nShall I add towers?\n"


def hh_dots(r: random.Random) -> str:
    out = ["Running the suite:", ""]
    for mod in ("api", "auth", "books", "cards", "desk", "events", "fines", "holds", "loans", "media", "rooms", "web"):
        n = r.randint(120, 260)
        out.append(f"tests/test_{mod}.py {'.' * n}{'s' * r.randint(0, 3)}")
    return "\n".join(out) + "\n\nAll of it passed; the s are skipped ones.\n"


def hh_json(r: random.Random) -> str:
    items = [f'  {{"sku": "{alnum(r, 8)}", "inStock": true, "warehouse": "HFX", "reorder": false}}' for _ in range(70)]
    return "[\n" + ",\n".join(items) + "\n]\n"


def hh_csv(r: random.Random) -> str:
    lines = ["station;time;level_m;wind_kn;flag"]
    lines += [f"pier4;{n // 6:02d}:{n % 6 * 10:02d};{1.2 + n % 40 / 50:.2f};{r.randint(2, 20)};ok" for n in range(140)]
    return "\n".join(lines) + "\n"


def hh_days(r: random.Random) -> str:
    lines = []
    for wk in range(1, 53):
        lines.append(f"Week {wk}")
        lines += [
            f"  {d}: early {r.choice('ABC')}, late {r.choice('DEF')}" for d in ("Mon", "Tue", "Wed", "Thu", "Fri")
        ]
    return "\n".join(lines)


def hh_poem(r: random.Random) -> str:
    lines = [
        ("Who goes down to the harbor first?", "The gull, the gull, with the morning's thirst."),
        ("Who goes down when the gull has flown?", "The man with the nets, and he goes alone."),
        ("Who goes down when the nets are cast?", "The widow who looks for the man at the mast."),
        ("Who goes down when the widow's gone?", "The dog of the pilot, the only one."),
        ("Who goes down when the dog lies still?", "The bell from the church on the crooked hill."),
        ("Who goes down when the bell is dumb?", "The fog, the fog, and the ships that come."),
        ("Who goes down when the ships are in?", "The girl with the scales and the boy with the tin."),
        ("Who goes down when the scales are wet?", "The clerk with the ledger and all of the debt."),
        ("Who goes down when the debt is paid?", "The fiddler who knows how a tune is made."),
        ("Who goes down when the tune is done?", "The moon on her back, and the tide with the moon."),
        ("Who goes down when the moon is thin?", "The cold, with a key, and it lets itself in."),
        ("Who goes down when the cold is here?", "The child with a lantern, who has no fear."),
        ("Who goes down when the lantern's out?", "Nobody, nobody, only the trout."),
        ("Who goes down at the end of the year?", "All of us, all of us, all of us, dear."),
    ]
    tail = "\n  Heave away, heave, and the rope runs through,\n  the harbor is old and the water is new.\n\n"
    return "".join(f"{a}\n{b}{tail}" for a, b in lines)


def hh_song(r: random.Random) -> str:
    hook = (
        "(Refrain)\nOh leave the light on, leave it on for me,\nI'm coming up the hill from "
        "the edge of the sea,\n"
        "my coat is full of weather and my pockets full of sand,\noh leave the light on, "
        "love, and hold out your hand.\n"
        "Leave it on, leave it on, leave it on.\n\n"
    )
    verses = [
        "The foghorn was counting and I counted along,\nit only knows one note but it makes it a song.\n\n",
        "I sold my good boots for a ticket and a pear,\nand slept on a mailbag with salt in my hair.\n\n",
        ("The captain had stories, the cook had the rum,\nand everyone had someone who said they would come.\n\n"),
        "They laughed at my letter, they read it aloud,\nthen one asked to hear it again from the crowd.\n\n",
        "There's ice on the railing and rust on the bell,\nand more in the cargo than I'm going to tell.\n\n",
        "I see it, I see it, a pin in the black,\nit's yours or a star's, but I'm following it back.\n\n",
    ]
    return "Leave the Light On\n\n" + "".join(v + hook for v in verses)


def hh_changelog(r: random.Random) -> str:
    out: list[str] = []
    for n in range(40):
        out.append(f"v0.{40 - n}.{r.randint(0, 5)} (2024-{n % 12 + 1:02d}-{r.randint(1, 28):02d})")
        out.append(
            f"  * {r.choice(['Update', 'Improve', 'Rework'])} "
            f"{r.choice(['docs', 'search', 'login', 'fees'])} ({hx(r, 7)})"
        )
        out.append(f"  * Update dependencies ({hx(r, 7)})")
    return "\n".join(out)


def hh_imports(r: random.Random) -> str:
    lines = [
        f"import {{ {n}Icon }} from '@harbor/icons/{n.lower()}';" for n in (alnum(r, 7).title() for _ in range(60))
    ]
    return "Put these at the top of the file:\n\n" + code("ts", lines)


def hh_enum(r: random.Random) -> str:
    lines = ["public enum Country {"]
    seen = [alnum(r, 2).upper() + alnum(r, 1).upper() for _ in range(90)]
    lines += [f'    C_{c}("{c}", {n}, Region.UNKNOWN),' for n, c in enumerate(seen)]
    return code("java", [*lines, "    ;", "}"])


def hh_hexdump(r: random.Random) -> str:
    rows = []
    for n in range(170):
        word = ["ffff"] * 8 if n % 7 < 4 else [hx(r, 4) for _ in range(8)]
        rows.append(f"{0x8000 + n * 16:07o} " + " ".join(word))
    return "\n".join(rows) + "\n"


def hh_times(r: random.Random) -> str:
    head = "|  × |" + "".join(f" {b:3d} |" for b in range(1, 21))
    rows = [f"| {a:2d} |" + "".join(f" {a * b:3d} |" for b in range(1, 21)) for a in range(1, 26)]
    return "\n".join([head, "|" + "---|" * 21, *rows])


def hh_table(r: random.Random) -> str:
    rows = [f"| Room {n} | yes | yes | no | {8 + n % 3}:00 to 18:00 | free |" for n in range(101, 301)]
    return "| Room | Projector | Whiteboard | Phone | Hours | Price |\n|--|--|--|--|--|--|\n" + "\n".join(rows)


def hh_names(r: random.Random) -> str:
    syl = ["ka", "lo", "mi", "ren", "sa", "ti", "vor", "wen", "xi", "yel", "zan", "dre", "fa", "gor", "hul"]
    names = ["".join(r.choice(syl) for _ in range(r.randint(2, 4))).title() for _ in range(700)]
    return "Here are 700 names for your elves: " + ", ".join(names) + "."


def hh_base64(r: random.Random) -> str:
    svg = (
        b"<svg>"
        + b"".join(b'<rect x="%d" y="%d" width="8" height="8"/>' % (x * 8, x % 9 * 8) for x in range(250))
        + b"</svg>"
    )
    return f'<img alt="grid" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}">\n'


def hh_log(r: random.Random) -> str:
    lines = [
        (
            f"May 06 03:{n // 60:02d}:{n % 60:02d} bastion-2 sshd[{r.randint(1000, 9999)}]: "
            f"Failed password for root from 198.51.100.{r.randint(2, 250)} port "
            f"{r.randint(1024, 65000)} ssh2"
        )
        for n in range(160)
    ]
    return "Typical brute force noise:\n\n" + code("", lines) + "\nNone of these got in.\n"


def hh_checklist(r: random.Random) -> str:
    out = []
    for boat in ("Alma", "Berta", "Carla", "Dora", "Elsa", "Frida", "Greta"):
        out.append(f"### {boat}")
        for item in (
            "life vests",
            "flares",
            "fire extinguisher",
            "bilge pump",
            "anchor light",
            "radio",
            "fuel",
            "first aid kit",
        ):
            out.append(f"- [{r.choice('x ')}] {item} checked and in date")
    return "\n".join(out)


def hh_units(r: random.Random) -> str:
    return "\n".join(f"{kn} kn = {kn * 1.852:.2f} km/h = {kn * 0.514444:.2f} m/s" for kn in range(1, 161))


def hh_i18n(r: random.Random) -> str:
    entries = []
    for w in ("Loan", "Hold", "Fine", "Card", "Room", "Event", "Branch", "Author", "Series", "Shelf", "Notice"):
        for form in ("title", "empty", "loading", "error", "confirm"):
            entries.append(f'msgid "{w.lower()}.{form}"\nmsgstr "{w}: {form}"\n')
    return "\n".join(entries)


def hh_html(r: random.Random) -> str:
    opts = [f'    <option value="{alnum(r, 3)}">Branch {n} - open</option>' for n in range(1, 61)]
    return code("html", ['<select name="branch">', *opts, "</select>"])


def hh_switch(r: random.Random) -> str:
    lines = ["match key {"]
    lines += [f'    "{alnum(r, 5)}" => Action::{alnum(r, 6).title()},' for _ in range(80)]
    return code("rust", [*lines, "    _ => Action::None,", "}"])


def hh_prose(r: random.Random) -> str:
    return """People ask why the library still keeps paper cards when everything is in the computer. There \
are three answers, depending on who asks.

To the council we say that the cards cost nothing. That is true. They were paid for in 1961, the drawers \
are oak, and the only upkeep is a woman called Ruth, who is a volunteer and would come anyway.

To the students we say that the cards know things that the computer doesn't. When the catalog was typed \
over, in the winter of 1994, six people had eight weeks, and they typed title, author and shelf. They \
did not type the pencil notes. The notes say who gave the book, who complained about it, and in one case \
where the author lived in hiding. A doctoral thesis came out of drawer M alone.

To each other we say the third thing. During the storm of 2003 the power was out for nine days. On the \
second day people began to come in, because it was dry, and because there was nothing else open. They \
wanted something to read. We had forty thousand books and no way to find one, until Ruth lit a candle \
and pulled out a drawer.

We lent six hundred books in that week. Each loan was a line in a school notebook. When the light came \
back, it took two days to type the notebook into the system, and the system refused eleven of the lines, \
since those books did not exist as far as it was concerned. They had been on the shelf all along. \
Somebody had skipped them in 1994, perhaps at the end of a long day, perhaps because the pencil was hard \
to read.

After that the council gave us a generator. It stands in the yard under a tarp, and once a month the \
caretaker starts it, listens for a minute with his head to one side, and turns it off again. We are \
grateful for it. But the first thing it would have to power is the catalog, and the second is the \
heating, and nobody has been able to tell us whether it can do both. Ruth says that she has a candle.

Five hundred and ninety-eight of the books came back. One of the others turned up at a yard sale in \
Truro twelve years later, with the slip still in it, and the buyer mailed it to us with a note that he \
had enjoyed it. The last one is still out. It is a tide table for 1957, so we are not in a hurry.
"""


def hh_reasoning(r: random.Random) -> str:
    return """The user wants to know why the tide prediction is off by an hour at station 7 only. Let me \
think about what differs there.

First idea: daylight saving. An error of exactly an hour smells like that. But all stations share the \
same code path, and the others are right. Unless station 7 has its own time zone in the table. I look at \
the row: zone is America/Moncton, while the others have America/Halifax. Those two have the same offset \
today. Did they differ in the past? Yes: until 2006, Moncton switched at one minute past midnight \
instead of 2 AM. That gives an error of an hour, but only on two days a year. Not our case.

Second idea: the harmonic constants are given for another meridian. Phase lags can be quoted against \
Greenwich or against local time. If station 7's constants are local, and we treat them as Greenwich, the \
error would be four hours for the M2 component, times the speed... no. The error would depend on the \
component, so it would not be a clean hour.

Third idea: interpolation. Station 7 is a secondary port, so its times are derived from a reference port \
by an offset. The offset column says +01:02. That's about an hour! So is the offset applied twice, or \
not at all? If predictions are late by an hour, it's applied twice; if early, not at all. The report \
says "high water came an hour before you said", thus we predict too late. Applied twice, then.

Let me verify in the code. load_station() adds the offset to the constants' epoch. predict() then calls \
shift() if station.secondary is set. Both happen for station 7. Are there other secondary ports? \
Stations 3 and 12. Their offsets are +00:04 and -00:07, so nobody would notice the doubling there. That \
explains why only station 7 was reported.

But actually, should I double check that the offset isn't different for high and low water? The almanac \
has two columns, and the table in the code has one. For station 7 they are +01:02 and +00:55. So after \
removing the doubling, low water would still be wrong by seven minutes. That is a second, smaller bug; I \
should mention it but keep the fix separate.

So: remove the shift in load_station(), keep the one in predict(), add a test with station 7 and one for \
station 3, and file the seven minutes as its own issue.
"""


def hh_diff(r: random.Random) -> str:
    out: list[str] = []
    for n in range(24):
        out += [
            f"diff --git a/l10n/{n:02d}.json b/l10n/{n:02d}.json",
            f"index {hx(r, 7)}..{hx(r, 7)} 100644",
            '-  "year": 2024,',
            '+  "year": 2025,',
        ]
    return "\n".join(out) + "\n"


def hh_bars(r: random.Random) -> str:
    rows = [f"  {h:02d}:{m:02d}  {'=' * r.randint(10, 38)}>" for h in range(24) for m in (0, 20, 40)]
    return "Visitors per 20 minutes:\n\n" + "\n".join(rows)


# ------------------------------------------------------------------------------------- degenerate, dev

DEV_INTROS = (
    "To set up the printer, connect it to the same network as your computer. Open the settings, choose "
    "Printers and wait until it shows up in the list. If it does not, switch it off and on again.\n\n",
    "I looked at the stack trace. The crash happens in `Cache.evict`, because the list is "
    "changed while it is "
    "being iterated. The simplest fix is to iterate over a copy.\n\n```python\nfor key in list(self.items):\n"
    "    if self.items[key].expired:\n        del self.items[key]\n```\n\n",
    "Rye bread needs a sourdough, since rye flour lacks the gluten that holds wheat bread "
    "together. Start two days "
    "ahead: mix 50 g of flour with 50 g of water and leave it at room temperature.\n\n",
)


def dd_sentence(r: random.Random, v: int) -> tuple[str, str]:
    line = (
        "If the problem persists, please contact the support team for further help. ",
        "The fix is to iterate over a copy of the list, so that the list is not changed during iteration.\n",
        "Let the dough rest for an hour. ",
    )[v]
    return DEV_INTROS[v], fill(r, lambda n: line)


def dd_paragraph(r: random.Random, v: int) -> tuple[str, str]:
    para = (
        "First, open the settings. Then choose Printers. Select your printer from the list "
        "and click Add. When asked "
        "for a driver, choose the one offered. Print a test page to see that it works.\n\n",
        "Another thing to note is thread safety. The cache is used from several threads, so "
        "a lock is needed. With the "
        "lock held, evict can delete entries safely. Remember to release the lock in a finally block.\n\n",
        "On the second day, feed the sourdough with flour and water. It should smell "
        "slightly sour and show bubbles. "
        "If it doesn't, keep it warmer and wait for a few more hours before you go on.\n\n",
    )[v]
    return DEV_INTROS[v], fill(r, lambda n: para)


def dd_three_items(r: random.Random, v: int) -> tuple[str, str]:
    items = (
        ("Check the cable", "Check the paper tray", "Check the ink level"),
        ("Use a lock", "Copy the list", "Add a test"),
        ("Flour", "Water", "Salt"),
    )[v]
    head = ("Things to try:\n\n", "Next steps:\n\n", "You will need:\n\n")[v]
    return DEV_INTROS[v] + head, fill(r, lambda n: f"{n + 1}. {items[n % 3]}\n", 2_500, 8_000)


def dd_word(r: random.Random, v: int) -> tuple[str, str]:
    word = ("the ", "and and, ", "dough ")[v]
    return DEV_INTROS[v] + "After that you should check ", fill(r, lambda n: word, 2_000, 9_000)


def dd_function(r: random.Random, v: int) -> tuple[str, str]:
    body = (
        "def find_printer(name: str) -> Printer | None:\n    for p in list_printers():\n     "
        "   if p.name == name:\n"
        "            return p\n    return None\n\n\n",
        "    def evict(self) -> None:\n        with self.lock:\n            for key in list(self.items):\n"
        "                if self.items[key].expired:\n                    del self.items[key]\n\n",
        "function bakeTime(grams) {\n  const base = 40;\n  return base + grams / 50;\n}\n\n",
    )[v]
    return DEV_INTROS[v] + "Here is the full code:\n\n```\n", fill(r, lambda n: body)


def dd_counter(r: random.Random, v: int) -> tuple[str, str]:
    make: Callable[[int], str] = (
        lambda n: f"Attempt {n + 1}: I will check whether the printer is in the list now.\n",
        lambda n: f"Step {n + 1}. Run the tests again to make sure that the fix works.\n",
        lambda n: f"({n + 1}) Knead the dough and let it rest for a while.\n",
    )[v]
    return DEV_INTROS[v], fill(r, make)


def dd_two_words(r: random.Random, v: int) -> tuple[str, str]:
    line = (
        "The printer should now be {visible|shown} in the list of devices on your computer. ",
        "This makes sure that the cache is always in a {valid|consistent} state after an eviction. ",
        "The {crumb|crust} will be better if you let the loaf cool down completely before you cut it.\n",
    )[v]
    return DEV_INTROS[v], fill(r, lambda n: spin(r, line))


def dd_wait(r: random.Random, v: int) -> tuple[str, str]:
    chain = (
        "Wait, maybe the printer is on the guest network. Let me think again. The computer "
        "is on the main network, and "
        "the printer must be on the same one. So it should be visible. But the user says it "
        "isn't. {Hmm.|Hmm, okay.}\n\n",
        "Wait, is the lock re-entrant? If evict is called from get, and get holds the lock, "
        "it would deadlock. Let me "
        "check. get takes the lock, then calls evict. So it would deadlock, {unless|except "
        "if} the lock is re-entrant. "
        "So we need an RLock. But an RLock is slower. Let me think about this again.\n\n",
        "Actually, let me reconsider. The hydration is 80 percent. With 500 g of flour that "
        "is 400 g of water. But the "
        "sourdough contains water too. So it's {more|higher}. Let me compute it again.\n\n",
    )[v]
    return DEV_INTROS[v], fill(r, lambda n: spin(r, chain))


def dd_json(r: random.Random, v: int) -> tuple[str, str]:
    item = (
        '  {"name": "Office printer", "status": "offline", "queue": 0},\n',
        '  {"key": "user:1", "expired": true, "size": 128},\n',
        '  {"step": "rest", "minutes": 60},\n',
    )[v]
    return DEV_INTROS[v] + "```json\n[\n", fill(r, lambda n: item)


def dd_stutter(r: random.Random, v: int) -> tuple[str, str]:
    bit = ("of the list of the ", "in the cache is in the cache and ", "for an hour or for an hour or ")[v]
    return DEV_INTROS[v] + "Note that ", fill(r, lambda n: bit, 2_000, 9_000)


def dd_chars(r: random.Random, v: int) -> tuple[str, str]:
    return DEV_INTROS[v] + "Result: ", fill(r, lambda n: ("!", "0", "ha")[v], 2_500, 8_000)


def dd_rows(r: random.Random, v: int) -> tuple[str, str]:
    row = (
        "| Office | Laser | offline | - |\n",
        "| evict | 12 | ok | none |\n",
        "| 60 min | rest | 24 C | covered |\n",
    )[v]
    return DEV_INTROS[v] + "| A | B | C | D |\n|---|---|---|---|\n", fill(r, lambda n: row)


def dd_sections(r: random.Random, v: int) -> tuple[str, str]:
    section = (
        "## Conclusion\n\nIn conclusion, adding a printer is easy if both devices are on the same network. "
        "{We hope|I hope} that this guide was helpful.\n\n",
        "### Summary\n\nThe crash was caused by changing the list during iteration. {It is "
        "fixed|It's fixed} by using a "
        "copy. Tests were added.\n\n---\n\n",
        "**Tip:** {Use|Take} a cast iron pot with a lid. It keeps the steam in and gives a "
        "better crust.\n\n**Note:** "
        "Heat the pot before you put the dough in.\n\n",
    )[v]
    return DEV_INTROS[v], fill(r, lambda n: spin(r, section))


# ------------------------------------------------------------------------------------ degenerate, held

HELD_INTROS = (
    "Thanks for the details! Your flight to Halifax was moved because the incoming aircraft "
    "is late. You may rebook "
    "free of charge within 14 days, or ask for a refund if the delay is longer than three hours.\n\n",
    "The query is slow since it scans all of `loans`. An index on `due` turns that into a "
    "range scan:\n\n```sql\n"
    "CREATE INDEX ix_loans_due ON loans (due);\n```\n\nAfter that, the planner estimates 40 "
    "rows rather than 2 million. "
    "You should also run ANALYZE once.\n\n",
    "Chapter One\n\nThe ferry was late, as it had been every evening that spring, and Marta "
    "had stopped bringing a book. "
    "She watched the water instead. It came in over the slipway in small gray folds.\n\n",
)


def dh_sentence(r: random.Random, v: int) -> tuple[str, str]:
    line = (
        "We apologize for the inconvenience and appreciate your understanding.\n",
        "You can check it with EXPLAIN ANALYZE. ",
        "She watched the water, and the water watched her. ",
    )[v]
    return HELD_INTROS[v], fill(r, lambda n: line)


def dh_paragraph(r: random.Random, v: int) -> tuple[str, str]:
    para = (
        "To rebook, open the app and go to My Trips. Choose the flight that was moved and "
        "tap Change. You will see all "
        "flights with free seats. Pick one and confirm. A new boarding pass is sent to you by mail.\n\n",
        "An index is not free, though. Every insert has to update it, and it takes space on "
        "disk. For a table like loans, "
        "where reads outnumber writes by far, this is a good trade.\n\nStill, keep an eye on "
        "the size of the index. If it "
        "grows too large, consider a partial index on rows that are not returned yet.\n\n",
        "The gull landed on the post. It looked at her with one eye and then with the other. "
        '"You again," said Marta. '
        "The gull said nothing. Out on the bay the ferry's light came around the point.\n\n",
    )[v]
    return HELD_INTROS[v], fill(r, lambda n: para)


def dh_three_items(r: random.Random, v: int) -> tuple[str, str]:
    items = (
        ("**Rebook** your flight in the app", "**Ask** for a refund", "**Call** our hotline"),
        ("`loans.due`", "`loans.patron_id`", "`loans.state`"),
        ("a rope", "a lantern", "a tin of biscuits"),
    )[v]
    head = ("You have these options:\n", "Candidates for an index:\n", "In the boat there were\n")[v]
    return HELD_INTROS[v] + head, fill(r, lambda n: f"- {items[n % 3]}\n", 2_300, 7_000)


def dh_word(r: random.Random, v: int) -> tuple[str, str]:
    word = ("very ", "index, ", "on and ")[v]
    return HELD_INTROS[v] + ("We are ", "Use an ", "The ferry went ")[v], fill(r, lambda n: word, 2_000, 8_000)


def dh_function(r: random.Random, v: int) -> tuple[str, str]:
    body = (
        "async function rebook(id: string): Promise<void> {\n  const trip = await api.get(`/trips/${id}`);\n"
        "  await api.post(`/trips/${id}/change`, { flight: trip.next });\n}\n\n",
        "CREATE INDEX IF NOT EXISTS ix_loans_due ON loans (due);\nANALYZE loans;\n\n",
        'public static String gull(int eye) {\n    return eye == 0 ? "left" : "right";\n}\n\n',
    )[v]
    return HELD_INTROS[v] + "```\n", fill(r, lambda n: body)


def dh_counter(r: random.Random, v: int) -> tuple[str, str]:
    make: Callable[[int], str] = (
        lambda n: f"Update {n + 1}: your request is important to us and we are still working on it.\n",
        lambda n: f"-- pass {n + 1}\nEXPLAIN SELECT * FROM loans WHERE due < now();\n",
        lambda n: f"{n + 1}. Marta waits for the ferry and the ferry does not come.\n",
    )[v]
    return HELD_INTROS[v], fill(r, make)


def dh_two_words(r: random.Random, v: int) -> tuple[str, str]:
    line = (
        "Please {note|remember} that refunds take up to ten business days to reach your account.\n",
        "With the index in place, the {database|planner} can find the rows without reading the whole table. ",
        "And the {gray|small} waves came in, and went out, and left the slipway wet behind them. ",
    )[v]
    return HELD_INTROS[v], fill(r, lambda n: spin(r, line))


def dh_wait(r: random.Random, v: int) -> tuple[str, str]:
    chain = (
        "Hold on. The delay is two hours and fifty minutes. The rule says three hours. So no "
        "refund. But the arrival may "
        "be later than that. If it is later than three hours, there's a refund. {So it "
        "depends.|It depends then.} Let me go "
        "over it once more. ",
        "Wait. Would the planner even use the index? If most rows match, it won't. How many "
        "rows match? Those with due "
        "before now. That could be most of them. Then the index is useless. But returned "
        "loans {should|would} be left out. "
        "Then few rows match, and the index helps. Wait, but are they left out?\n\n",
        "No, that's not how the scene should go. Let me start over. Marta is at the slipway. "
        "The ferry is late. She "
        "{sees|spots} the gull. Does the gull matter? It should mean something. Let me think "
        "about what it means.\n\n",
    )[v]
    return HELD_INTROS[v] + "<think>\n", fill(r, lambda n: spin(r, chain))


def dh_json(r: random.Random, v: int) -> tuple[str, str]:
    item = (
        '{"flight": "AC 613", "seat": null, "rebooked": false}\n',
        '    {\n      "index": "ix_loans_due",\n      "valid": true,\n      "scans": 0\n    },\n',
        '{"role": "narrator", "line": "The ferry was late."}, ',
    )[v]
    return HELD_INTROS[v] + ("", '{"indexes": [\n', "[")[v], fill(r, lambda n: item)


def dh_stutter(r: random.Random, v: int) -> tuple[str, str]:
    bit = ("to your to your account ", "WHERE due < now() AND ", "the ferry the water the ")[v]
    return HELD_INTROS[v], fill(r, lambda n: bit, 2_000, 8_000)


def dh_chars(r: random.Random, v: int) -> tuple[str, str]:
    return HELD_INTROS[v] + "So", fill(r, lambda n: ("o", ")", " .")[v], 2_500, 7_000)


def dh_rows(r: random.Random, v: int) -> tuple[str, str]:
    row = ("AC 613,YHZ,delayed,2:50\n", "  due timestamptz NOT NULL,\n", "MARTA: (looks at the water)\n")[v]
    return HELD_INTROS[v] + ("flight,to,state,delay\n", "CREATE TABLE loans (\n", "")[v], fill(r, lambda n: row)


def dh_sections(r: random.Random, v: int) -> tuple[str, str]:
    section = (
        "Is there anything else I can help you with today?\n\nThank you for flying with us! "
        "{Have a great day!|Have a nice "
        "day!}\n\n",
        "## Step 3: Verify\n\nRun the query again and compare the time. It should {drop|"
        "fall} from seconds to milliseconds."
        "\n\n## Step 4: Monitor\n\nWatch `pg_stat_user_indexes` for a few days.\n\n",
        "Chapter Two\n\nThe ferry was late again. {Marta|She} had brought a book this time, "
        "but it was too dark to read, so "
        "she watched the water.\n\n",
    )[v]
    return HELD_INTROS[v], fill(r, lambda n: spin(r, section))


# -------------------------------------------------------------------------------------------- registry

HONEST: dict[str, tuple[Honest, Honest]] = {
    "sql_inserts": (hd_sql, hh_sql),
    "table_of_contents": (hd_toc, hh_toc),
    "css": (hd_css, hh_css),
    "yaml": (hd_yaml, hh_yaml),
    "counting": (hd_counting, hh_counting),
    "asserts": (hd_asserts, hh_asserts),
    "test_output": (hd_test_output, hh_test_output),
    "matrix": (hd_matrix, hh_matrix),
    "ascii_art": (hd_ascii, hh_ascii),
    "test_dots": (hd_dots, hh_dots),
    "json_array": (hd_json, hh_json),
    "csv": (hd_csv, hh_csv),
    "days": (hd_days, hh_days),
    "poem_refrain": (hd_poem, hh_poem),
    "song_chorus": (hd_song, hh_song),
    "changelog": (hd_changelog, hh_changelog),
    "imports": (hd_imports, hh_imports),
    "enum": (hd_enum, hh_enum),
    "hexdump": (hd_hexdump, hh_hexdump),
    "times_table": (hd_times, hh_times),
    "table_rows": (hd_table, hh_table),
    "names": (hd_names, hh_names),
    "base64": (hd_base64, hh_base64),
    "log": (hd_log, hh_log),
    "checklist": (hd_checklist, hh_checklist),
    "units": (hd_units, hh_units),
    "translations": (hd_i18n, hh_i18n),
    "html": (hd_html, hh_html),
    "switch_cases": (hd_switch, hh_switch),
    "prose": (hd_prose, hh_prose),
    "reasoning": (hd_reasoning, hh_reasoning),
    "diff": (hd_diff, hh_diff),
    "bar_chart": (hd_bars, hh_bars),
}

DEGENERATE: dict[str, tuple[Degenerate, Degenerate]] = {
    "sentence_verbatim": (dd_sentence, dh_sentence),
    "paragraph_cycle": (dd_paragraph, dh_paragraph),
    "same_three_items": (dd_three_items, dh_three_items),
    "word_run": (dd_word, dh_word),
    "function_repeated": (dd_function, dh_function),
    "meaningless_counter": (dd_counter, dh_counter),
    "one_word_of_two": (dd_two_words, dh_two_words),
    "wait_reasoning": (dd_wait, dh_wait),
    "json_repeated": (dd_json, dh_json),
    "phrase_stutter": (dd_stutter, dh_stutter),
    "character_run": (dd_chars, dh_chars),
    "row_repeated": (dd_rows, dh_rows),
    "section_repeated": (dd_sections, dh_sections),
}


def streams(half: Half | None = None, label: Label | None = None) -> Iterator[Stream]:
    """All streams, in a fixed order; optionally one half or one label only."""
    halves: tuple[Half, Half] = ("dev", "held")
    for kind, honest in HONEST.items():
        for which, build in zip(halves, honest, strict=True):
            if (half or which) == which and (label or "honest") == "honest":
                text = build(random.Random(f"honest/{kind}/{which}"))
                yield Stream(id=f"honest-{kind}-{which}", label="honest", half=which, kind=kind, text=text)
    for kind, degenerate in DEGENERATE.items():
        for which, make in zip(halves, degenerate, strict=True):
            if (half or which) != which or (label or "degenerate") != "degenerate":
                continue
            for n in range(PER_DEGENERATE):
                intro, body = make(random.Random(f"degenerate/{kind}/{which}/{n}"), n)
                yield Stream(
                    id=f"degenerate-{kind}-{which}-{n}",
                    label="degenerate",
                    half=which,
                    kind=kind,
                    text=intro + body,
                    degenerate_from=len(intro),
                )


# ---------------------------------------------------------------------------------------------- checks


def problems(items: Sequence[Stream]) -> list[str]:
    """Everything about the corpus that is not as promised."""
    found: list[str] = []

    def check(ok: bool, what: str) -> None:
        if not ok:
            found.append(what)

    check(len({s.id for s in items}) == len(items), "ids are not unique")
    check(len({s.text for s in items}) == len(items), "texts are not unique")
    counts = collections.Counter(s.label for s in items)
    check(counts["honest"] >= 50 and counts["degenerate"] >= 50, f"too few: {counts}")
    for key in {(s.label, s.kind) for s in items}:
        halves = {s.half for s in items if (s.label, s.kind) == key}
        check(halves == {"dev", "held"}, f"{key}: a half is missing")
    long_lines = [
        {line for s in items if s.half == half for line in s.text.split("\n") if len(line) > 40}
        for half in ("dev", "held")
    ]
    check(not long_lines[0] & long_lines[1], f"lines in both halves: {long_lines[0] & long_lines[1]}")
    for s in items:
        check(MIN_CHARS <= len(s.text) <= MAX_CHARS, f"{s.id}: {len(s.text)} characters")
        check((s.degenerate_from is None) == (s.label == "honest"), f"{s.id}: degenerate_from")
        if s.degenerate_from is not None:
            tail = len(s.text) - s.degenerate_from
            check(s.degenerate_from >= 100 and tail >= 1_500, f"{s.id}: {s.degenerate_from} + {tail}")
    return found


def main() -> int:
    """Print the counts and check the invariants."""
    items = list(streams())
    table = collections.Counter((s.label, s.kind, s.half) for s in items)
    print(f"{'label':11} {'kind':20} {'dev':>4} {'held':>5} {'characters':>15}")
    for label, kind in dict.fromkeys((s.label, s.kind) for s in items):
        sizes = [len(s.text) for s in items if (s.label, s.kind) == (label, kind)]
        row = f"{table[(label, kind, 'dev')]:4} {table[(label, kind, 'held')]:5} {min(sizes):7}-{max(sizes)}"
        print(f"{label:11} {kind:20} {row}")
    print(dict(collections.Counter(f"{s.label}/{s.half}" for s in items)))
    found = problems(items)
    if items != list(streams()):
        found.append("not deterministic")
    for what in found:
        print("PROBLEM:", what)
    print("all invariants hold" if not found else f"{len(found)} problem(s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
