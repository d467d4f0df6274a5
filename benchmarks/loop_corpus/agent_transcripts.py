"""Agent transcripts for benchmarking a loop guard: honest work that looks repetitive, and real loops.

Standalone and deterministic.  Each category has two separately written builders, one for the "dev" half
and one for the "held" half; they share no scenario, tool wording or result text.  Nothing in here was
derived from a detector: a transcript is labeled by what the agent in it really does.

    for transcript in transcripts():
        ...

Run the module to print the counts and check the invariants.
"""

from __future__ import annotations

import collections
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Label = Literal["honest", "loop"]
Half = Literal["dev", "held"]
Protocol = Literal["openai", "anthropic", "ollama"]
Args = dict[str, object]

PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic", "ollama")
PER_BUILDER = 4
MIN_STEPS, MAX_STEPS = 8, 40
MIN_LOOP_STEPS, MIN_CYCLES = 10, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call: the tool's name and its decoded arguments."""

    name: str
    arguments: Args


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model turn and what came back before the next request."""

    text: str
    calls: tuple[Call, ...]
    results: tuple[str, ...]
    is_error: tuple[bool, ...]
    seconds: float
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A whole conversation.

    `loop_start` is the first step of the loop's first pass, `period` the number of steps in one pass, and
    `loop_from` the first step that repeats an earlier one (loop_start + period).  All None when honest.
    """

    id: str
    label: Label
    category: str
    half: Half
    protocol: Protocol
    system: str
    task: str
    steps: tuple[Step, ...]
    loop_from: int | None = None
    loop_start: int | None = None
    period: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a builder hands back; the registry adds id, label, half and protocol."""

    system: str
    task: str
    steps: list[Step]
    loop_start: int | None = None
    period: int | None = None


Builder = Callable[[random.Random, int], Draft]


# --------------------------------------------------------------------------------------------- helpers


def call(tool: str, /, **arguments: object) -> Call:
    """A tool call with keyword arguments."""
    return Call(name=tool, arguments=arguments)


def one(text: str, c: Call, result: str, *, err: bool = False, secs: float = 4.0, user: str = "") -> Step:
    """A step with exactly one call."""
    return Step(text=text, calls=(c,), results=(result,), is_error=(err,), seconds=secs, user=user)


def many(text: str, pairs: Sequence[tuple[Call, str]], *, secs: float = 6.0) -> Step:
    """A step with several parallel calls, none of them failing."""
    return Step(
        text=text,
        calls=tuple(c for c, _ in pairs),
        results=tuple(result for _, result in pairs),
        is_error=tuple(False for _ in pairs),
        seconds=secs,
    )


def say(text: str, *, user: str = "", secs: float = 6.0) -> Step:
    """A step of words only."""
    return Step(text=text, calls=(), results=(), is_error=(), seconds=secs, user=user)


def js(**fields: object) -> str:
    """Compact JSON of the given fields."""
    return json.dumps(fields)


def hx(r: random.Random, n: int) -> str:
    """n random hex digits."""
    return "".join(r.choice("0123456789abcdef") for _ in range(n))


def uid(r: random.Random) -> str:
    """A UUID-shaped string."""
    return "-".join(hx(r, n) for n in (8, 4, 4, 4, 12))


def alnum(r: random.Random, n: int) -> str:
    """n random lower-case letters and digits."""
    return "".join(r.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(n))


def rs(r: random.Random, low: float, high: float) -> float:
    """A random duration in seconds."""
    return round(r.uniform(low, high), 1)


def clock(seconds: float) -> str:
    """HH:MM:SS for seconds since midnight."""
    s = int(seconds) % 86400
    return f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}"


def maybe(r: random.Random, *texts: str) -> str:
    """One of the texts, or nothing about half of the time."""
    return r.choice(texts) if r.random() < 0.5 else ""


def cycle(steps: Sequence[Callable[[int], Step]], passes: int, extra: int = 0) -> list[Step]:
    """Run through the step makers again and again; each maker gets the number of the pass."""
    made = [make(n) for n in range(passes) for make in steps]
    made.extend(make(passes) for make in steps[:extra])
    return made


def spin(r: random.Random, template: str) -> str:
    """Pick one alternative of every {a|b|c} group."""
    return re.sub(r"\{([^{}]*\|[^{}]*)\}", lambda m: r.choice(m.group(1).split("|")), template)


Spec = tuple[str, Args, str, bool, str]


def maker(r: random.Random, spec: Spec, base: float, gap: float) -> Callable[[int], Step]:
    """A step maker from a spec; <T> in the result is a clock time and <N> a random number."""
    tool, args, result, err, text = spec

    def make(n: int) -> Step:
        out = result.replace("<T>", clock(base + n * gap + r.randint(0, 9))).replace("<N>", str(r.randint(100, 999)))
        return one(spin(r, text), Call(name=tool, arguments=dict(args)), out, err=err, secs=rs(r, 2, 9))

    return make


# ----------------------------------------------------------------------------------------- honest, dev

CODER = "You are a coding agent working in a Linux checkout. Use the tools; keep your messages short."
OPS = "You are an operations assistant with access to a cluster and a CI system. Never change prod unasked."
ANALYST = "You are a data analyst agent. Look at the data before you state anything about it."
DESK = "You are a desktop automation agent. You see the screen through tools and act by key and mouse."
HELP = "You are a helpful support assistant for Northwind Outfitters. Be friendly and precise."


def hd_many_files(r: random.Random, v: int) -> Draft:
    """Dev: one tool over many files with opaque names."""
    steps: list[Step] = []
    if v == 0:
        task = "Go through every JSON file in uploads/ and tell me which customers have no VAT number."
        names = [uid(r) for _ in range(r.randint(16, 24))]
        listing = "\n".join(f"uploads/{n}.json" for n in names)
        steps.append(one("I'll list the uploads first.", call("list_files", path="uploads"), listing))
        missing = []
        for n in names:
            city = r.choice(["Lyon", "Porto", "Ghent", "Graz", "Turin", "Malmo"])
            vat = "" if r.random() < 0.2 else f"EU{r.randint(10**8, 10**9)}"
            body = js(id=n, customer=f"{r.choice('ABCDEFGHKLM')}. {city} Trading", vat=vat, city=city)
            if not vat:
                missing.append(n)
            steps.append(one("", call("read_file", path=f"uploads/{n}.json"), body, secs=rs(r, 1, 4)))
        steps.append(say("These uploads have no VAT number:\n" + "\n".join(f"- {m}" for m in missing)))
    elif v == 1:
        task = "Which of last night's rotated logs contain OOM kills?"
        stamps = [f"202503{d:02d}T{h:02d}0000Z" for d in (11, 12) for h in range(0, 24, 2)]
        steps.append(one("", call("bash", command="ls /var/log/app/"), "\n".join(f"app-{s}.gz" for s in stamps)))
        for s in stamps:
            hits = "3" if s.startswith("20250312T06") else "0"
            cmd = f"zgrep -c 'Out of memory: Killed' /var/log/app/app-{s}.gz"
            steps.append(one("", call("bash", command=cmd), hits, err=hits == "0", secs=rs(r, 1, 3)))
        steps.append(say("Only app-20250312T060000Z.gz has OOM kills (3). Every other file came back with 0."))
    elif v == 2:
        task = "For each commit on the release branch, note whether it touches the billing module."
        shas = [hx(r, 10) for _ in range(18)]
        log = "\n".join(f"{s} {r.choice(['fix', 'feat', 'chore'])}: {alnum(r, 6)}" for s in shas)
        steps.append(one("", call("execute_command", command="git log --format='%h %s' v4.1..release"), log))
        for s in shas:
            files = r.sample(["billing/tax.py", "web/nav.tsx", "api/auth.py", "docs/faq.md", "ops/env.tf"], 2)
            stat = "\n".join(f" {f} | {r.randint(1, 60)} +-" for f in files) + "\n 2 files changed"
            cmd = f"git show --stat --format= {s}"
            note = "Touches billing." if "billing/tax.py" in files else ""
            steps.append(one(note, call("execute_command", command=cmd), stat, secs=rs(r, 1, 5)))
        steps.append(one("", call("write_file", path="billing-commits.md", content="# Billing commits\n..."), "ok"))
        steps.append(say("Done. The table is in billing-commits.md."))
    else:
        task = "The exporter left temp files in /tmp. Find the one with the truncated header."
        names = [f"/tmp/tmp{alnum(r, 8)}.csv" for _ in range(15)]
        steps.append(one("", call("code_execution", runtime="terminal", code="ls /tmp/tmp*.csv"), "\n".join(names)))
        bad = r.randrange(10, 15)
        for i, n in enumerate(names):
            head = "order_id,sku,qt" if i == bad else "order_id,sku,qty,price,currency"
            steps.append(
                one(
                    "" if i % 4 else "Checking the next file's header.",
                    call("code_execution", runtime="terminal", code=f"head -1 {n}"),
                    head,
                    secs=rs(r, 2, 5),
                )
            )
        steps.append(say(f"{names[bad]} is the broken one: its header stops at 'qt'."))
    return Draft(system=CODER, task=task, steps=steps)


def hd_row_ids(r: random.Random, v: int) -> Draft:
    """Dev: one tool over numeric ids and URLs with ids in them."""
    steps: list[Step] = []
    if v == 0:
        task = "Check the orders in orders.txt against the shop API and list those which never shipped."
        ids = sorted(r.sample(range(481000, 489999), 20))
        steps.append(one("", call("read_file", path="orders.txt"), "\n".join(map(str, ids))))
        for i in ids:
            state = r.choice(["shipped", "shipped", "shipped", "paid"])
            body = js(id=i, state=state, total=round(r.uniform(9, 240), 2), items=r.randint(1, 5))
            url = f"https://api.northwind.example/v2/orders/{i}"
            steps.append(one("", call("http_get", url=url), body, secs=rs(r, 1, 3)))
        steps.append(say("Orders in state 'paid' have not shipped. I listed them above in order."))
    elif v == 1:
        task = "Audit invoices 7001 through 7022 for a missing due date. Query one at a time, it's a replica."
        for i in range(7001, 7023):
            due = "NULL" if i in (7008, 7019) else f"2025-0{r.randint(4, 9)}-{r.randint(10, 28)}"
            sql = f"SELECT id, customer_id, due_date FROM invoices WHERE id = {i}"
            row = f" id   | customer_id | due_date\n {i} | {r.randint(100, 999)} | {due}\n(1 row)"
            steps.append(one("", call("sql_query", query=sql), row, secs=rs(r, 1, 3)))
        steps.append(say("Invoices 7008 and 7019 have no due date; the other 20 are fine."))
    elif v == 2:
        task = "Collect the accepted answer's score from each of these forum threads."
        ids = r.sample(range(120000, 990000), 13)
        for i in ids:
            url = f"https://forum.fermentation.example/t/{i}"
            steps.append(one("", call("browser_navigate", url=url), f"Loaded {url} (200)", secs=rs(r, 2, 5)))
            score = r.randint(0, 90)
            text = f"Accepted answer by {alnum(r, 7)}, score {score}"
            steps.append(one("", call("browser_extract", selector=".accepted .score"), text, secs=rs(r, 1, 3)))
        steps.append(say("All 13 threads are read; the table with thread and score follows."))
    else:
        task = "Close out my review: are all tickets of the March batch closed?"
        for i in range(90311, 90331):
            result = js(ticket=i, status="closed", assignee="dana")
            if i == 90327:
                result = js(ticket=i, status="waiting_on_customer", assignee="dana")
            note = "This one is still open." if i == 90327 else ""
            steps.append(one(note, call("get_ticket", ticket_id=i), result, secs=rs(r, 1, 2)))
        steps.append(say("19 of 20 are closed. Ticket 90327 is still waiting on the customer."))
    return Draft(system=ANALYST if v != 3 else HELP, task=task, steps=steps)


def hd_offsets(r: random.Random, v: int) -> Draft:
    """Dev: reading on with growing offsets."""
    steps: list[Step] = []
    if v == 0:
        task = "Read src/legacy/parser.c completely, then describe how it handles escapes."
        for i in range(14):
            lines = "\n".join(
                f"{i * 200 + k:5d}  {r.choice(['if (c == ', 'return ', 'state = ', 'emit('])}{alnum(r, 5)};"
                for k in range(1, 13)
            )
            args = call("read_file", path="src/legacy/parser.c", offset=i * 200, limit=200)
            steps.append(one("" if i else "Reading it in chunks.", args, lines, secs=rs(r, 2, 5)))
        steps.append(say("The parser keeps an `esc` state; on a backslash it enters it, and leaves after a byte."))
    elif v == 1:
        task = "Find where in server.log the latency starts to climb. It's big, so go piece by piece."
        base = 12
        for i in range(18):
            base += 0 if i < 11 else r.randint(15, 60)
            rows = "\n".join(
                f"{clock(36000 + i * 300 + k * 20)} GET /search {200} {base + r.randint(0, 4)}ms" for k in range(8)
            )
            cmd = f"sed -n '{i * 5000 + 1},{i * 5000 + 8}p' server.log"
            steps.append(one("", call("bash", command=cmd), rows, secs=rs(r, 1, 4)))
        steps.append(say("Latency is flat near 14 ms until line 55,000 and climbs from there."))
    elif v == 2:
        task = "Summarize the 2019 annual report (PDF, 26 pages)."
        topics = ["revenue", "staff", "risks", "outlook", "leases", "taxes", "segments", "governance"]
        for page in range(1, 27):
            body = f"Page {page} of 26. Note {r.randint(1, 30)}: {r.choice(topics)} {r.randint(1, 900)}k EUR ..."
            steps.append(one("", call("read_pdf_page", file="report-2019.pdf", page=page), body, secs=rs(r, 2, 4)))
        steps.append(say("Summary: revenue rose, leases were restated under IFRS 16, and the outlook is cautious."))
    else:
        task = "Look for the poison message in topic payments, partition 0, starting at offset 88200."
        for i in range(20):
            off = 88200 + i * 50
            result = js(first=off, last=off + 49, decode_errors=0)
            if i == 19:
                result = js(first=off, last=off + 49, decode_errors=1, bad_offset=off + 17)
            args = call("kafka_consume", topic="payments", partition=0, offset=off, max=50)
            steps.append(one(maybe(r, "Next batch.", "Moving on."), args, result, secs=rs(r, 1, 3)))
        steps.append(say("Found it: offset 89167 does not decode."))
    return Draft(system=ANALYST, task=task, steps=steps)


def hd_paginated(r: random.Random, v: int) -> Draft:
    """Dev: paging through an API."""
    steps: list[Step] = []
    if v == 0:
        task = "How many open issues carry the label needs-triage? The search endpoint is off, so page through."
        total = 0
        for p in range(1, 17):
            n = r.randint(2, 9)
            total += n
            cmd = f"gh api '/repos/acme/router/issues?state=open&per_page=50&page={p}' --jq '[.[]|...]|length'"
            steps.append(one("", call("bash", command=cmd), str(n), secs=rs(r, 1, 3)))
        steps.append(one("", call("bash", command=cmd.replace("page=16", "page=17")), "0"))
        steps.append(say(f"{total} open issues carry that label."))
    elif v == 1:
        task = "Export all contacts from the CRM into contacts.csv."
        cursor = ""
        for p in range(15):
            nxt = alnum(r, 16)
            rows = [{"id": r.randint(1000, 9999), "email": f"{alnum(r, 6)}@mail.example"} for _ in range(4)]
            result = js(contacts=rows, next_cursor=nxt if p < 14 else None)
            args = call("crm_list_contacts", limit=4, cursor=cursor) if cursor else call("crm_list_contacts", limit=4)
            steps.append(one("", args, result, secs=rs(r, 1, 4)))
            cursor = nxt
        steps.append(one("", call("write_file", path="contacts.csv", content="id,email\n..."), "wrote 60 rows"))
        steps.append(say("Exported 60 contacts."))
    elif v == 2:
        task = "Find the vendor 'Okabe Tools' in the supplier portal list."
        for p in range(1, 15):
            names = ", ".join(f"{alnum(r, 5).title()} {r.choice(['Ltd', 'GmbH', 'Inc', 'SA'])}" for _ in range(6))
            if p == 14:
                names += ", Okabe Tools KK"
            text = "" if p > 1 else "The list has no search box, so I'll click through the pages."
            steps.append(
                one(
                    text,
                    call("browser_click", element="button:has-text('Next')"),
                    f"Suppliers, page {p + 1} of 31: {names}",
                    secs=rs(r, 2, 5),
                )
            )
        steps.append(say("Okabe Tools KK is on page 15."))
    else:
        task = "Download the full list of weather stations."
        for p in range(20):
            lines = "\n".join(f"{r.randint(10000, 99999)};{alnum(r, 7)};{r.uniform(40, 60):.3f}" for _ in range(5))
            args = call("http_get", url="https://stations.example/api", params={"start": p * 5, "count": 5})
            steps.append(one("", args, lines if p < 19 else "", secs=rs(r, 1, 3)))
        steps.append(say("95 stations; the last page was empty, so that is the full list."))
    return Draft(system=ANALYST, task=task, steps=steps)


def hd_queue(r: random.Random, v: int) -> Draft:
    """Dev: popping a queue until it is empty."""
    steps: list[Step] = []
    if v == 0:
        task = "Drain the moderation queue. Approve or reject each item by the rules."
        for _ in range(r.randint(10, 15)):
            item = f"c{r.randint(10000, 99999)}"
            spam = r.random() < 0.3
            words = "BUY CHEAP WATCHES" if spam else r.choice(["nice photo!", "where is this?", "love it", "+1"])
            steps.append(one("", call("queue_pop"), js(item=item, text=words), secs=rs(r, 1, 3)))
            verdict = "reject" if spam else "approve"
            steps.append(one("", call("moderate", item=item, verdict=verdict), "ok", secs=rs(r, 1, 2)))
        steps.append(one("", call("queue_pop"), js(item=None, remaining=0)))
        steps.append(say("The queue is empty."))
    elif v == 1:
        task = "Work off the dead letter list in redis and tell me what kinds of errors are in it."
        for k in range(22):
            err = r.choice(["timeout", "bad json", "no such user", "timeout"])
            job = js(job=r.randint(1, 10**6), error=err)
            steps.append(
                one(
                    "Popping the list one by one." if k == 0 else "",
                    call("bash", command="redis-cli LPOP dead_letters"),
                    job,
                    secs=rs(r, 1, 2),
                )
            )
        steps.append(one("", call("bash", command="redis-cli LPOP dead_letters"), "(nil)"))
        steps.append(say("22 dead letters; timeouts make up half."))
    elif v == 2:
        task = "Process the pending refund requests until there are none."
        for _ in range(12):
            ref = f"RF-{r.randint(1000, 9999)}"
            amount = round(r.uniform(5, 120), 2)
            steps.append(
                one(
                    maybe(r, "Getting the next refund.", "Next one."),
                    call("next_refund"),
                    js(ref=ref, amount=amount, reason=r.choice(["damaged", "late", "wrong size"])),
                    secs=rs(r, 1, 3),
                )
            )
            steps.append(one("", call("issue_refund", ref=ref, amount=amount), "refund issued", secs=rs(r, 2, 4)))
        steps.append(one("", call("next_refund"), "no more refunds"))
        steps.append(say("All 12 refunds are issued."))
    else:
        task = "Receive from the SQS queue test-events until it's empty and count the event types."
        for _ in range(18):
            body = js(MessageId=uid(r), Body=js(type=r.choice(["signup", "login", "purchase"])))
            cmd = "aws sqs receive-message --queue-url $Q --max-number-of-messages 1 --query 'Messages[0]'"
            steps.append(one("", call("execute_command", command=cmd), body, secs=rs(r, 1, 3)))
        for _ in range(2):
            steps.append(one("", call("execute_command", command=cmd), "null", secs=20.0))
        steps.append(say("Two empty long polls in a row: the queue is drained. 18 events in all."))
    return Draft(system=OPS if v in (1, 3) else HELP, task=task, steps=steps)


def hd_poll_changes(r: random.Random, v: int) -> Draft:
    """Dev: polling where the state changes slowly."""
    steps: list[Step] = []
    if v == 0:
        task = "Roll out api:2.9.1 to staging and watch it until all pods are ready."
        cmd = "kubectl -n staging rollout restart deploy/api"
        steps.append(one("", call("bash", command=cmd), "deployment.apps/api restarted"))
        pods = [f"api-{hx(r, 9)}-{alnum(r, 5)}" for _ in range(4)]
        ready = 0
        for n in range(14):
            ready = min(4, n // 3)
            rows = "\n".join(
                f"{p}  {'1/1  Running' if k < ready else '0/1  ContainerCreating'}  0  {n * 30 + 12}s"
                for k, p in enumerate(pods)
            )
            steps.append(one("", call("bash", command="kubectl -n staging get pods -l app=api"), rows, secs=30.0))
        steps.append(say("All four pods run 2.9.1 and are ready."))
    elif v == 1:
        task = "Watch CI run 5512873 and tell me when it's done."
        jobs = ["lint", "unit", "integration", "docker", "e2e"]
        for n in range(16):
            done = n // 3
            rows = "\n".join(f"{'✓' if k < done else '*' if k == done else '-'} {j}" for k, j in enumerate(jobs))
            steps.append(
                one(maybe(r, "Still running."), call("bash", command="gh run view 5512873"), rows, secs=rs(r, 40, 70))
            )
        steps.append(say("Run 5512873 passed."))
    elif v == 2:
        task = "Start the nightly embedding batch and report when complete."
        steps.append(one("", call("submit_batch", job="embed-nightly"), js(batch_id="b_4471", state="queued")))
        pct = 0
        while pct < 100:
            pct = min(100, pct + r.choice([0, 3, 5, 8, 11]))
            state = "completed" if pct == 100 else "processing"
            res = js(batch_id="b_4471", state=state, percent=pct)
            steps.append(one("", call("get_batch", batch_id="b_4471"), res, secs=rs(r, 60, 120)))
            if len(steps) > 36:
                break
        report = "The batch is complete." if pct == 100 else f"I'll check back later; it is at {pct} %."
        steps.append(say(report))
    else:
        task = "Restore the snapshot into db-test and wait for it to become available."
        cmd = "aws rds describe-db-instances --db-instance-identifier db-test --query '*[0].DBInstanceStatus'"
        states = ["creating"] * 5 + ["backing-up"] * 4 + ["modifying"] * 3 + ["available"]
        steps.append(one("", call("execute_command", command="aws rds restore-db-instance-from-db-snapshot ..."), "{}"))
        for s in states:
            steps.append(one("", call("execute_command", command=cmd), f'"{s}"', secs=60.0))
        steps.append(say("db-test is available."))
    return Draft(system=OPS, task=task, steps=steps)


def hd_poll_static(r: random.Random, v: int) -> Draft:
    """Dev: polling where the state stays the same for many polls and time passes."""
    steps: list[Step] = []
    if v == 0:
        task = "Merge when CI is green: PR 812. Check once a minute at most."
        cmd = "gh pr checks 812 --json state --jq '.[].state' | sort | uniq -c"
        for _ in range(r.randint(17, 24)):
            steps.append(one("", call("bash", command=cmd), "      6 PENDING", secs=60.0))
        steps.append(one("", call("bash", command=cmd), "      6 SUCCESS"))
        steps.append(one("Green. Merging.", call("bash", command="gh pr merge 812 --squash"), "✓ Merged #812"))
    elif v == 1:
        task = "Run the training job on the GPU partition and tell me when it starts."
        steps.append(one("", call("bash", command="sbatch train.sh"), "Submitted batch job 73391"))
        for _ in range(20):
            steps.append(
                one(
                    maybe(r, "Still pending in the queue.", "Not started yet; checking again in two minutes."),
                    call("bash", command="squeue -j 73391 -h -o '%T %r'"),
                    "PENDING Resources",
                    secs=rs(r, 110, 130),
                )
            )
        steps.append(one("", call("bash", command="squeue -j 73391 -h -o '%T %r'"), "RUNNING None"))
        steps.append(say("Job 73391 is running."))
    elif v == 2:
        task = "Deploy the preview and give me its URL as soon as it's up."
        steps.append(one("", call("create_deployment", project="landing"), js(id="dpl_9fK2", status="BUILDING")))
        for _ in range(13):
            res = js(id="dpl_9fK2", status="BUILDING")
            steps.append(one("", call("get_deployment", id="dpl_9fK2"), res, secs=rs(r, 30, 35)))
        res = js(id="dpl_9fK2", status="READY", url="https://landing-9fk2.preview.example")
        steps.append(one("", call("get_deployment", id="dpl_9fK2"), res))
        steps.append(say("It's up: https://landing-9fk2.preview.example"))
    else:
        task = "The DNS change for mail.northwind.example should propagate. Tell me once the new IP is served."
        cmd = "dig +short mail.northwind.example @9.9.9.9"
        for n in range(22):
            note = "Old address still. Waiting five more minutes." if n % 5 == 0 else ""
            steps.append(one(note, call("execute_command", command=cmd), "203.0.113.20", secs=300.0))
        steps.append(one("", call("execute_command", command=cmd), "203.0.113.77"))
        steps.append(say("The new address 203.0.113.77 is served now."))
    return Draft(system=OPS, task=task, steps=steps)


def hd_sleep(r: random.Random, v: int) -> Draft:
    """Dev: sleeping and waiting."""
    steps: list[Step] = []
    if v == 0:
        task = "Reindex the search cluster and wait until it's green."
        steps.append(one("", call("bash", command="curl -XPOST es:9200/_reindex -d @body.json"), '{"task":"n1:88"}'))
        for n in range(9):
            steps.append(one("", call("bash", command="sleep 60"), "", secs=62.0))
            doc = js(created=n * 41000 + r.randint(0, 900), total=369000)
            steps.append(one("", call("bash", command="curl -s es:9200/_tasks/n1:88 | jq .status"), doc, secs=2.0))
        steps.append(say("Reindex done, cluster is green."))
    elif v == 1:
        task = "Wait for the file drop at /srv/in/ready.flag, then run import.sh. It can take a while."
        for _ in range(19):
            cmd = "sleep 45; ls /srv/in/ready.flag"
            out = "ls: cannot access '/srv/in/ready.flag': No such file or directory"
            steps.append(one("", call("bash", command=cmd), out, err=True, secs=rs(r, 46, 48)))
        steps.append(one("", call("bash", command=cmd), "/srv/in/ready.flag", secs=46.0))
        steps.append(one("The flag is there.", call("bash", command="./import.sh"), "imported 1204 records"))
    elif v == 2:
        task = "Book the slot as soon as the page opens at 10:00. Don't reload more often than every 30 s."
        for n in range(10):
            steps.append(one("", call("wait", seconds=30), "waited 30 seconds", secs=31.0))
            text = "Registration opens at 10:00" if n < 9 else "Choose a slot: 10:15 | 10:30 | 10:45"
            steps.append(one("", call("browser_reload"), text, secs=2.0))
        steps.append(one("Open.", call("browser_click", element="10:15"), "Slot 10:15 booked. Ref K7T2"))
    else:
        task = "Let the soak test run for 15 minutes and watch for errors."
        steps.append(one("", call("execute_command", command="./soak.sh > soak.log 2>&1 &"), "[1] 4123"))
        for n in range(15):
            cmd = "sleep 60 && grep -c ERROR soak.log"
            text = f"Minute {n + 1}." if n % 3 == 0 else ""
            steps.append(one(text, call("execute_command", command=cmd), "0", secs=61.0))
        steps.append(say("15 minutes without a single error."))
    return Draft(system=OPS, task=task, steps=steps)


def hd_keys(r: random.Random, v: int) -> Draft:
    """Dev: pressing the same key or scrolling many times."""
    steps: list[Step] = []
    if v == 0:
        task = "In the installer's menu, move down to 'Expert mode' and select it."
        items = [f"{w} install" for w in ("Graphical", "Text", "Minimal", "Server", "Kiosk", "Rescue", "Serial")]
        items += ["Memory test", "Hardware info", "Boot from disk", "Accessibility", "Network boot", "Expert mode"]
        for n in range(1, 13):
            steps.append(
                one(
                    "" if n > 1 else "Moving down the list.",
                    call("computer", action="key", text="Down"),
                    f"screenshot: highlighted '{items[n]}'",
                    secs=rs(r, 1, 3),
                )
            )
        steps.append(one("", call("computer", action="key", text="Return"), "screenshot: Expert mode, step 1"))
        steps.append(say("Expert mode is open."))
    elif v == 1:
        task = "Scroll through the whole changelog page and tell me when support for Python 3.7 was dropped."
        for n in range(17):
            vers = f"v{24 - n}.{r.randint(0, 9)}"
            body = f"{vers} - {r.choice(['Fixed', 'Added', 'Changed'])} {alnum(r, 8)}; {alnum(r, 5)} {alnum(r, 7)}"
            steps.append(one("", call("browser_scroll", direction="down", pixels=800), body, secs=rs(r, 1, 3)))
        steps.append(say("Python 3.7 support was dropped in v9."))
    elif v == 2:
        task = "Tab to the 'Tax region' field in the accounting form and set it to EU-2."
        steps.append(one("", call("screenshot"), "Form 'Company'. Focus: Name"))
        for _ in range(11):
            steps.append(one("", call("press_key", key="Tab"), "ok", secs=rs(r, 0.5, 1.5)))
        steps.append(one("", call("screenshot"), "Form 'Company'. Focus: Tax region"))
        steps.append(one("Got it.", call("type_text", text="EU-2"), "ok"))
        steps.append(one("", call("screenshot"), "Form 'Company'. Tax region: EU-2"))
        steps.append(say("Tax region is set to EU-2."))
    else:
        task = "Play the maze: reach the exit. Use move(direction)."
        x, y = 0, 0
        for d in "EEEEEESSSSEEEEENNNEEEESSSSSS":
            x, y = x + {"E": 1}.get(d, 0), y + {"S": 1, "N": -1}.get(d, 0)
            steps.append(one("", call("move", direction=d), f"You are at ({x},{y}).", secs=rs(r, 0.5, 2)))
        steps.append(say("I'm at the exit."))
    return Draft(system=DESK, task=task, steps=steps)


def hd_time(r: random.Random, v: int) -> Draft:
    """Dev: asking the time again and again."""
    steps: list[Step] = []
    t = 8 * 3600 + r.randint(0, 3000) * 1.0
    if v == 0:
        task = "Take a reading of the greenhouse sensor every five minutes and stamp it with the local time."
        for n in range(14):
            steps.append(one("", call("get_time", zone="Europe/Berlin"), f"2025-04-02T{clock(t)}+02:00", secs=1.5))
            temp = f"{21 + n * 0.2 + r.uniform(0, 0.3):.1f} C, {r.randint(58, 63)} %"
            steps.append(one("", call("read_sensor", id="gh-1"), temp, secs=300.0))
            t += 301.5
        steps.append(say("14 readings taken; it warmed up by about 3 degrees."))
    elif v == 1:
        task = "Ring the bell at 09:00 sharp; ask the clock tool as often as you need."
        t = 9 * 3600 - 15 * 55.0
        for _ in range(15):
            steps.append(one("", call("get_current_time"), clock(t), secs=55.0))
            t += 55
        steps.append(one("", call("get_current_time"), clock(t), secs=1.0))
        steps.append(one("It's nine.", call("ring_bell"), "ding"))
    elif v == 2:
        task = "Log my stretching session. I'll say next after each exercise; note when I did."
        users = ["next", "next please", "ok next", "done, next", "next"]
        names = ["neck", "shoulders", "wrists", "back", "hips", "quads", "calves", "ankles", "arms", "cooldown"]
        for part in names:
            steps.append(one("", call("get_time"), js(time=clock(t)), secs=1.0))
            steps.append(say(f"{clock(t)[:5]} - {part}: noted.", user=r.choice(users), secs=rs(r, 40, 90)))
            t += 70
        steps.append(say("That was the last one. Good job!"))
    else:
        task = "Measure how long each of the 12 builds takes by the wall clock."
        for n in range(12):
            dur = r.randint(20, 45)
            start = clock(t)
            t += dur
            steps.append(
                many(
                    "",
                    [
                        (call("bash", command="date +%T"), start),
                        (call("bash", command=f"make -s variant-{n:02d}"), ""),
                        (call("bash", command="date +%T"), clock(t)),
                    ],
                    secs=dur + 2.0,
                )
            )
            t += 3
        steps.append(say("Done: the builds took between 20 and 45 seconds each."))
    return Draft(system=OPS, task=task, steps=steps)


def hd_terminal(r: random.Random, v: int) -> Draft:
    """Dev: waiting for the output of a long running terminal."""
    steps: list[Step] = []
    if v == 0:
        task = "Install the dependencies and build the wheel for torch-ext."
        cmd = "pip wheel --no-deps ./torch-ext"
        steps.append(one("", call("code_execution", runtime="terminal", code=cmd, session=0), "Building wheel ..."))
        for _ in range(14):
            out = "Building wheel for torch-ext (pyproject.toml): still running..."
            steps.append(one("", call("code_execution", runtime="output", session=0), out, secs=rs(r, 60, 66)))
        out = "Created wheel torch_ext-0.4-cp311-linux_x86_64.whl"
        steps.append(one("", call("code_execution", runtime="output", session=0), out))
        steps.append(say("The wheel is built."))
    elif v == 1:
        task = "Clone the big mono repo and tell me its size."
        steps.append(one("", call("Bash", command="git clone git@host:mono.git", run_in_background=True), "id: bash_1"))
        for n in range(1, 20):
            out = f"<status>running</status><stdout>Receiving objects: {n * 5}% ({n * 48211}/964220)</stdout>"
            steps.append(one("", call("BashOutput", bash_id="bash_1"), out, secs=rs(r, 15, 25)))
        out = "<status>completed</status><stdout>Resolving deltas: 100%, done.</stdout>"
        steps.append(one("", call("BashOutput", bash_id="bash_1"), out))
        steps.append(one("", call("Bash", command="du -sh mono"), "6.1G\tmono"))
    elif v == 2:
        task = "Run the database migration on the copy and wait for it to end."
        steps.append(one("", call("start_process", command="alembic upgrade head"), js(pid=811, state="started")))
        for n in range(16):
            text = "Nothing new yet; the ALTER TABLE takes a while." if n % 4 == 0 else ""
            res = js(pid=811, running=True, new_output="")
            steps.append(one(text, call("read_process_output", pid=811, timeout_ms=45000), res, secs=45.5))
        res = js(pid=811, running=False, exit_code=0, new_output="Running upgrade 1f -> 2a, done")
        steps.append(one("", call("read_process_output", pid=811, timeout_ms=45000), res, secs=31.0))
        steps.append(say("The migration went through, exit code 0."))
    else:
        task = "Run the fuzzer for a bit in the terminal and show me the counters as they go."
        execs = 0
        steps.append(one("", call("terminal_run", command="./fuzz -runs=5000000"), "INFO: Seed: 81723"))
        for n in range(12):
            execs += r.randint(210000, 420000)
            out = f"#{execs}\tREDUCE cov: {800 + n * 3} ft: {2400 + n * 17} exec/s: {r.randint(20000, 24000)}"
            steps.append(one("", call("terminal_read", lines=1), out, secs=rs(r, 10, 20)))
        steps.append(one("", call("terminal_send", keys="C-c"), "== libFuzzer: run interrupted; exiting"))
    return Draft(system=CODER, task=task, steps=steps)


def hd_test_fix(r: random.Random, v: int) -> Draft:
    """Dev: the same test command after each edit, with changing failures."""
    sc = [
        ("Fix the failing tests of the cart module.", "pytest -q tests/test_cart.py", "src/cart.py"),
        ("Make `cargo test` green.", "cargo test --quiet", "src/lib.rs"),
        ("The date picker tests fail since the upgrade. Fix them.", "npm test -- datepicker", "ui/datepicker.ts"),
        ("Get the geometry suite to pass.", "ctest --output-on-failure -R geom", "geom/poly.cpp"),
    ][v]
    task, cmd, path = sc
    names = ["empty", "rounding", "negative", "currency", "discount_stack", "unicode", "overflow", "limits", "merge"]
    r.shuffle(names)
    left = names[: r.randint(6, 9)]
    steps = [
        one("Running the tests first.", call("bash", command=cmd), f"{len(left)} failed: {', '.join(left)}", err=True)
    ]
    while left:
        name = left[0]
        if r.random() < 0.4:
            body = f"fn/def {name}: line {r.randint(10, 300)}\n    {alnum(r, 12)}\n    return {alnum(r, 6)}"
            steps.append(one("", call("read_file", path=path), body, secs=rs(r, 2, 5)))
        old, new = f"{name}_{alnum(r, 5)}", f"{name}_{alnum(r, 7)}"
        text = r.choice([f"`{name}` fails because of the guard. Fixing it.", "", f"Next: {name}."])
        steps.append(one(text, call("apply_patch", path=path, old=old, new=new), "patched", secs=rs(r, 5, 12)))
        if r.random() < 0.75:
            left = left[1:]
        out = f"{len(left)} failed: {', '.join(left)}" if left else "all tests passed"
        detail = f"\n  {left[0]}: expected {r.randint(1, 99)}, got {r.randint(1, 99)}" if left else ""
        steps.append(one("", call("bash", command=cmd), out + detail, err=bool(left), secs=rs(r, 8, 30)))
        if len(steps) > 34:
            left = []
    if "passed" not in steps[-1].results[0]:
        steps.append(one("", call("bash", command=cmd), "all tests passed", secs=12.0))
    steps.append(say("Everything passes now."))
    return Draft(system=CODER, task=task, steps=steps)


def hd_edit_compile(r: random.Random, v: int) -> Draft:
    """Dev: edit and compile, two tools in strict alternation."""
    sc = [
        (
            "Port the driver to the new HAL until it builds.",
            "make -C fw driver.o",
            "fw/driver.c",
            "error: unknown type",
        ),
        (
            "Clear the type errors in packages/core.",
            "tsc -p packages/core --noEmit",
            "packages/core/a.ts",
            "error TS2345:",
        ),
        ("Get the Kotlin module to compile again.", "./gradlew :sync:compileKotlin", "sync/Main.kt", "e: unresolved"),
        ("Make the LaTeX thesis compile.", "latexmk -pdf thesis.tex", "thesis.tex", "! Undefined control sequence"),
    ][v]
    task, cmd, path, err = sc
    steps: list[Step] = []
    rounds = r.randint(8, 16)
    for n in range(rounds):
        line = r.randint(10, 900)
        steps.append(
            one(
                "",
                call("execute_command", command=cmd),
                f"{path}:{line}: {err} '{alnum(r, 7)}'\n{rounds - n} problem(s)",
                err=True,
                secs=rs(r, 5, 20),
            )
        )
        steps.append(
            one(
                maybe(r, f"Line {line} still uses the old name.", "Fixing that one."),
                call("replace_in_file", path=path, line=line, text=f"    {alnum(r, 14)};"),
                "1 replacement made",
                secs=rs(r, 3, 9),
            )
        )
    steps.append(one("", call("execute_command", command=cmd), "Build finished with 0 problems", secs=15.0))
    steps.append(say("It compiles."))
    return Draft(system=CODER, task=task, steps=steps)


def hd_write_similar(r: random.Random, v: int) -> Draft:
    """Dev: many similar small files."""
    steps: list[Step] = []
    if v == 0:
        task = "Create a stub React component with a test for each icon in icons.txt."
        icons = ["Anchor", "Bell", "Cloud", "Disk", "Egg", "Flag", "Gear", "Heart", "Inbox", "Key", "Leaf", "Moon"]
        steps.append(one("", call("read_file", path="icons.txt"), "\n".join(icons)))
        for i in icons:
            body = f"export const {i}Icon = () => <svg className='icon icon-{i.lower()}'/>;\n"
            steps.append(one("", call("write_file", path=f"src/icons/{i}Icon.tsx", content=body), "File written."))
            test = f"it('renders {i}', () => {{ render(<{i}Icon/>); }});\n"
            steps.append(one("", call("write_file", path=f"src/icons/{i}Icon.test.tsx", content=test), "File written."))
        steps.append(say("12 icons with 12 tests written."))
    elif v == 1:
        task = "Add an __init__.py to every package below services/."
        for _ in range(20):
            p = f"services/{alnum(r, 6)}/__init__.py"
            steps.append(one("", call("create_file", path=p, content=""), "created", secs=rs(r, 1, 2)))
        steps.append(say("All 20 packages have one now."))
    elif v == 2:
        task = "Generate Kubernetes namespaces manifests for the 16 teams."
        for n in range(1, 17):
            body = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-{n:02d}\n"
            args = call("write_to_file", path=f"ns/team-{n:02d}.yaml", content=body)
            steps.append(
                one("" if n > 1 else "One manifest per team.", args, "The content was saved.", secs=rs(r, 1, 3))
            )
        steps.append(one("", call("bash", command="kubectl apply --dry-run=client -f ns/"), "16 namespaces (dry run)"))
        steps.append(say("16 manifests written, dry run is clean."))
    else:
        task = "Translate greeting.txt into each language folder."
        words = dict(de="Hallo", fr="Bonjour", es="Hola", it="Ciao", pt="Ola", nl="Hoi", sv="Hej", pl="Czesc")
        words.update(fi="Hei", cs="Ahoj", tr="Merhaba", ro="Salut", hu="Szia", hr="Bok")
        for lang, w in words.items():
            path = f"i18n/{lang}/greeting.txt"
            steps.append(one(f"Now {lang}.", call("write_file", path=path, content=w + "!\n"), "ok", secs=rs(r, 1, 3)))
        steps.append(say("14 languages done."))
    return Draft(system=CODER, task=task, steps=steps)


def hd_bulk(r: random.Random, v: int) -> Draft:
    """Dev: bulk inserts."""
    steps: list[Step] = []
    if v == 0:
        task = "Load the rows from seeds.csv into table plants, a row per statement."
        for n in range(24):
            sql = f"INSERT INTO plants (id, name, height_cm) VALUES ({n + 1}, '{alnum(r, 6)}', {r.randint(5, 250)})"
            steps.append(one("", call("sql_execute", statement=sql), "INSERT 0 1", secs=rs(r, 0.5, 1.5)))
        steps.append(one("", call("sql_execute", statement="SELECT count(*) FROM plants"), "24"))
        steps.append(say("24 rows loaded."))
    elif v == 1:
        task = "Fill the expense sheet from the receipts I pasted."
        for n in range(18):
            args = call(
                "sheet_append_row",
                sheet="Expenses",
                values=[f"2025-03-{n + 1:02d}", r.choice(["taxi", "meal", "hotel"]), round(r.uniform(8, 190), 2)],
            )
            steps.append(one("", args, js(ok=True, row=n + 2), secs=rs(r, 1, 2)))
        steps.append(say("18 receipts are in the sheet, rows 2 to 19."))
    elif v == 2:
        task = "Create these contacts in the CRM."
        for _ in range(15):
            who = f"{alnum(r, 5).title()} {alnum(r, 7).title()}"
            steps.append(
                one("", call("crm_create_contact", name=who, source="trade fair"), js(ok=True), secs=rs(r, 1, 3))
            )
        steps.append(say("15 contacts created."))
    else:
        task = "Backfill the metrics for February, one day per request (the endpoint takes only a day)."
        for day in range(1, 29):
            args = call("http_post", url="https://metrics.example/backfill", json={"day": f"2025-02-{day:02d}"})
            steps.append(one("", args, '202 {"accepted": true}', secs=rs(r, 1, 2)))
        steps.append(say("All 28 days of February are accepted."))
    return Draft(system=ANALYST, task=task, steps=steps)


def hd_flaky(r: random.Random, v: int) -> Draft:
    """Dev: retry with backoff of a flaky service that recovers."""
    steps: list[Step] = []
    if v == 0:
        task = "Fetch the rates from https://rates.example/today. It's flaky; retry with backoff."
        wait = 2.0
        for _ in range(6):
            res = "503 Service Unavailable"
            steps.append(one("", call("http_get", url="https://rates.example/today"), res, err=True, secs=1.0))
            steps.append(one("", call("wait", seconds=wait), f"slept {wait:g} s", secs=wait))
            wait *= 2
        steps.append(one("", call("http_get", url="https://rates.example/today"), '200 {"EURUSD": 1.0831}'))
        steps.append(say("It answered on the seventh try: EURUSD is 1.0831."))
    elif v == 1:
        task = "Pull the base image and build."
        steps.append(one("", call("read_file", path="Dockerfile"), "FROM registry.example/base:12\nCOPY . /app"))
        wait = 10
        for n in range(5):
            cmd = (
                "docker pull registry.example/base:12"
                if n == 0
                else f"sleep {wait}; docker pull registry.example/base:12"
            )
            res = f"Error: received unexpected HTTP status: {r.choice(['502 Bad Gateway', '504 Gateway Timeout'])}"
            steps.append(
                one(
                    "The registry hiccups." if n == 1 else "", call("bash", command=cmd), res, err=True, secs=wait + 4.0
                )
            )
            wait *= 2
        steps.append(
            one("", call("bash", command=cmd.replace("160", "320")), "Status: Downloaded newer image", secs=330.0)
        )
        steps.append(
            one("", call("bash", command="docker build -t app ."), "naming to docker.io/library/app", secs=40.0)
        )
        steps.append(say("Image app is built."))
    elif v == 2:
        task = "Upload the 8 chapters to the CMS. It times out now and then, just try again."
        for ch in range(1, 9):
            for _ in range(r.choice([0, 0, 1, 2, 3])):
                res = f"TimeoutError: no answer after 15 s (request {hx(r, 8)})"
                steps.append(one("", call("cms_upload", file=f"ch{ch}.md"), res, err=True, secs=15.5))
            steps.append(one("", call("cms_upload", file=f"ch{ch}.md"), js(ok=True, page=400 + ch), secs=3.0))
        steps.append(say("All eight chapters are online."))
    else:
        task = "Connect to the lab VPN and then copy results.tar from the box."
        for n in range(7):
            res = "ssh: connect to host lab-3 port 22: Connection timed out"
            text = ["The VPN needs a moment. Retrying.", "", "Trying again after a pause."][n % 3]
            cmd = f"sleep {15 * (n + 1)}; scp lab-3:results.tar ."
            steps.append(one(text, call("bash", command=cmd), res, err=True, secs=15.0 * (n + 1) + 10))
        steps.append(one("", call("bash", command="scp lab-3:results.tar ."), "results.tar 100% 18MB 2.1MB/s"))
        steps.append(say("results.tar is here."))
    return Draft(system=OPS, task=task, steps=steps)


def hd_reread(r: random.Random, v: int) -> Draft:
    """Dev: reading the same file again after each edit."""
    sc = [
        ("Rewrite the README section by section; re-read it after each change.", "README.md", "##"),
        ("Clean up settings.toml, one key at a time.", "settings.toml", "key"),
        ("Rework the state machine in fsm.py in small steps.", "fsm.py", "def"),
        ("Reorder the nginx locations, checking the file each time.", "nginx.conf", "location"),
    ][v]
    task, path, mark = sc
    parts = [f"{mark} {alnum(r, 6)}" for _ in range(r.randint(6, 9))]
    steps = [one("", call("read_file", path=path), "\n".join(parts))]
    for _ in range(r.randint(6, 12)):
        k = r.randrange(len(parts))
        old, parts[k] = parts[k], f"{mark} {alnum(r, 8)}"
        edit = call("edit_file", path=path, old_text=old, new_text=parts[k])
        steps.append(one(maybe(r, "Next part.", "This reads better."), edit, "edited", secs=rs(r, 4, 10)))
        steps.append(one("", call("read_file", path=path), "\n".join(parts), secs=rs(r, 2, 4)))
    steps.append(say(f"{path} is in good shape now."))
    return Draft(system=CODER, task=task, steps=steps)


def hd_ab(r: random.Random, v: int) -> Draft:
    """Dev: comparing two variants by measuring them in turns."""
    steps: list[Step] = []
    if v == 0:
        task = "Is zstd or lz4 faster for our dumps? Run each ten times, alternating, to even out the cache."
        for n in range(20):
            tool, base = (("zstd", 4.1), ("lz4", 2.7))[n % 2]
            out = f"real 0m{base + r.uniform(-0.3, 0.3):.3f}s"
            steps.append(one("", call("bash", command=f"time {tool} -q -f dump.sql -o /dev/null"), out, secs=base + 2))
        steps.append(say("lz4 is faster by about a third: 2.7 s against 4.1 s on average."))
    elif v == 1:
        task = "Compare prompt A and prompt B on the 12 samples."
        for n in range(12):
            for p in "AB":
                res = js(sample=n, prompt=p, score=round(r.uniform(0.4, 0.95), 2))
                steps.append(one("", call("run_eval", prompt=p, sample=n), res, secs=rs(r, 3, 7)))
        steps.append(say("Prompt B wins 8 of 12."))
    elif v == 2:
        task = "Look at the old and the new landing page on each viewport and note differences."
        for w in (320, 375, 414, 600, 768, 834, 1024, 1280, 1440, 1920):
            for host in ("old", "new"):
                args = call("take_screenshot", url=f"https://{host}.shop.example", width=w)
                res = f"{host}@{w}: hero {r.randint(200, 600)}px, nav {'menu' if w < 800 else 'bar'}"
                steps.append(one("", args, res, secs=rs(r, 2, 6)))
        steps.append(say("The new page is shorter at every width; nav switches at the same breakpoint."))
    else:
        task = "Bench the two allocators. Same command five times each; swap LD_PRELOAD in between."
        for n in range(10):
            lib = "jemalloc" if n % 2 else "mimalloc"
            steps.append(one("", call("set_env", name="LD_PRELOAD", value=f"/usr/lib/lib{lib}.so"), "ok", secs=1.0))
            out = f"ops/s: {r.randint(880, 960) * 1000}"
            steps.append(one("", call("execute_command", command="./bench --threads 8"), out, secs=rs(r, 20, 25)))
        steps.append(say("Within noise of each other."))
    return Draft(system=ANALYST, task=task, steps=steps)


def hd_chat_repeat(r: random.Random, v: int) -> Draft:
    """Dev: a person asks similar questions again and again."""
    steps: list[Step] = []
    if v == 0:
        task = "Can I return the hiking boots I bought?"
        items = ["the tent", "the rain jacket", "the socks", "the headlamp", "the gift card", "the stove", "the rope"]
        items += ["the backpack", "the sleeping bag", "the water filter"]
        for i, nxt in zip(["the boots", *items], [*items, ""], strict=True):
            rule = "within 30 days if unused and in the packaging"
            if i in ("the socks", "the gift card", "the rope"):
                rule = "only if damaged on arrival, for hygiene or safety reasons"
            ans = f"Yes, you can return {i} {rule}. Do you want me to start the return?"
            steps.append(say(ans, user=f"And {nxt}?" if nxt else "", secs=rs(r, 10, 40)))
    elif v == 1:
        p, n = 17, 240
        task = f"What's {p}% of {n}?"
        for _ in range(15):
            ans = f"That is {p * n / 100:g}."
            p, n = r.randint(3, 40), r.randint(50, 900)
            steps.append(say(ans, user=f"And {p}% of {n}?", secs=rs(r, 5, 20)))
        steps.append(say(f"That is {p * n / 100:g}."))
    elif v == 2:
        task = "Is the checkout working again?"
        for n in range(9):
            res = js(service="checkout", status="degraded" if n < 8 else "operational")
            steps.append(one("", call("get_service_status", service="checkout"), res, secs=2.0))
            ans = "Not yet: checkout is still reported as degraded. Sorry for the wait."
            users = ["And now?", "now?", "Any news?", "Is it back?", "still down?", "and now", "how about now"]
            last = "Good news: checkout is operational again."
            steps.append(say(ans if n < 8 else last, user=r.choice(users) if n < 8 else "", secs=rs(r, 60, 400)))
    else:
        task = "Conjugate 'ir' in Spanish, present tense."
        verbs = dict(ir="voy vas va vamos", ser="soy eres es somos", estar="estoy estas esta estamos")
        verbs.update(tener="tengo tienes tiene tenemos", hacer="hago haces hace hacemos")
        verbs.update(poder="puedo puedes puede podemos", decir="digo dices dice decimos")
        verbs.update(venir="vengo vienes viene venimos", saber="se sabes sabe sabemos", dar="doy das da damos")
        verbs.update(querer="quiero quieres quiere queremos", ver="veo ves ve vemos")
        order = list(verbs)
        for k, verb in enumerate(order):
            ans = "\n".join(
                f"- {p}: {f}" for p, f in zip(("yo", "tu", "el", "nosotros"), verbs[verb].split(), strict=True)
            )
            ask = f"Now '{order[k + 1]}' please." if k + 1 < len(order) else ""
            steps.append(say("Sure, here you go:\n" + ans, user=ask, secs=rs(r, 15, 60)))
    return Draft(system=HELP, task=task, steps=steps)


def hd_lists(r: random.Random, v: int) -> Draft:
    """Dev: long list-like answers."""
    sc = [
        ("Give me ten names for a bakery.", "Ten more, please.", "bakery"),
        ("Write five multiple choice questions about volcanoes.", "Five more of those.", "quiz"),
        ("List packing items for a sailing trip.", "Continue the list.", "item"),
        ("Make up ten test user records.", "Another ten.", "user"),
    ][v]
    task, more, kind = sc
    a = ["Golden", "Old Mill", "Sunny", "Little", "Rustic", "Corner", "Blue", "Harbor", "Maple", "Stone"]
    b = ["Crust", "Oven", "Loaf", "Crumb", "Whisk", "Rye", "Batch", "Hearth", "Grain", "Knead"]
    gear = ["rope", "gloves", "cap", "torch", "knife", "flask", "towel", "charger", "map", "tape", "soap", "fender"]
    steps: list[Step] = []
    for turn in range(r.randint(8, 12)):
        lines: list[str] = []
        for n in range(1, 11):
            if kind == "bakery":
                lines.append(f"{n}. {r.choice(a)} {r.choice(b)}")
            elif kind == "quiz":
                opts = " / ".join(str(x) for x in r.sample(range(100, 4000), 4))
                lines.append(f"{n}. How high in meters is Mount {alnum(r, 6).title()}? {opts}")
            elif kind == "item":
                lines.append(
                    f"- {r.randint(1, 4)} x {r.choice(gear)} ({r.choice(['spare', 'dry bag', 'cockpit', 'cabin'])})"
                )
            else:
                lines.append(f"{turn * 10 + n};user_{alnum(r, 5)};{alnum(r, 6)}@test.example;{r.randint(18, 80)}")
        steps.append(say("\n".join(lines), user=more, secs=rs(r, 10, 50)))
    steps.append(say("That's the last set; tell me if you want a different style."))
    return Draft(system=HELP, task=task, steps=steps)


def hd_pr_review(r: random.Random, v: int) -> Draft:
    """Dev: reviewing many PRs with similar comments."""
    steps: list[Step] = []
    task = [
        "Review the open dependency bumps and approve those with green CI.",
        "Go through the hackathon PRs; ask for tests where there are none.",
        "Label every PR of the docs sprint.",
        "Check that each translation PR touches only its own locale.",
    ][v]
    first = r.randint(300, 900)
    for n in range(11):
        num = first + n * r.randint(1, 3)
        if v == 0:
            lib = alnum(r, 6)
            diff = f"-{lib}==1.{n}.0\n+{lib}==1.{n}.{r.randint(1, 9)}\nchecks: success"
            steps.append(one("", call("gh", args=f"pr diff {num}"), diff, secs=rs(r, 2, 5)))
            steps.append(
                one("", call("gh", args=f"pr review {num} --approve -b 'LGTM, CI is green.'"), "Approved", secs=2.0)
            )
        elif v == 1:
            diff = f"+def {alnum(r, 6)}(x):\n+    return {alnum(r, 5)}(x) * {r.randint(2, 9)}"
            steps.append(one("", call("get_pull_request_diff", number=num), diff, secs=rs(r, 3, 8)))
            msg = "Thanks for the PR! Could you please add a unit test for the new function?"
            steps.append(one("", call("add_pr_comment", number=num, body=msg), js(ok=True), secs=2.0))
        elif v == 2:
            steps.append(
                one("Docs PR, labeling.", call("gh", args=f"pr edit {num} --add-label docs"), f"pull/{num}", secs=3.0)
            )
        else:
            loc = r.choice(["de", "fr", "ja", "ko", "nb", "uk"])
            steps.append(one("", call("list_pr_files", number=num), f"locale/{loc}/LC_MESSAGES/app.po", secs=3.0))
            steps.append(one("", call("approve_pr", number=num), "approved", secs=2.0))
    steps.append(say("All 11 are handled."))
    return Draft(system=CODER, task=task, steps=steps)


def hd_todo(r: random.Random, v: int) -> Draft:
    """Dev: keeping a todo list up to date between other steps."""
    sc = [
        (
            "Migrate the blog to the new theme.",
            ["copy css", "fix nav", "fix footer", "tags page", "feed", "404", "search"],
        ),
        ("Set up monitoring for the five services.", ["scrape", "alerts", "dash api", "dash db", "dash web", "oncall"]),
        ("Prepare the quarterly numbers.", ["pull sales", "pull costs", "fx", "pivot", "chart", "notes", "mail draft"]),
        ("Harden the VM image.", ["ssh", "sysctl", "auditd", "users", "cron", "ufw", "banner", "updates"]),
    ][v]
    task, items = sc

    def board(done: int) -> list[Args]:
        return [
            {"task": t, "state": "done" if k < done else "in_progress" if k == done else "open"}
            for k, t in enumerate(items)
        ]

    steps = [one("Plan first.", call("update_todos", todos=board(0)), "Todos updated.")]
    for n, t in enumerate(items):
        for _ in range(r.randint(1, 3)):
            cmd = (
                f"{r.choice(['sed -i', 'cp', 'grep -rn', 'python fix.py', 'cat'])} {alnum(r, 6)} {t.replace(' ', '_')}"
            )
            out = r.choice(["", "", f"{r.randint(1, 40)} lines", alnum(r, 20)])
            steps.append(one("", call("bash", command=cmd), out, secs=rs(r, 3, 9)))
        steps.append(one("", call("update_todos", todos=board(n + 1)), "Todos updated.", secs=2.0))
    steps.append(say("All items on the list are done."))
    return Draft(system=CODER if v != 2 else ANALYST, task=task, steps=steps)


# ------------------------------------------------------------------------------------------ loops, dev


def ld_lead(r: random.Random, kind: str) -> list[Step]:
    """Dev: two to six honest steps before a loop."""
    code = [
        one("I'll look around first.", call("bash", command="ls"), "Makefile\nREADME.md\nsrc\ntests"),
        one("", call("bash", command="git status --short"), " M src/app.py"),
        one("", call("read_file", path="README.md"), "# ledger\nRun `make test` to run the tests."),
        one("", call("grep", pattern="load_config", path="src"), "src/app.py:14:cfg = load_config()"),
        one("", call("read_file", path="src/app.py"), "import sys\nfrom conf import load_config\n..."),
        one("", call("bash", command="python --version"), "Python 3.11.7"),
    ]
    ops = [
        one("", call("bash", command="kubectl config current-context"), "staging-eu"),
        one("Checking the namespaces.", call("bash", command="kubectl get ns"), "default\npayments\nweb"),
        one("", call("bash", command="kubectl -n web get deploy"), "front 3/3\nimages 1/2"),
        one("", call("bash", command="helm ls -n web"), "front-4.2.0 deployed\nimages-1.0.3 failed"),
        one("", call("bash", command="uptime"), "14:02 up 81 days, load average: 0.41"),
        one("", call("bash", command="df -h / | tail -1"), "/dev/sda1 80G 51G 26G 67% /"),
    ]
    web = [
        one("", call("search", query="solid state battery cycle life"), "1. Review 2023 ...\n2. Lab notes ..."),
        one("", call("http_get", url="https://lab.example/notes"), "Cycle life above 1000 at 25 C in cell type B."),
        one("", call("search", query="sulfide electrolyte moisture"), "1. Handling guide\n2. Dry room costs"),
        one("Opening the first hit.", call("browser_navigate", url="https://journal.example/r23"), "Title: Review"),
        one("", call("browser_extract", selector="article"), "We compare oxide and sulfide electrolytes ..."),
        one("", call("save_note", text="1000 cycles at 25 C (type B)"), "saved"),
    ]
    shop = [
        one("", call("get_customer", email="lee@sail.example"), "Lee Arden, customer since 2019, 4 orders"),
        one("", call("list_orders", customer="Lee Arden"), "#4410 jib\n#3981 rope\n#3520 fender\n#3007 gloves"),
        one("Let me see the latest order.", call("get_order", number=4410), "jib, 12 m2, delivered May 2"),
        one("", call("get_policy", topic="sail repair"), "Seams are free of charge within two seasons."),
        one("", call("list_notes", customer="Lee Arden"), "Prefers mail over phone."),
        one("", call("get_stock", item="sail tape"), "31 rolls"),
    ]
    portal = [
        one("", call("read_file", path="instructions.txt"), "Portal: https://portal.example, user agent7"),
        one("", call("browser_navigate", url="https://portal.example"), "Welcome. Please log in."),
        one("", call("get_secret", name="portal"), "********"),
        one("Looking for the statements link.", call("browser_extract", selector="nav"), "Home | Login | Help"),
        one("", call("browser_click", element="Help"), "Statements are under Account after you log in."),
        one("", call("browser_resize", width=1280), "ok"),
    ]
    pools = {"code": code, "ops": ops, "web": web, "shop": shop, "portal": portal}
    pool = pools[kind]
    return pool[: r.randint(2, 6)]


def ld_same_call(r: random.Random, v: int) -> Draft:
    """Dev: the very same call with the same result."""
    sc: list[tuple[str, str, str, Call, str, str]] = [
        (
            "Add a --verbose flag.",
            "code",
            CODER,
            call("read_file", path="src/cli.py"),
            "import argparse\n\ndef main():\n    p = argparse.ArgumentParser()\n    p.add_argument('file')\n",
            "",
        ),
        (
            "Why is images 1/2?",
            "ops",
            OPS,
            call("bash", command="kubectl -n web describe pod images-7d9f-x2x4k | tail -3"),
            "Warning  FailedMount  volume 'cache' not found",
            "{Let me|I'll} look at the pod's events.",
        ),
        (
            "Submit the form on the vendor page.",
            "web",
            DESK,
            call("browser_click", element="#submit"),
            "Clicked. The page did not change.",
            "Clicking {submit|the submit button}.",
        ),
        (
            "Find the melting point of Li6PS5Cl.",
            "web",
            ANALYST,
            call("search", query="Li6PS5Cl melting point"),
            "1. Argyrodite overview\n2. Synthesis of argyrodites",
            "",
        ),
    ]
    task, kind, system, c, result, text = sc[v]
    lead = ld_lead(r, kind)
    loop = [one(spin(r, text), c, result, secs=rs(r, 2, 8)) for _ in range(r.randint(12, 28))]
    return Draft(system=system, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_varied_error(r: random.Random, v: int) -> Draft:
    """Dev: the same call failing with another error text each time."""
    lead = ld_lead(r, ("code", "ops", "web", "code")[v])
    loop: list[Step] = []
    for n in range(r.randint(12, 24)):
        t = clock(50000 + n * 7)
        if v == 0:
            task = "Create the issue in the tracker."
            c = call("create_issue", project="LEDGER", title="Config is read twice")
            err = f"[{t}] 401 Unauthorized (request id {hx(r, 12)})"
            loop.append(one("", c, err, err=True, secs=rs(r, 2, 6)))
        elif v == 1:
            task = "Scale images to two replicas."
            c = call("bash", command="kubectl -n web scale deploy/images --replicas=2")
            err = r.choice(
                [
                    f"E0312 {t} memcache.go:265] couldn't get current server API group list: Unauthorized",
                    "error: You must be logged in to the server (Unauthorized)",
                    f"Error from server (Forbidden): deployments.apps is forbidden, audit {uid(r)}",
                    "error: the server has asked for the client to provide credentials",
                ]
            )
            loop.append(one(maybe(r, "Let me retry scaling."), c, err, err=True, secs=rs(r, 2, 9)))
        elif v == 2:
            task = "Get the spec sheet from the vendor's site."
            c = call("http_get", url="https://vendor.example/spec.pdf")
            err = f"404 Not Found\nray: {hx(r, 16)}\ndate: {t}\n<!-- edge {r.randint(1, 400)} -->"
            loop.append(one(maybe(r, "Fetching the spec sheet.", "Trying to fetch it."), c, err, err=True, secs=3.0))
        else:
            task = "Run the importer."
            c = call("execute_command", command="python -m ledger.importer data/in.csv")
            err = (
                f'Traceback (most recent call last):\n  File "importer.py", line 41\n'
                f"KeyError: 'amount' (object at 0x{hx(r, 12)}, pid {r.randint(2000, 9999)})"
            )
            loop.append(one("", c, err, err=True, secs=rs(r, 3, 7)))
    return Draft(system=OPS if v == 1 else CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_trivial_args(r: random.Random, v: int) -> Draft:
    """Dev: arguments vary trivially, the result stays."""
    lead = ld_lead(r, ("code", "ops", "web", "code")[v])
    loop: list[Step] = []
    for n in range(r.randint(12, 26)):
        if v == 0:
            task = "Why does the build not see libfoo?"
            c = call("bash", command=f"pkg-config --libs foo  # attempt {n + 1}")
            res = "Package foo was not found in the pkg-config search path."
            loop.append(one("", c, res, err=True, secs=rs(r, 2, 5)))
        elif v == 1:
            task = "Is the certificate mounted in the front pods?"
            pad = " " * (n % 3 + 1)
            c = call("bash", command=f"kubectl -n web exec deploy/front --{pad}ls /etc/tls" + " " * (n // 3))
            loop.append(one(maybe(r, "Checking the mount."), c, "ls: /etc/tls: No such file or directory", err=True))
        elif v == 2:
            task = "Read the lab's price page."
            c = call("http_get", url=f"https://lab.example/prices?_={1741000000 + n * r.randint(3, 9)}")
            loop.append(one("", c, "<html><body><div id='app'></div></body></html>", secs=rs(r, 2, 6)))
        else:
            task = "Print the config the app sees."
            code = f"# try {n}\nfrom conf import load_config\nprint(load_config())" + "\n" * (n % 2)
            c = call("code_execution", runtime="python", code=code)
            loop.append(one("", c, "{}", secs=rs(r, 2, 5)))
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_empty_search(r: random.Random, v: int) -> Draft:
    """Dev: rephrased queries, always nothing found."""
    sc = [
        (
            "Where is the retry limit set?",
            "code",
            "grep",
            "pattern",
            "{max|limit|num}_{retries|retry|attempts|tries}{_count||_n}",
            "No matches found.",
        ),
        (
            "Find papers on Na-ion cells below -60 C.",
            "web",
            "search",
            "query",
            (
                "{sodium ion|Na-ion|sodium-ion} {cell|battery} {at|below|under} {-60 C|minus 60|"
                "minus sixty degrees} {paper|study|results|data}"
            ),
            "0 results.",
        ),
        (
            "Find the customer's earlier case about the sail.",
            "shop",
            "search_tickets",
            "query",
            "{sail|jib|mainsail} {torn|ripped|tear|damage} {case|ticket|claim} {2022|2023|last year|}",
            '{"hits": []}',
        ),
        (
            "Which chart sets the pod budget?",
            "ops",
            "search_code",
            "q",
            "{pod disruption budget|PodDisruptionBudget|pdb} {values|template|chart|helm} {images|front|web}",
            "Your search did not match any code.",
        ),
    ]
    task, kind, tool, key, template, res = sc[v]
    lead = ld_lead(r, kind)
    loop: list[Step] = []
    for _ in range(r.randint(12, 24)):
        text = spin(r, "{Let me try another wording.||I'll search differently.||Maybe a different term helps.}")
        c = Call(name=tool, arguments={key: spin(r, template).strip()})
        loop.append(one(text, c, res, secs=rs(r, 2, 7)))
    return Draft(system=ANALYST, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_restate(r: random.Random, v: int) -> Draft:
    """Dev: the same answer with a few words changed, no calls."""
    sc = [
        (
            "Fix the config bug.",
            "code",
            (
                "The {bug|issue|problem} is {now |}fixed: `load_config` is called once at "
                "{startup|start}, and the {result|value} is passed {on|along} to every handler. "
                "{All tests pass.|The tests pass.} {Let me know|Tell me} if you {need|want} "
                "{anything else|something else|more}."
            ),
        ),
        (
            "What is the cycle life?",
            "web",
            (
                "{Based on|According to|From} the {notes|sources}, cell type B {reaches|"
                "achieves} {more than|over|above} 1000 cycles at 25 C. {This|That} is "
                "{consistent|in line} with the {review|2023 review}. {In summary|To sum up|In "
                "short}, the cycle life is {over|above} 1000 cycles."
            ),
        ),
        (
            "Is the cluster healthy?",
            "ops",
            (
                "The cluster is {mostly |largely |}healthy. The only {problem|issue} is the "
                "images deployment, which has {one|1} of {two|2} replicas. I {recommend|suggest} "
                "checking the {volume|cache volume}. {The task is complete.|The task is done.|"
                "This completes the task.}"
            ),
        ),
        (
            "Write a tagline for our sail repair shop.",
            "shop",
            (
                "Here's {a|my} tagline: \"Back on the wind by {Friday|Monday}.\" It's {short|"
                "brief} and {memorable|catchy}, and it {promises|conveys} speed. {I hope you "
                "like it!|Hope you like it!|Hope this helps!}"
            ),
        ),
    ]
    task, kind, template = sc[v]
    push = ["Continue.", "", "Continue.", "Please proceed with the task. If it is complete, call finish."][v]
    lead = ld_lead(r, kind)
    loop = [say(spin(r, template), user=push, secs=rs(r, 4, 9)) for _ in range(r.randint(11, 20))]
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_promise(r: random.Random, v: int) -> Draft:
    """Dev: announcing the next action and never acting."""
    sc = [
        (
            "Run the test suite and fix what fails.",
            "code",
            (
                "{I will now|I'll now|Now I will} run the {tests|test suite} {to see what fails|"
                "and look at the failures}."
            ),
        ),
        (
            "Patch the images chart.",
            "ops",
            (
                "{Okay, |Alright, |}{next|now} I'm going to {open|read} the chart's values and "
                "{patch|update} the volume{ name|}. {One moment.|Working on it.|Doing that now.}"
            ),
        ),
        (
            "Write the comparison table.",
            "web",
            (
                "{Let me|I'm going to|I will} {write|create|put together} the table {now|right "
                "away}. {It will|The table will} have columns for {electrolyte, cycles and cost|"
                "electrolyte, cost and cycles}."
            ),
        ),
        (
            "Rename the package to bookkeeper.",
            "code",
            (
                "{Got it.|Understood.|Right.} I'll {start|begin} {with|by} renaming the "
                "{directory|folder}, then update the imports{ and the docs|}. {Starting now...|"
                "Let's go.|Here we go.}"
            ),
        ),
    ]
    task, kind, template = sc[v]
    pushes = [
        "Continue.",
        "[ERROR] You did not use a tool in your previous response. Please retry with a tool use.",
        "go on",
        "",
    ]
    lead = ld_lead(r, kind)
    loop = [say(spin(r, template), user=pushes[v], secs=rs(r, 3, 8)) for _ in range(r.randint(11, 22))]
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_cycle(r: random.Random, v: int, length: int) -> Draft:
    """Dev: a cycle of `length` steps, over and over."""
    a: list[Spec] = [
        ("bash", {"command": "make test"}, "ModuleNotFoundError: No module named 'conf'", True, ""),
        (
            "bash",
            {"command": "pip show conf"},
            "WARNING: Package(s) not found: conf",
            True,
            "{Is it installed?|Checking the package.}",
        ),
        ("read_file", {"path": "src/app.py"}, "import sys\nfrom conf import load_config", False, ""),
        ("bash", {"command": "ls src"}, "__init__.py\napp.py\nconfig", False, "{Let me list src.|Looking at src.}"),
        ("bash", {"command": "echo $PYTHONPATH"}, "", False, ""),
        ("read_file", {"path": "Makefile"}, "test:\n\tpytest -q", False, ""),
        ("bash", {"command": "cat pyproject.toml"}, "[project]\nname = 'ledger'", False, ""),
        ("grep", {"pattern": "import conf", "path": "."}, "No matches", False, ""),
        (
            "bash",
            {"command": "git log --oneline -3"},
            "a81c wip\n09fe init\n",
            False,
            "{What changed lately?|Checking history.}",
        ),
    ]
    b: list[Spec] = [
        (
            "bash",
            {"command": "kubectl -n web get pods"},
            "front-1 1/1 Running\nimages-1 0/1 CrashLoopBackOff",
            False,
            "",
        ),
        (
            "bash",
            {"command": "kubectl -n web logs images-1"},
            "<T> FATAL cache dir missing",
            False,
            "{Reading the logs.|Logs next.}",
        ),
        (
            "bash",
            {"command": "kubectl -n web delete pod images-1"},
            'pod "images-1" deleted',
            False,
            "Restarting the pod.",
        ),
        ("bash", {"command": "helm get values images -n web"}, "replicas: 2\ncache: {}", False, ""),
        ("bash", {"command": "kubectl -n web get pvc"}, "No resources found in web namespace.", False, ""),
        ("bash", {"command": "kubectl -n web get events | tail -1"}, "<N>s Warning BackOff pod/images-1", False, ""),
        ("bash", {"command": "kubectl top nodes"}, "node-1 <N>m 41%", False, "{Is a node full?|Checking the nodes.}"),
        ("bash", {"command": "kubectl -n web get cm"}, "front-cfg 3\nkube-root-ca 1", False, ""),
        ("bash", {"command": "kubectl -n web get deploy images -o yaml | head -4"}, "kind: Deployment\n...", False, ""),
    ]
    c: list[Spec] = [
        ("browser_navigate", {"url": "https://portal.example/login"}, "Login page", False, ""),
        ("browser_type", {"element": "#user", "text": "agent7"}, "ok", False, ""),
        (
            "browser_click",
            {"element": "#login"},
            "Session expired. Please log in again.",
            True,
            "{Logging in.|Log in.}",
        ),
        ("screenshot", {}, "Login page", False, ""),
        ("browser_wait", {"seconds": 1}, "waited", False, ""),
        ("browser_back", {}, "about:blank", False, ""),
        ("browser_cookies", {"action": "list"}, "[]", False, ""),
        ("browser_type", {"element": "#pass", "text": "********"}, "ok", False, ""),
        ("browser_extract", {"selector": ".error"}, "Session expired", False, "{What does it say?|Reading the error.}"),
    ]
    d: list[Spec] = [
        ("search", {"query": "argyrodite price per kg"}, "1. Market note 2021\n2. Forum thread", False, ""),
        (
            "http_get",
            {"url": "https://market.example/note21"},
            "Subscribe to read on.",
            False,
            "{Opening it.|Open the note.}",
        ),
        ("http_get", {"url": "https://forum.example/t/771"}, "Nobody knows, prices are under NDA.", False, ""),
        ("read_notes", {}, "- 1000 cycles at 25 C (type B)", False, ""),
        ("think", {"thought": "I still need the price."}, "noted", False, ""),
        ("search", {"query": "Li6PS5Cl supplier"}, "1. NEI-like supplier list", False, ""),
        ("http_get", {"url": "https://suppliers.example/list"}, "Ask for a quote.", False, ""),
        ("search", {"query": "sulfide electrolyte cost model"}, "1. Market note 2021", False, ""),
        ("list_sources", {}, "3 sources", False, "{What do I have?|Reviewing sources.}"),
    ]
    pool = (a, b, c, d)[v]
    k = length * 2 % 9
    specs = (pool[k:] + pool[:k])[:length]
    lead = ld_lead(r, ("code", "ops", "portal", "web")[v])
    if length == 9:
        lead = lead[:4]
    passes = {2: r.randint(7, 14), 3: r.randint(5, 10), 5: r.randint(4, 6), 7: 4, 9: 4}[length]
    loop = cycle([maker(r, s, 40000.0, 60.0) for s in specs], passes, extra=1 if length < 7 else 0)
    task = (
        "Make the tests run.",
        "Get the images deployment healthy.",
        "Log in to the portal and download the May statement.",
        "What does argyrodite electrolyte cost per kilogram?",
    )[v]
    return Draft(
        system=(CODER, OPS, DESK, ANALYST)[v], task=task, steps=lead + loop, loop_start=len(lead), period=length
    )


def ld_cycle2(r: random.Random, v: int) -> Draft:
    """Dev: a cycle of two steps."""
    return ld_cycle(r, v, 2)


def ld_cycle3(r: random.Random, v: int) -> Draft:
    """Dev: a cycle of three steps."""
    return ld_cycle(r, v, 3)


def ld_cycle5(r: random.Random, v: int) -> Draft:
    """Dev: a cycle of five steps."""
    return ld_cycle(r, v, 5)


def ld_cycle7(r: random.Random, v: int) -> Draft:
    """Dev: a cycle of seven steps."""
    return ld_cycle(r, v, 7)


def ld_cycle9(r: random.Random, v: int) -> Draft:
    """Dev: a cycle of nine steps."""
    return ld_cycle(r, v, 9)


def ld_flip_flop(r: random.Random, v: int) -> Draft:
    """Dev: making the same change and taking it back."""
    sc = [
        ("src/app.py", "timeout = 5", "timeout = 30", "make test"),
        ("chart/values.yaml", "replicas: 1", "replicas: 2", "helm lint chart"),
        ("web/styles.css", "margin: 0 auto;", "margin: 0 1rem;", ""),
        ("src/money.py", "return round(x, 2)", "return Decimal(x)", "make test"),
    ]
    path, left, right, cmd = sc[v]
    task = ["Stop the timeout test from failing.", "Fix the lint error.", "Center the card.", "Fix rounding."][v]
    lead = ld_lead(r, "ops" if v == 1 else "code")
    out = ["FAILED test_slow - timeout", "[ERROR] values: replicas", "", "FAILED test_round - 2.674 != 2.68"]
    other = ["FAILED test_fast - too slow", "[ERROR] values: replicas", "", "FAILED test_json - not serializable"]

    def edit(old: str, new: str) -> Callable[[int], Step]:
        def make(n: int) -> Step:
            text = spin(r, "{|Hmm, that isn't right. Changing it.|Let me change that back.|}")
            return one(text, call("edit_file", path=path, old_string=old, new_string=new), "edited", secs=rs(r, 3, 8))

        return make

    def test(result: str) -> Callable[[int], Step]:
        return lambda n: one("", call("bash", command=cmd), result, err=True, secs=rs(r, 5, 20))

    if cmd:
        makers = [edit(left, right), test(other[v]), edit(right, left), test(out[v])]
    else:
        makers = [edit(left, right), edit(right, left)]
    loop = cycle(makers, r.randint(5, 8) if cmd else r.randint(7, 12))
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=len(makers))


def ld_ask_again(r: random.Random, v: int) -> Draft:
    """Dev: asking the person the same question though it was answered."""
    sc = [
        ("Rename the package.", "code", "What {should|shall} the new package name be?", "bookkeeper"),
        ("Deploy the images chart.", "ops", "Which {cluster|environment} should I deploy to?", "staging-eu"),
        ("Book the dry room.", "web", "{For which|On which} date {do you want|would you like} the dry room?", "June 3"),
        ("Add a license file.", "code", "Which license {do you want|would you like} to use?", "MIT"),
    ]
    task, kind, question, answer = sc[v]
    lead = ld_lead(r, kind)
    loop: list[Step] = []
    words = ["{a}", "{a}.", "As I said: {a}", "{a}!", "I told you, {a}.", "{a}, please go on.", "again: {a}"]
    for n in range(r.randint(11, 16)):
        q = spin(r, question)
        a = words[min(n, 6)].format(a=answer)
        if v % 2 == 0:
            c = call("ask_followup_question", question=q)
            loop.append(one("", c, f"<answer>{a}</answer>", secs=rs(r, 8, 40)))
        else:
            loop.append(say(spin(r, "{Before I go on: |One question: |}") + q, user=a, secs=rs(r, 8, 40)))
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_rerun(r: random.Random, v: int) -> Draft:
    """Dev: running the same failing command with no edit in between."""
    sc = [
        ("make test", "FAILED tests/test_conf.py::test_reload - AssertionError\n1 failed, 41 passed in {s}s"),
        ("npm run build", "src/nav.tsx(14,3): error TS2741: Property 'href' is missing.\nDone in {s}s"),
        ("terraform apply -auto-approve", "Error: creating bucket: BucketAlreadyExists\n\nafter {s}s elapsed"),
        ("cargo build", "error[E0502]: cannot borrow `*self` as mutable\n  --> src/ring.rs:88:9\nin {s}s"),
    ]
    cmd, out = sc[v]
    task = ["Fix the reload test.", "Make the build work.", "Create the log bucket.", "Fix the borrow error."][v]
    lead = ld_lead(r, "ops" if v == 2 else "code")
    loop: list[Step] = []
    for _ in range(r.randint(11, 20)):
        s = rs(r, 3, 8) if v != 2 else rs(r, 38, 55)
        text = spin(r, "{Let me run it again.||Running it once more to see.||It should work now.}")
        loop.append(one(text, call("bash", command=cmd), out.format(s=s), err=True, secs=s + 3))
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def ld_malformed(r: random.Random, v: int) -> Draft:
    """Dev: the same malformed call, never corrected."""
    lead = ld_lead(r, ("code", "code", "web", "ops")[v])
    loop: list[Step] = []
    for n in range(r.randint(11, 20)):
        if v == 0:
            task = "Write the changelog."
            err = "Error: write_to_file: missing value for required parameter 'content'."
            loop.append(one(maybe(r, "Writing the file."), call("write_to_file", path="CHANGELOG.md"), err, err=True))
        elif v == 1:
            task = "Patch src/app.py to log the path."
            c = call("apply_patch", patch="*** Begin\n@@ src/app.py\n+log(path)\n*** End")
            err = "Invalid patch: the first line must be '*** Begin Patch'"
            loop.append(one("", c, err, err=True, secs=rs(r, 3, 7)))
        elif v == 2:
            task = "Save the three findings as a note."
            c = call("save_note", text=["a", "b", "c"], tags="x" if n % 2 else "")
            err = f"ValidationError (id {hx(r, 6)}): text: expected string, got list"
            loop.append(one("", c, err, err=True, secs=rs(r, 2, 5)))
        else:
            task = "Show me the logs of the images pod."
            text = '<tool_call>{"name": "bash", "arguments": {"command": "kubectl -n web logs images-1"</tool_call>'
            push = "Your tool call could not be parsed: JSON is not closed. Send it again."
            loop.append(say(text, user=push, secs=rs(r, 2, 5)))
    return Draft(system=CODER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


# ---------------------------------------------------------------------------------------- honest, held

ENGINEER = "You're Forge, an autonomous software engineer. Think briefly, act with tools, and verify your work."
SRE = "Role: site reliability copilot. Read-only unless the user asks for a change. Report facts."
SCIENTIST = "You assist a research group. Use the tools for every number; cite what you used."
GUI = "You control a remote Windows desktop. Actions are carried out one at a time; each returns what is seen."
CLERK = "You are the virtual clerk of the Harborview public library. Answer patrons in plain English."


def hh_many_files(r: random.Random, v: int) -> Draft:
    """Held: one tool over many files with opaque names."""
    out: list[Step] = []
    if v == 0:
        task = "We have blobs named by SHA-1 in the object store. Which ones are not PNG?"
        blobs = [hx(r, 40) for _ in range(22)]
        out.append(
            one("", call("Bash", command="find store -type f"), "\n".join(f"store/{b[:2]}/{b[2:]}" for b in blobs))
        )
        for k, b in enumerate(blobs):
            kind = "gzip compressed data" if k in (9, 17) else "PNG image data, 64 x 64, 8-bit/color RGBA"
            path = f"store/{b[:2]}/{b[2:]}"
            out.append(one("", call("Bash", command=f"file -b {path}"), kind, secs=rs(r, 0.8, 2.5)))
        out.append(say("Two blobs are gzip instead of PNG: numbers 10 and 18 of the listing."))
    elif v == 1:
        task = "Transcribe the interviews. They're in recordings/, named by the recorder."
        for k in range(12):
            name = f"REC_{20240900 + r.randint(1, 30)}_{r.randint(100000, 235959)}.wav"
            words = " ".join(
                r.choice(["well", "the", "harbor", "we", "built", "boats", "then", "my"]) for _ in range(20)
            )
            args = call("transcribe_audio", file=f"recordings/{name}", language="en")
            out.append(one(f"Interview {k + 1} of 12." if k % 3 == 0 else "", args, words, secs=rs(r, 8, 20)))
        out.append(one("", call("save_document", name="interviews.md", text="# Interviews\n..."), "saved"))
        out.append(say("All twelve are transcribed into interviews.md."))
    elif v == 2:
        task = "Validate every experiment config against the schema."
        for k in range(26):
            c = call("validate_yaml", schema="exp.schema.json", file=f"runs/{uid(r)}/config.yaml")
            ok = k not in (6, 20)
            msg = "valid" if ok else "invalid: 'lr' is a required property"
            out.append(one("", c, msg, err=not ok, secs=rs(r, 0.6, 1.6)))
        out.append(say("24 configs are valid; two lack `lr`."))
    else:
        task = "Delete the leftover scratch files of the renderer, but look at each one before you do."
        for _ in range(13):
            f = f"/scratch/render.{alnum(r, 6)}.{r.randint(1000, 99999)}.tmp"
            out.append(
                one("", call("stat_file", path=f), js(size=r.choice([0, 0, 4096]), mtime=clock(r.randint(0, 86399))))
            )
            out.append(one("", call("delete_file", path=f), "deleted", secs=rs(r, 0.5, 2)))
        out.append(say("13 scratch files looked at and deleted."))
    return Draft(system=ENGINEER if v in (0, 3) else SCIENTIST, task=task, steps=out)


def hh_row_ids(r: random.Random, v: int) -> Draft:
    """Held: one tool over numeric ids and URLs with ids in them."""
    out: list[Step] = []
    if v == 0:
        task = "Patrons asked whether these items can be renewed. Check each barcode."
        for _ in range(17):
            code = 31000000000000 + r.randint(1, 10**9)
            state = r.choice(["renewable", "renewable", "on hold for another patron"])
            out.append(one("", call("catalog_lookup", barcode=str(code)), state, secs=rs(r, 1, 2.5)))
        out.append(say("I've checked all 17 barcodes. Those on hold can't be renewed."))
    elif v == 1:
        task = "Pull the abstract for each PubMed id in the list and flag the ones about corals."
        ids = [r.randint(30_000_000, 38_999_999) for _ in range(15)]
        out.append(one("", call("read_file", path="pmids.txt"), "\n".join(str(i) for i in ids)))
        for i in ids:
            topic = r.choice(["coral bleaching", "kelp growth", "gut flora", "sediment cores", "coral symbionts"])
            text = f"PMID {i}. Abstract: we studied {topic} in {r.randint(4, 90)} samples over {r.randint(1, 9)} years."
            url = f"https://eutils.example/efetch?db=pubmed&id={i}&rettype=abstract"
            flag = "Coral paper." if "coral" in topic else ""
            out.append(one("", call("fetch", url=url), text, secs=rs(r, 1, 4)))
            if flag:
                out.append(one(flag, call("tag", pmid=i, label="coral"), "tagged", secs=1.0))
        out.append(say("The coral papers are tagged."))
    elif v == 2:
        task = "Somebody set is_active to false for rows 5550..5569 of accounts by accident. Set it back, one by one."
        for i in range(5550, 5570):
            q = f"UPDATE accounts SET is_active = true WHERE id = {i};"
            out.append(one("", call("run_sql", database="crm", sql=q), "UPDATE 1", secs=rs(r, 0.5, 1.5)))
        q = "SELECT count(*) FROM accounts WHERE id BETWEEN 5550 AND 5569 AND is_active;"
        out.append(one("", call("run_sql", database="crm", sql=q), "20"))
        out.append(say("All 20 accounts are active again."))
    else:
        task = "Open each incident page and write down its root cause."
        for i in r.sample(range(2000, 2999), 12):
            cause = r.choice(["expired certificate", "full disk", "bad config push", "retry storm", "unknown"])
            page = f"INC-{i}\nSeverity {r.randint(1, 4)}\nRoot cause: {cause}\nDuration {r.randint(4, 300)} min"
            out.append(
                one("", call("puppeteer_navigate", url=f"https://inc.example/incidents/{i}"), page, secs=rs(r, 2, 6))
            )
        out.append(say("Expired certificates and full disks lead the list; details above."))
    return Draft(system=(CLERK, SCIENTIST, SRE, SRE)[v], task=task, steps=out)


def hh_offsets(r: random.Random, v: int) -> Draft:
    """Held: reading on with growing offsets."""
    out: list[Step] = []
    if v == 0:
        task = "Dump the firmware image and look for the string table."
        for k in range(20):
            off = k * 0x1000
            row = "ff " * 16 if k < 15 else " ".join(hx(r, 2) for _ in range(16))
            cmd = f"xxd -s {off:#x} -l 16 -p firmware.bin"
            out.append(one("", call("Bash", command=cmd), row.strip(), secs=rs(r, 0.7, 2)))
        out.append(say("Everything below 0xf000 is erased flash; data starts at 0xf000."))
    elif v == 1:
        task = "Read the novel manuscript and tell me whether the timeline is consistent."
        for k in range(18):
            line = (
                f"Chapter {k + 1}. It was "
                f"{r.choice(['spring', 'May', 'the next day', 'a week later'])}. {alnum(r, 9)} ..."
            )
            c = call("view", path="manuscript.txt", view_range=[k * 400 + 1, (k + 1) * 400])
            out.append(one(maybe(r, "On to the next part."), c, line, secs=rs(r, 3, 9)))
        out.append(say("The timeline holds, except that chapter 9 has two Mondays in a row."))
    elif v == 2:
        task = "Find the first event after the cutover in the event store (stream orders)."
        start = 0
        for k in range(13):
            start += 1000
            res = js(from_=start, count=1000, first=f"2025-01-{k + 1:02d}", after_cutover=k == 12)
            out.append(one("", call("read_stream", stream="orders", start=start, count=1000), res, secs=rs(r, 1, 3)))
        out.append(say("The first event after the cutover lies in the block from 13000."))
    else:
        task = "Check the whole spreadsheet 'Inventory' for negative stock, 40 rows at a time."
        for k in range(24):
            a = k * 40 + 2
            res = "no negative values" if k != 21 else f"C{a + 7} = -4"
            out.append(one("", call("check_range", sheet="Inventory", range=f"C{a}:C{a + 39}"), res, secs=rs(r, 1, 2)))
        out.append(say("One cell is negative: C849 is -4."))
    return Draft(system=(ENGINEER, CLERK, SRE, SCIENTIST)[v], task=task, steps=out)


def hh_paginated(r: random.Random, v: int) -> Draft:
    """Held: paging through an API."""
    out: list[Step] = []
    if v == 0:
        task = "Collect every comment on the zoning proposal."
        token = "start"
        for _ in range(13):
            nxt = hx(r, 24)
            res = js(comments=[f"{r.choice(['For', 'Against', 'Unsure'])}: {alnum(r, 9)}" for _ in range(5)], next=nxt)
            out.append(one("", call("list_comments", proposal="Z-19", page_token=token), res, secs=rs(r, 1, 3)))
            token = nxt
        out.append(one("", call("list_comments", proposal="Z-19", page_token=token), js(comments=[], next=None)))
        out.append(say("65 comments. They lean against."))
    elif v == 1:
        task = "How many container images in the registry are older than a year?"
        for k in range(1, 19):
            res = "\n".join(f"img-{alnum(r, 5)}  {r.randint(2021, 2025)}-0{r.randint(1, 9)}" for _ in range(4))
            cmd = f"skopeo-list --page {k} registry.example/team | column -t"
            out.append(one("", call("shell", cmd=cmd, cwd="/"), res, secs=rs(r, 1, 4)))
        out.append(say("I count by year above; a little over half are older than a year."))
    elif v == 2:
        task = "Read the whole guestbook (it's paged with an 'older' link) and look for my grandfather, Emil Brandt."
        for k in range(22):
            body = "; ".join(
                f"{alnum(r, 6).title()}: {r.choice(['Lovely stay', 'Thank you', 'Great view'])}" for _ in range(3)
            )
            body += "; Emil Brandt: See you next summer" if k == 21 else ""
            out.append(one("", call("browser_click", ref="a.older"), f"{2004 - k}: {body}", secs=rs(r, 1, 4)))
        out.append(say("Found him in 1983: 'Emil Brandt: See you next summer'."))
    else:
        task = "Sync all members of the mailing list into the audience table."
        for k in range(12):
            page = js(offset=k * 100, members=100 if k < 11 else 37)
            out.append(
                one("", call("mail_api", path="/lists/7/members", query=f"offset={k * 100}&count=100"), page, secs=2.0)
            )
            n = 100 if k < 11 else 37
            out.append(
                one("", call("db_upsert", table="audience", rows=f"@page{k}"), f"{n} rows upserted", secs=rs(r, 1, 2))
            )
        out.append(say("1137 members synced."))
    return Draft(system=(CLERK, SRE, CLERK, SCIENTIST)[v], task=task, steps=out)


def hh_queue(r: random.Random, v: int) -> Draft:
    """Held: popping a queue until it is empty."""
    out: list[Step] = []
    if v == 0:
        task = "Answer the patrons' mails in the inbox until it's empty."
        topics = ["opening hours", "lost card", "late fee", "room booking", "e-book loan", "printer"]
        for _ in range(11):
            who = alnum(r, 6).title()
            out.append(one("", call("inbox_next"), f"From: {who}\nSubject: {r.choice(topics)}", secs=rs(r, 1, 3)))
            body = f"Dear {who},\nthank you for your message. Please find the details on our help page."
            out.append(one("", call("inbox_reply", to=who, body=body), "sent", secs=rs(r, 3, 7)))
        out.append(one("", call("inbox_next"), "Inbox is empty."))
        out.append(say("The inbox is empty, 11 mails answered."))
    elif v == 1:
        task = "Take crawl jobs from the frontier and fetch them until there is nothing left."
        for _ in range(14):
            url = f"https://site{r.randint(1, 9)}.example/{alnum(r, 8)}"
            out.append(one("", call("dequeue", queue="frontier"), url, secs=rs(r, 0.5, 1.5)))
            out.append(one("", call("fetch", url=url), f"200, {r.randint(900, 90000)} bytes", secs=rs(r, 1, 3)))
        for _ in range(2):
            out.append(one("", call("dequeue", queue="frontier"), "EMPTY", secs=5.0))
        out.append(say("The frontier is drained."))
    elif v == 2:
        task = "Grade the next submission until none are left. Use grade()."
        for _ in range(13):
            sid = r.randint(100, 999)
            out.append(one("", call("next_submission", course="bio-101"), js(id=sid, words=r.randint(200, 900))))
            out.append(
                one(
                    maybe(r, "Solid work."),
                    call("grade", id=sid, points=r.randint(5, 10)),
                    "recorded",
                    secs=rs(r, 4, 12),
                )
            )
        out.append(one("", call("next_submission", course="bio-101"), "null"))
        out.append(say("All 13 submissions are graded."))
    else:
        task = "Flush the print spooler: print what's there, in order."
        left = 19
        while left:
            left -= 1
            res = f"printed job {r.randint(4000, 4999)}, {left} left"
            out.append(one("", call("shell", cmd="spool --print-next"), res, secs=rs(r, 3, 8)))
        out.append(one("", call("shell", cmd="spool --print-next"), "spool: nothing to print", err=True))
        out.append(say("The spooler is empty."))
    return Draft(system=(CLERK, SCIENTIST, SCIENTIST, SRE)[v], task=task, steps=out)


def hh_poll_changes(r: random.Random, v: int) -> Draft:
    """Held: polling where the state changes slowly."""
    out: list[Step] = []
    if v == 0:
        task = "Drain node w-12 and tell me when it is empty."
        out.append(one("", call("kubectl", args="drain w-12 --ignore-daemonsets --timeout=0"), "node/w-12 cordoned"))
        pods = 21
        while pods > 0 and len(out) < 26:
            pods -= r.choice([0, 1, 1, 2, 3])
            pods = max(0, pods)
            out.append(
                one(
                    "",
                    call("kubectl", args="get pods -A --field-selector spec.nodeName=w-12 | wc -l"),
                    str(pods),
                    secs=35.0,
                )
            )
        out.append(say(f"w-12 has {pods} pods left."))
    elif v == 1:
        task = "Transcode lecture.mov and give me the link."
        out.append(one("", call("transcode_start", source="lecture.mov"), js(job="tj-20", status="QUEUED")))
        phases = ["QUEUED"] * 3 + ["ANALYZING"] * 4 + ["ENCODING_480"] * 3 + ["ENCODING_1080"] * 5 + ["DONE"]
        for p in phases:
            out.append(
                one(
                    maybe(r, "Checking on the job."),
                    call("transcode_status", job="tj-20"),
                    js(job="tj-20", status=p),
                    secs=rs(r, 30, 50),
                )
            )
        out.append(say("Here it is: https://media.example/tj-20/lecture.m3u8"))
    elif v == 2:
        task = "Rebalance the Ceph pool and keep an eye on it; report when HEALTH_OK."
        mis = 14.2
        while mis > 0 and len(out) < 28:
            line = f"HEALTH_WARN {mis:.1f}% objects misplaced"
            out.append(one("", call("shell", cmd="ceph -s | grep HEALTH"), line, secs=rs(r, 90, 140)))
            mis = max(0.0, mis - r.choice([0.0, 0.4, 0.8, 1.3]))
        out.append(one("", call("shell", cmd="ceph -s | grep HEALTH"), "HEALTH_OK"))
        out.append(say("The cluster is HEALTH_OK."))
    else:
        task = "Follow the parcel 7K-3391 and tell me when it is out for delivery."
        stations = ["Order received"] * 4 + ["In transit, Lisbon"] * 5 + ["In transit, Lyon"] * 4 + ["Out for delivery"]
        for s in stations:
            out.append(one("", call("track_parcel", number="7K-3391"), s, secs=rs(r, 1800, 3600)))
        out.append(say("It is out for delivery."))
    return Draft(system=(SRE, SCIENTIST, SRE, CLERK)[v], task=task, steps=out)


def hh_poll_static(r: random.Random, v: int) -> Draft:
    """Held: polling where the state stays the same for many polls and time passes."""
    out: list[Step] = []
    if v == 0:
        task = "Submit the app for review and ping me when the state moves."
        for k in range(25):
            c = call("store_review_state", app="harborview-ios")
            text = "Still in review." if k % 6 == 5 else ""
            out.append(one(text, c, js(app="harborview-ios", state="IN_REVIEW"), secs=600.0))
        out.append(
            one("", call("store_review_state", app="harborview-ios"), js(app="harborview-ios", state="APPROVED"))
        )
        out.append(say("The review is through: APPROVED."))
    elif v == 1:
        task = "Wait for pod trainer-0 to be scheduled."
        for k in range(18):
            line = (
                f"NAME        READY   STATUS    RESTARTS   AGE\ntrainer-0   0/1     Pending   0          {k * 40 + 9}s"
            )
            out.append(one("", call("kubectl", args="get pod trainer-0"), line, secs=40.0))
        out.append(
            one("", call("kubectl", args="get pod trainer-0"), line.replace("0/1     Pending", "1/1     Running"))
        )
        out.append(say("trainer-0 is running."))
    elif v == 2:
        task = "The quantum backend has a queue. Fetch my result as soon as job qj-88 is finished."
        for _ in range(21):
            out.append(one("", call("get_job", job_id="qj-88"), "status: queued", secs=rs(r, 55, 95)))
        out.append(one("", call("get_job", job_id="qj-88"), "status: finished"))
        out.append(one("", call("get_result", job_id="qj-88"), js(counts={"00": 503, "11": 497})))
        out.append(say("Counts: 00 503 times, 11 497 times; the Bell state looks right."))
    else:
        task = "Keep checking the Jenkins build #2207 and paste the result."
        url = "https://ci.example/job/firmware/2207/api/json?tree=building,result"
        for _ in range(15):
            out.append(
                one(
                    maybe(r, "Build #2207 is still running. I'll check again in a bit."),
                    call("fetch", url=url),
                    '{"building":true,"result":null}',
                    secs=rs(r, 30, 45),
                )
            )
        out.append(one("", call("fetch", url=url), '{"building":false,"result":"SUCCESS"}'))
        out.append(say("Build #2207: SUCCESS."))
    return Draft(system=(ENGINEER, SRE, SCIENTIST, SRE)[v], task=task, steps=out)


def hh_sleep(r: random.Random, v: int) -> Draft:
    """Held: sleeping and waiting."""
    out: list[Step] = []
    if v == 0:
        task = "Incubation: photograph the plate every 10 minutes for two hours."
        for k in range(12):
            out.append(one("", call("sleep", minutes=10), "done", secs=600.0))
            out.append(
                one("", call("capture", camera="plate-2"), f"img_{k:03d}.tif, {r.randint(10, 400)} colonies", secs=4.0)
            )
        out.append(say("12 pictures taken."))
    elif v == 1:
        task = "Stop sending for half an hour, the mail provider throttles us. Then send the rest."
        for k in range(10):
            out.append(
                one(
                    "" if k else "Waiting half an hour in small pieces.", call("shell", cmd="sleep 180"), "", secs=181.0
                )
            )
        out.append(one("", call("shell", cmd="./send-rest.sh"), "sent 412 of 412"))
        out.append(say("All 412 mails are out."))
    elif v == 2:
        task = "Wait until the remote desktop shows the login screen after the update, then log in."
        for _ in range(16):
            out.append(
                one("", call("computer", action="wait", duration=30), "Working on updates, don't turn off", secs=30.5)
            )
        out.append(one("", call("computer", action="wait", duration=30), "Login screen", secs=30.5))
        out.append(one("There it is.", call("computer", action="type", text="svc-harbor"), "typed"))
    else:
        task = "Watch the tide gauge and warn me above 2.0 m. Check every minute."
        level = 1.2
        for _ in range(14):
            out.append(one("", call("pause", seconds=60), "ok", secs=60.0))
            level += r.uniform(0.0, 0.06)
            out.append(one("", call("gauge", station="pier 4"), f"{level:.2f} m", secs=1.0))
        out.append(say("No warning needed so far: the level stayed below 2.0 m."))
    return Draft(system=(SCIENTIST, SRE, GUI, SCIENTIST)[v], task=task, steps=out)


def hh_keys(r: random.Random, v: int) -> Draft:
    """Held: pressing the same key or scrolling many times."""
    out: list[Step] = []
    if v == 0:
        task = "Read the license text in the dialog to its end (Page Down), then accept."
        parts = ["grant", "limits", "fees", "data", "warranty", "liability", "term", "law", "venue", "misc", "contact"]
        for k, p in enumerate(parts):
            c = call("computer", action="key", text="Page_Down")
            out.append(one("", c, f"Section {k + 2}: {p}. {alnum(r, 10)} {alnum(r, 6)}", secs=rs(r, 1.5, 4)))
        out.append(one("End of the text.", call("computer", action="left_click", coordinate=[512, 640]), "Accepted"))
        out.append(say("I read it to the end and accepted."))
    elif v == 1:
        task = "Turn the volume of the kiosk all the way down and mute it."
        for _ in range(13):
            out.append(one("", call("send_key", key="VolumeDown"), "key sent", secs=rs(r, 0.4, 1.2)))
        out.append(one("", call("get_screen_text"), "Volume: 0"))
        out.append(one("", call("send_key", key="Mute"), "key sent"))
        out.append(one("", call("get_screen_text"), "Muted"))
        out.append(say("Volume is at 0 and muted."))
    elif v == 2:
        task = "Find the post about the lost scarf in the neighborhood feed."
        for k in range(20):
            feed = "; ".join(
                (f"{alnum(r, 5).title()}: {r.choice(['bike for sale', 'cat photo', 'street party', 'parking'])}")
                for _ in range(2)
            )
            feed += "; Ines: lost a red scarf near the pier" if k == 19 else ""
            out.append(one("", call("scroll", x=400, y=300, dy=600), feed, secs=rs(r, 1, 3)))
        out.append(say("Ines lost a red scarf near the pier; that is the post."))
    else:
        task = "Grind the slimes in the meadow until level 5, then go to the inn."
        xp = 0
        while xp < 260:
            xp += r.randint(11, 16)
            res = f"You attack. Slime defeated. XP {xp}/260"
            out.append(one("", call("press", button="A"), res, secs=rs(r, 1, 2)))
        out.append(one("Level 5. Heading to the inn.", call("goto", place="inn"), "You are at the inn. Level 5"))
    return Draft(system=GUI, task=task, steps=out)


def hh_time(r: random.Random, v: int) -> Draft:
    """Held: asking the time again and again."""
    out: list[Step] = []
    t = 13 * 3600 + r.randint(0, 1800) * 1.0
    if v == 0:
        task = "Host our trivia night: start a round every 3 minutes by the clock."
        for k in range(9):
            out.append(one("", call("now"), f"{clock(t)} UTC", secs=1.0))
            q = f"Question {k + 1}: {r.choice(['Which river', 'Which year', 'Who', 'How many'])} {alnum(r, 6)}?"
            out.append(one("", call("post_message", channel="trivia", text=q), "posted", secs=179.0))
            t += 180
        out.append(say("Nine rounds are done."))
    elif v == 1:
        task = "Tell me how late it is whenever I ask."
        asks = ["what time is it", "and now?", "time?", "time please", "what's the time", "now?"]
        for _ in range(9):
            out.append(one("", call("get_current_time", timezone="America/Halifax"), js(time=clock(t)[:5]), secs=1.0))
            out.append(say(f"It's {clock(t)[:5]}.", user=r.choice(asks), secs=rs(r, 120, 900)))
            t += 480
        out.append(one("", call("get_current_time", timezone="America/Halifax"), js(time=clock(t)[:5])))
        out.append(say(f"It's {clock(t)[:5]}."))
    elif v == 2:
        task = "Note start and end of each of the next ten bus arrivals from the camera."
        for _ in range(10):
            out.append(
                one("", call("camera_wait_event", camera="stop-3"), f"bus line {r.randint(1, 9)}", secs=rs(r, 40, 200))
            )
            t += 120
            out.append(one("", call("shell", cmd="date -Is"), f"2025-05-06T{clock(t)}-03:00", secs=1.0))
        out.append(say("Ten arrivals are noted."))
    else:
        task = "Sell the test stock at the market's close (16:00). Watch the clock."
        t = 16 * 3600 - 12 * 40.0
        for k in range(13):
            out.append(one("" if k else "Waiting for the close.", call("clock"), clock(t), secs=40.0))
            t += 40
        out.append(one("", call("place_order", side="sell", symbol="TEST", qty=10), "filled at 41.02"))
        out.append(say("Sold at 41.02."))
    return Draft(system=(CLERK, CLERK, SCIENTIST, SRE)[v], task=task, steps=out)


def hh_terminal(r: random.Random, v: int) -> Draft:
    """Held: waiting for the output of a long running terminal."""
    out: list[Step] = []
    if v == 0:
        task = "Run the molecular dynamics simulation and tell me its final energy."
        out.append(one("", call("code_execution", runtime="terminal", code="gmx mdrun -deffnm npt"), "starting mdrun"))
        stepno = 0
        for k in range(15):
            stepno += r.randint(3000, 5200)
            line = f"step {stepno}, remaining wall clock time: {900 - k * 58} s"
            out.append(one("", call("code_execution", runtime="output", code=""), line, secs=rs(r, 55, 60)))
        out.append(one("", call("code_execution", runtime="output", code=""), "Potential Energy = -4.51e+05 kJ/mol"))
        out.append(say("The final potential energy is -4.51e+05 kJ/mol."))
    elif v == 1:
        task = "Compile LLVM in the tmux session and come back when it's done."
        out.append(one("", call("tmux_send", session="build", keys="ninja -C out\n"), "sent"))
        for k in range(1, 23):
            pane = f"[{k * 131}/2904] Building CXX object lib/{alnum(r, 8)}.cpp.o"
            out.append(one("", call("tmux_capture", session="build", lines=1), pane, secs=rs(r, 20, 30)))
        out.append(
            one("", call("tmux_capture", session="build", lines=1), "[2904/2904] Linking CXX executable bin/clang")
        )
        out.append(say("clang is linked."))
    elif v == 2:
        task = "Back up the NAS with restic and wait."
        out.append(one("", call("run_async", command="restic backup /nas"), "job 3 started"))
        for k in range(13):
            text = ["", "Job 3 is still running, no output yet.", ""][k % 3]
            out.append(one(text, call("job_output", job=3), "(no output)", secs=rs(r, 60, 90)))
        out.append(one("", call("job_output", job=3), "snapshot 51ad3c saved"))
        out.append(say("Snapshot 51ad3c is saved."))
    else:
        task = "Start the interactive installer and answer its prompts with the defaults."
        out.append(one("", call("code_execution", runtime="terminal", code="sh install.sh"), "Install to /opt? [Y/n]"))
        prompts = ["Create user? [Y/n]", "Add to PATH? [Y/n]", "Enable service? [Y/n]", "Open port 8443? [Y/n]"]
        prompts += ["Send statistics? [y/N]", "Install docs? [Y/n]", "Run self test? [Y/n]", "Self test passed. Bye."]
        for p in prompts:
            out.append(one("", call("code_execution", runtime="input", keyboard="\n"), p, secs=rs(r, 1, 4)))
        out.append(say("Installed with the defaults."))
    return Draft(system=(SCIENTIST, ENGINEER, SRE, ENGINEER)[v], task=task, steps=out)


def hh_test_fix(r: random.Random, v: int) -> Draft:
    """Held: the same test command after each edit, with changing failures."""
    out: list[Step] = []
    if v == 0:
        task = "TDD the roman numeral converter. Run go test after every change."
        cases = [4, 9, 14, 40, 49, 90, 99, 400, 444, 900, 1999]
        for k, n in enumerate(cases):
            fail = f"--- FAIL: TestRoman/{n}\n    roman_test.go:{20 + k}: got {alnum(r, 4).upper()}"
            out.append(one("", call("Bash", command="go test ./roman"), fail, err=True, secs=rs(r, 3, 6)))
            rule = call(
                "Edit", file_path="roman/roman.go", old_string="// next", new_string=f"case {n}: // ...\n// next"
            )
            out.append(one(f"Handling {n}.", rule, "ok", secs=rs(r, 4, 9)))
        out.append(one("", call("Bash", command="go test ./roman"), "ok  \troman\t0.004s"))
        out.append(say("All cases pass."))
    elif v == 1:
        task = "The flake in test_scheduler must go. Try fixes until the stress run is clean."
        fails = [7, 7, 5, 5, 4, 6, 2, 2, 1, 0]
        ideas = ["join the thread", "use a monotonic clock", "lock the heap", "copy before iterating", "drop the sleep"]
        for k, f in enumerate(fails):
            summary = f"200 runs, {f} failures" + (f", first at run {r.randint(3, 190)}" if f else "")
            c = call("run_tests", target="tests/test_scheduler.py", repeat=200)
            out.append(one("", c, summary, err=f > 0, secs=rs(r, 40, 80)))
            if f:
                body = (
                    f"--- a/sched.py\n+++ b/sched.py\n@@ -{40 + k},2 +{40 + k},3 @@\n+    # "
                    f"{ideas[k % 5]}\n+    {alnum(r, 9)}()"
                )
                out.append(one(f"Idea: {ideas[k % 5]}.", call("apply_diff", diff=body), "applied", secs=rs(r, 8, 15)))
        out.append(say("200 runs without a failure."))
    elif v == 2:
        task = "Make the accessibility checks of the checkout page pass."
        rules = [
            "color-contrast",
            "label",
            "button-name",
            "image-alt",
            "heading-order",
            "link-name",
            "tabindex",
            "region",
        ]
        left = list(rules)
        while left:
            rep = f"{len(left)} violations: " + ", ".join(left)
            out.append(one("", call("shell", cmd="npx axe http://localhost:3000/checkout"), rep, err=True, secs=9.0))
            name = left.pop(r.randrange(len(left)))
            c = call("str_replace", path=f"web/{name}.vue", old=f"<{alnum(r, 5)}>", new=f"<{alnum(r, 5)} aria>")
            out.append(one(maybe(r, f"{name} first."), c, "replaced", secs=rs(r, 4, 10)))
        out.append(one("", call("shell", cmd="npx axe http://localhost:3000/checkout"), "0 violations"))
        out.append(say("No violations are left."))
    else:
        task = "The SQL report is wrong. Fix report.sql until check_report passes."
        for _ in range(9):
            diff = f"row {r.randint(1, 40)}: total {r.randint(900, 4000)} != {r.randint(900, 4000)}"
            out.append(one("", call("check_report"), diff, err=True, secs=rs(r, 2, 5)))
            sql = f"SELECT region, sum(net_{alnum(r, 4)}) FROM sales JOIN fx USING ({alnum(r, 3)}) GROUP BY 1"
            out.append(one("", call("write_file", path="report.sql", content=sql), "written", secs=rs(r, 5, 12)))
        out.append(one("", call("check_report"), "report ok"))
        out.append(say("check_report passes."))
    return Draft(system=ENGINEER, task=task, steps=out)


def hh_edit_compile(r: random.Random, v: int) -> Draft:
    """Held: edit and compile, two tools in strict alternation."""
    out: list[Step] = []
    if v == 0:
        task = "Bring the Fortran code up to the 2018 standard; compile after each change."
        for k in range(12):
            sub = f"calc_{alnum(r, 4)}"
            edit = call("sed_edit", file="heat.f90", expression=f"s/CALL {sub}/call {sub}_v2/")
            out.append(one("", edit, f"{r.randint(1, 4)} lines changed", secs=rs(r, 2, 6)))
            warn = f"heat.f90:{r.randint(1, 999)}: Warning: obsolescent feature ({12 - k - 1} left)"
            out.append(one("", call("shell", cmd="gfortran -std=f2018 -c heat.f90"), warn, secs=rs(r, 2, 5)))
        out.append(say("No warnings left."))
    elif v == 1:
        task = "Tune the OpenSCAD bracket until it slices without overhang warnings."
        deg = 70
        for k in range(11):
            deg -= r.randint(1, 4)
            out.append(one("", call("set_parameter", model="bracket.scad", name="angle", value=deg), "ok", secs=2.0))
            n = max(0, 10 - k)
            out.append(
                one("", call("slice", model="bracket.scad"), f"{n} overhang warnings", err=n > 0, secs=rs(r, 8, 14))
            )
        out.append(say(f"With an angle of {deg} degrees there are no warnings."))
    elif v == 2:
        task = "Fix the clippy lints one by one."
        lints = [
            "needless_return",
            "redundant_clone",
            "len_zero",
            "single_match",
            "manual_map",
            "useless_vec",
            "ptr_arg",
        ]
        lints += ["let_and_return", "or_fun_call"]
        for k, lint in enumerate(lints):
            msg = f"warning: {lint}\n  --> src/{alnum(r, 5)}.rs:{r.randint(1, 400)}\n{len(lints) - k} warnings"
            out.append(one("", call("Bash", command="cargo clippy -q"), msg, secs=rs(r, 4, 9)))
            c = call("Edit", file_path="src/main.rs", old_string=alnum(r, 10), new_string=alnum(r, 8))
            out.append(one(f"{lint}.", c, "The file has been updated.", secs=rs(r, 3, 7)))
        out.append(one("", call("Bash", command="cargo clippy -q"), ""))
        out.append(say("clippy is silent."))
    else:
        task = "Get the Solidity contract under the size limit."
        size = 27100
        for _ in range(10):
            out.append(
                one(
                    "",
                    call("shell", cmd="forge build --sizes | grep Vault"),
                    f"Vault | {size} B | limit 24576",
                    secs=6.0,
                )
            )
            size -= r.randint(260, 400)
            c = call(
                "apply_patch", input=f"*** Begin Patch\n*** Update File: Vault.sol\n-  {alnum(r, 9)}\n*** End Patch"
            )
            out.append(one(maybe(r, "Moving a string to an error."), c, "Done!", secs=rs(r, 5, 11)))
        out.append(one("", call("shell", cmd="forge build --sizes | grep Vault"), f"Vault | {size} B | limit 24576"))
        out.append(say(f"{size} bytes, under the limit."))
    return Draft(system=ENGINEER, task=task, steps=out)


def hh_write_similar(r: random.Random, v: int) -> Draft:
    """Held: many similar small files."""
    out: list[Step] = []
    if v == 0:
        task = "Write an OpenAPI path file for each resource."
        res = [
            "books",
            "patrons",
            "loans",
            "holds",
            "fines",
            "rooms",
            "events",
            "branches",
            "authors",
            "genres",
            "media",
        ]
        for name in res:
            body = f"get:\n  summary: List {name}\n  responses:\n    '200':\n      description: ok\n"
            out.append(
                one(
                    "",
                    call("Write", file_path=f"api/paths/{name}.yaml", content=body),
                    "File created",
                    secs=rs(r, 2, 5),
                )
            )
        out.append(one("", call("Bash", command="npx redocly lint api/openapi.yaml"), "Your API is valid."))
        out.append(say("Eleven path files, lint is clean."))
    elif v == 1:
        task = "Make a unit card (markdown) for each of the chess openings in the list."
        names = ["Italian", "Spanish", "Scotch", "French", "Caro-Kann", "Pirc", "Dutch", "Grunfeld", "Benoni", "Reti"]
        names += ["English", "Catalan", "London", "Vienna", "Alekhine"]
        for n in names:
            body = f"# {n}\n\nMoves: 1. {r.choice(['e4', 'd4', 'c4', 'Nf3'])} ...\nIdea: {alnum(r, 8)}\n"
            out.append(one(maybe(r, f"{n}."), call("create", path=f"cards/{n.lower()}.md", file_text=body), "created"))
        out.append(say("15 cards written."))
    elif v == 2:
        task = "Add a .gitkeep to every year folder of the archive."
        for y in range(1990, 2020):
            out.append(one("", call("shell", cmd=f"touch archive/{y}/.gitkeep"), "", secs=rs(r, 0.5, 1.2)))
        out.append(say("30 folders have a .gitkeep."))
    else:
        task = "Set up systemd units for the 14 sensor readers."
        for k in range(1, 15):
            unit = f"[Unit]\nDescription=Sensor {k}\n[Service]\nExecStart=/usr/bin/reader --port {7000 + k}\n"
            out.append(
                one("", call("write_remote", host="pi", path=f"/etc/systemd/system/sensor{k}.service", data=unit), "ok")
            )
            out.append(
                one("", call("ssh", host="pi", command=f"systemctl enable --now sensor{k}"), "", secs=rs(r, 1, 3))
            )
        out.append(say("All 14 readers are up."))
    return Draft(system=ENGINEER, task=task, steps=out)


def hh_bulk(r: random.Random, v: int) -> Draft:
    """Held: bulk inserts."""
    out: list[Step] = []
    if v == 0:
        task = "Enter the field measurements into the lab database."
        for k in range(21):
            c = call("add_measurement", site=r.choice("ABCD"), depth_m=k * 5, salinity=round(r.uniform(33, 36), 2))
            out.append(one("", c, "1 document inserted", secs=rs(r, 0.6, 1.8)))
        out.append(say("21 measurements entered."))
    elif v == 1:
        task = "Add the new arrivals to the library catalog."
        for _ in range(14):
            c = call("catalog_add", isbn=f"978{r.randint(10**9, 10**10 - 1)}", shelf=f"N{r.randint(1, 40)}")
            out.append(one("", c, js(result="created"), secs=rs(r, 1, 3)))
        out.append(say("14 books added."))
    elif v == 2:
        task = "Put the events of the season into the shared calendar."
        for k in range(16):
            day = f"2025-{6 + k // 8:02d}-{k % 8 * 3 + 1:02d}"
            title = r.choice(["Story hour", "Book club", "Film night", "Author talk"])
            out.append(
                one("", call("calendar_create_event", title=title, date=day, time="18:00"), "Event created.", secs=2.0)
            )
        out.append(say("16 events are in the calendar."))
    else:
        task = "Set cell values in the budget sheet from the list."
        for k in range(27):
            c = call("set_cell", sheet="Budget", cell=f"{'BCD'[k % 3]}{k // 3 + 2}", value=r.randint(100, 9000))
            out.append(one("", c, "ok", secs=rs(r, 0.4, 1.0)))
        out.append(one("", call("get_cell", sheet="Budget", cell="D11"), "=SUM(D2:D10)"))
        out.append(say("27 cells are filled."))
    return Draft(system=(SCIENTIST, CLERK, CLERK, SCIENTIST)[v], task=task, steps=out)


def hh_flaky(r: random.Random, v: int) -> Draft:
    """Held: retry with backoff of a flaky service that recovers."""
    out: list[Step] = []
    if v == 0:
        task = "Ask the geocoder for the 6 addresses. It answers 429 at times; honor Retry-After."
        for _ in range(6):
            addr = f"{r.randint(1, 200)} {alnum(r, 6).title()} Street"
            for _ in range(r.choice([1, 2, 3])):
                after = r.choice([5, 10, 20])
                out.append(
                    one(
                        "",
                        call("geocode", address=addr),
                        f"429 Too Many Requests, Retry-After: {after}",
                        err=True,
                        secs=1.0,
                    )
                )
                out.append(one("", call("sleep", seconds=after), "", secs=float(after)))
            out.append(
                one("", call("geocode", address=addr), js(lat=r.uniform(43, 45), lon=r.uniform(-64, -62)), secs=2.0)
            )
            if len(out) > 30:
                break
        out.append(say("All addresses I could do within the limit are geocoded."))
    elif v == 1:
        task = "Start the Selenium session; the grid is slow to come up."
        for k in range(8):
            msg = r.choice(
                ["Could not start a new session. No nodes.", "Connection refused: grid:4444", "timeout: grid:4444"]
            )
            out.append(
                one(
                    "" if k % 3 else "Grid isn't up yet, waiting.",
                    call("new_session", browser="firefox"),
                    msg,
                    err=True,
                    secs=10.0 + k * 5,
                )
            )
        out.append(one("", call("new_session", browser="firefox"), js(session=uid(r))))
        out.append(one("", call("open", url="https://harborview.example"), "Harborview Library"))
        out.append(say("The session works."))
    elif v == 2:
        task = "apt is locked by unattended-upgrades; install jq once it lets you."
        for k in range(9):
            msg = f"E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process {4417} (unattended-upgr)"
            cmd = f"sleep {20 + k * 10}; apt-get install -y jq"
            out.append(one("", call("shell", cmd=cmd), msg, err=True, secs=22.0 + k * 10))
        out.append(one("", call("shell", cmd="apt-get install -y jq"), "Setting up jq (1.7.1) ..."))
        out.append(say("jq 1.7.1 is installed."))
    else:
        task = "Send the nightly report through the SMTP relay. Greylisting is on, so try again later as told."
        for k in range(7):
            c = call("send_mail", to="board@harborview.example", subject="Nightly report")
            out.append(one("", c, f"451 4.7.1 Greylisted, try again later ({hx(r, 6)})", err=True, secs=5.0))
            out.append(one("", call("wait_minutes", n=2 + k), "ok", secs=60.0 * (2 + k)))
        out.append(
            one("", call("send_mail", to="board@harborview.example", subject="Nightly report"), "250 2.0.0 Ok: queued")
        )
        out.append(say("The report is sent."))
    return Draft(system=(SCIENTIST, ENGINEER, SRE, CLERK)[v], task=task, steps=out)


def hh_reread(r: random.Random, v: int) -> Draft:
    """Held: reading the same file again after each edit."""
    out: list[Step] = []
    if v == 0:
        task = "Polish my cover letter paragraph by paragraph and show me the letter each time."
        paras = [f"Paragraph {k}: " + " ".join(alnum(r, r.randint(3, 8)) for _ in range(8)) for k in range(5)]
        for k in range(8):
            p = k % 5
            new = f"Paragraph {p}: " + " ".join(alnum(r, r.randint(3, 8)) for _ in range(7))
            out.append(
                one("", call("replace_paragraph", doc="letter.docx", index=p, text=new), "replaced", secs=rs(r, 6, 12))
            )
            paras[p] = new
            out.append(one("", call("get_document", doc="letter.docx"), "\n\n".join(paras), secs=2.0))
        out.append(say("The letter is polished."))
    elif v == 1:
        task = "Balance the chart of the crontab: no two heavy jobs in the same minute."
        tab = [f"{r.randint(0, 59)} {h} * * * job-{h}" for h in range(8)]
        out.append(one("", call("shell", cmd="crontab -l"), "\n".join(tab)))
        for _ in range(9):
            h = r.randrange(8)
            tab[h] = f"{r.randint(0, 59)} {h} * * * job-{h}"
            cmd = f"crontab -l | sed 's/^.* \\({h} \\* \\* \\* job\\)/{tab[h].split()[0]} \\1/' | crontab -"
            out.append(one("", call("shell", cmd=cmd), "", secs=3.0))
            out.append(one(maybe(r, "Checking the table."), call("shell", cmd="crontab -l"), "\n".join(tab), secs=2.0))
        out.append(say("No collisions are left."))
    elif v == 2:
        task = "Refactor checkout.ts step by step; view it after every step."
        size = 412
        for _ in range(11):
            size -= r.randint(4, 20)
            c = call(
                "str_replace_editor",
                command="str_replace",
                path="checkout.ts",
                old_str=alnum(r, 12),
                new_str=alnum(r, 6),
            )
            out.append(one("", c, "The file checkout.ts has been edited.", secs=rs(r, 5, 10)))
            body = (
                f"// {size} lines\nexport function {alnum(r, 7)}() {{ ... }}\nexport function {alnum(r, 7)}() {{ ... }}"
            )
            out.append(one("", call("str_replace_editor", command="view", path="checkout.ts"), body, secs=2.0))
        out.append(say(f"checkout.ts is down to {size} lines."))
    else:
        task = "Solve the sudoku in grid.txt; write one digit at a time and look at the grid."
        grid = [["." for _ in range(6)] for _ in range(6)]
        for k in range(14):
            y, x, d = r.randrange(6), r.randrange(6), r.randint(1, 6)
            grid[y][x] = str(d)
            out.append(one("", call("set_digit", row=y + 1, col=x + 1, digit=d, move=k), "ok", secs=rs(r, 3, 8)))
            out.append(
                one("", call("show_grid"), "\n".join(" ".join(row) for row in grid) + f"\nmoves {k + 1}", secs=1.0)
            )
        out.append(say("That's as far as single candidates go."))
    return Draft(system=(CLERK, SRE, ENGINEER, SCIENTIST)[v], task=task, steps=out)


def hh_ab(r: random.Random, v: int) -> Draft:
    """Held: comparing two variants by measuring them in turns."""
    out: list[Step] = []
    if v == 0:
        task = "Ping the two CDNs alternately ten times and say which is closer."
        for k in range(20):
            host, base = (("cdn-east.example", 18.0), ("cdn-west.example", 61.0))[k % 2]
            res = f"rtt {base + r.uniform(-2, 2):.1f} ms"
            out.append(one("", call("ping", host=host, count=1), res, secs=1.5))
        out.append(say("cdn-east is closer: 18 ms against 61 ms."))
    elif v == 1:
        task = "Does the index help? Explain analyze with and without it, several times."
        for k in range(9):
            on = k % 2 == 0
            ddl = "CREATE INDEX ix ON loans(due)" if on else "DROP INDEX ix"
            out.append(one("", call("run_sql", database="lib", sql=ddl), "OK", secs=2.0))
            ms = r.uniform(2, 3) if on else r.uniform(80, 95)
            q = "EXPLAIN ANALYZE SELECT * FROM loans WHERE due < now()"
            out.append(one("", call("run_sql", database="lib", sql=q), f"Execution Time: {ms:.3f} ms", secs=2.0))
        out.append(say("With the index it takes 2 to 3 ms, without it over 80."))
    elif v == 2:
        task = "Blind tasting protocol: read me sample X or Y, I rate them, you note it."
        for k in range(13):
            s = r.choice("XY")
            out.append(
                one(
                    f"Please taste sample {s}.",
                    call("log_sample", sample=s, round=k + 1),
                    "logged",
                    secs=rs(r, 40, 90),
                    user=f"{r.randint(3, 9)} out of 10",
                )
            )
        out.append(say("13 rounds done; Y is ahead on average."))
    else:
        task = "Compare model small and model large on latency: same prompt, eight turns each."
        for _ in range(8):
            for m, base in (("small", 0.4), ("large", 1.9)):
                res = js(model=m, latency_s=round(base + r.uniform(0, 0.3), 3), tokens=64)
                out.append(one("", call("complete", model=m, prompt="Name a bird.", max_tokens=64), res, secs=base + 1))
        out.append(say("The small model is about four times as fast."))
    return Draft(system=(SRE, SRE, CLERK, SCIENTIST)[v], task=task, steps=out)


def hh_chat_repeat(r: random.Random, v: int) -> Draft:
    """Held: a person asks similar questions again and again."""
    out: list[Step] = []
    if v == 0:
        days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "July 4", "Labor Day"]
        task = "When are you open on Monday?"
        hours = ["10 to 6", "10 to 6", "10 to 8", "10 to 6", "10 to 5", "9 to 3", "closed", "closed", "closed"]
        for k, d in enumerate(days):
            ans = f"On {d} the library is open from {hours[k]}." if hours[k] != "closed" else f"On {d} we are closed."
            nxt = f"And on {days[k + 1]}?" if k + 1 < len(days) else ""
            out.append(say(ans, user=nxt, secs=rs(r, 8, 30)))
    elif v == 1:
        task = "Explain recursion to me like I'm five."
        ages = [6, 8, 10, 12, 14, 16, 18, 25, 40]
        images = [
            "dolls",
            "mirrors",
            "a staircase",
            "a family tree",
            "folders",
            "a proof",
            "a stack",
            "a fractal",
            "a to-do list",
        ]
        for a, img in zip(ages, images, strict=True):
            ans = f"Think of {img}: each one holds a smaller one of the same kind, until the smallest holds none."
            out.append(say(ans, user=f"Now like I'm {a}.", secs=rs(r, 20, 60)))
        out.append(say("Recursion defines a problem by smaller instances of itself, with a base case that ends it."))
    elif v == 2:
        task = "I can't log in."
        users = [
            "Still can't.",
            "Doesn't work.",
            "Same error.",
            "Nope.",
            "Tried it, no.",
            "Still the same.",
            "no luck",
            "Nope again",
        ]
        tips = ["check that Caps Lock is off", "try your card number without spaces", "clear the site's cookies"]
        tips += ["use another browser", "reset the PIN by mail", "wait 15 minutes, accounts lock after five tries"]
        tips += ["check that the card hasn't expired", "turn off the VPN"]
        for tip, u in zip(tips, users, strict=True):
            out.append(say(f"Sorry about that. Could you please {tip} and try again?", user=u, secs=rs(r, 60, 200)))
        out.append(say("I'm sorry; I've asked a colleague to look at your account. You'll get a call today."))
    else:
        task = "Translate: Where is the train station?"
        pairs = [("Wo ist der Bahnhof?", "the post office"), ("Wo ist die Post?", "the bank")]
        pairs += [
            ("Wo ist die Bank?", "the hotel"),
            ("Wo ist das Hotel?", "the museum"),
            ("Wo ist das Museum?", "the beach"),
        ]
        pairs += [
            ("Wo ist der Strand?", "the harbor"),
            ("Wo ist der Hafen?", "the pharmacy"),
            ("Wo ist die Apotheke?", "the bus"),
        ]
        pairs += [("Wo ist der Bus?", "the exit"), ("Wo ist der Ausgang?", "")]
        for german, nxt in pairs:
            out.append(say(f'In German: "{german}"', user=f"And where is {nxt}?" if nxt else "", secs=rs(r, 8, 30)))
    return Draft(system=CLERK, task=task, steps=out)


def hh_lists(r: random.Random, v: int) -> Draft:
    """Held: long list-like answers."""
    out: list[Step] = []
    birds = [
        "wren",
        "robin",
        "heron",
        "tern",
        "gull",
        "owl",
        "kite",
        "swift",
        "lark",
        "crane",
        "rail",
        "stilt",
        "plover",
    ]
    for turn in range(r.randint(8, 11)):
        rows: list[str] = []
        if v == 0:
            task, ask = "Make a birding checklist, ten per page.", "Next page."
            rows = [f"[ ] {r.choice(['common', 'gray', 'red', 'little', 'marsh'])} {b}" for b in r.sample(birds, 10)]
        elif v == 1:
            task, ask = "Give me regex drills with solutions.", "More drills please."
            for n in range(1, 7):
                cls = r.choice(["\\d", "\\w", "[a-f]", "[^,]"])
                rows.append(
                    f"Drill {turn * 6 + n}: match {r.randint(2, 9)} or more of {cls}. Solution: {cls}{{{n + 1},}}"
                )
        elif v == 2:
            task, ask = ("Write the week's menus for the canteen, then the following weeks.", "And the next week?")
            soups = ["leek", "tomato", "lentil", "pea", "onion", "squash"]
            mains = ["pasta", "curry", "stew", "gratin", "pilaf", "tart"]
            for d in ("Mon", "Tue", "Wed", "Thu", "Fri"):
                rows.append(f"| {d} | {r.choice(soups)} soup | {r.choice(mains)} | ${r.randint(6, 11)}.50 |")
        else:
            task, ask = "Suggest commit messages for the 60 cleanup commits, in groups.", "Next group."
            for _ in range(6):
                verb = r.choice(["Remove unused", "Rename", "Inline", "Document", "Sort", "Simplify"])
                rows.append(f"- {verb} {alnum(r, 6)} in {r.choice(['api', 'ui', 'db', 'cli'])}/{alnum(r, 4)}.ts")
        out.append(say("\n".join(rows), user=ask, secs=rs(r, 12, 60)))
    out.append(say("That completes the set."))
    return Draft(system=CLERK, task=task, steps=out)


def hh_pr_review(r: random.Random, v: int) -> Draft:
    """Held: reviewing many changes with similar comments."""
    out: list[Step] = []
    task = [
        "Review the Terraform module upgrades of all teams.",
        "Check the students' merge requests for exercise 3 and leave feedback.",
        "Close stale PRs older than a year with a friendly note.",
        "Look at each doc change and reply whether the style guide is met.",
    ][v]
    for k in range(12):
        num = r.randint(40, 4000)
        if v == 0:
            d = f'module "net" {{ source = "git::.../net?ref=v{r.randint(3, 5)}.{k}" }}'
            out.append(one("", call("mr_diff", project=f"team-{alnum(r, 3)}", iid=num), d, secs=rs(r, 2, 5)))
            out.append(
                one("", call("mr_note", iid=num, body="Please pin the exact tag; otherwise fine."), "noted", secs=2.0)
            )
        elif v == 1:
            d = f"score {r.randint(5, 10)}/10, missing: {r.choice(['docstring', 'edge case', 'nothing', 'test'])}"
            out.append(one("", call("run_grader", mr=num), d, secs=rs(r, 6, 12)))
            out.append(
                one("", call("mr_comment", mr=num, text=f"Thank you for handing in! Grader says: {d}."), "ok", secs=2.0)
            )
        elif v == 2:
            note = "Closing this for lack of activity. Feel free to reopen it, and thanks for the work!"
            out.append(
                one(
                    "",
                    call("Bash", command=f"gh pr close {num} -c '{note}'"),
                    f"✓ Closed pull request #{num}",
                    secs=3.0,
                )
            )
        else:
            p = f"docs/{alnum(r, 7)}.md: +{r.randint(2, 60)} -{r.randint(0, 20)}"
            out.append(one("", call("get_change", id=num), p, secs=rs(r, 2, 6)))
            ok = r.random() < 0.7
            msg = "Meets the style guide." if ok else "Please use sentence case in headings."
            out.append(one("", call("post_review", id=num, vote=1 if ok else 0, message=msg), "posted", secs=2.0))
    out.append(say("All twelve are done."))
    return Draft(system=ENGINEER, task=task, steps=out)


def hh_todo(r: random.Random, v: int) -> Draft:
    """Held: keeping a todo list up to date between other steps."""
    plans = [
        ["Read spec", "Model types", "Parser", "Printer", "Round trip test", "Docs", "Release notes"],
        ["Book venue", "Invite speakers", "Flyer", "Newsletter", "Chairs", "Projector", "Snacks", "Cleanup crew"],
        [
            "Snapshot db",
            "Upgrade replica 1",
            "Upgrade replica 2",
            "Failover",
            "Upgrade primary",
            "Vacuum",
            "Unmute alerts",
        ],
        ["Clean data", "Fit baseline", "Fit spline", "Cross validate", "Plot", "Write methods", "Write results"],
    ]
    tools = [("Bash", "command"), ("send_mail", "text"), ("shell", "cmd"), ("code_execution", "code")]
    task = ["Write the INI library.", "Organize the reading festival.", "Upgrade Postgres.", "Redo the tide analysis."][
        v
    ]
    out: list[Step] = []
    tool, key = tools[v]
    for k, item in enumerate(plans[v]):
        c = call("TodoWrite", current=item, completed=plans[v][:k])
        out.append(one(f"Next: {item}.", c, "Todos have been modified successfully.", secs=2.0))
        for _ in range(r.randint(1, 2)):
            words = f"{item.lower()} {alnum(r, 5)} --{alnum(r, 4)}"
            out.append(
                one(
                    "",
                    Call(name=tool, arguments={key: words}),
                    r.choice(["ok", "", f"{alnum(r, 12)}"]),
                    secs=rs(r, 3, 15),
                )
            )
        if r.random() < 0.4:
            out.append(
                one(
                    "",
                    call("TodoRead"),
                    "\n".join(("[x] " if i <= k else "[ ] ") + t for i, t in enumerate(plans[v])),
                    secs=1.0,
                )
            )
    out.append(say("The plan is complete."))
    return Draft(system=(ENGINEER, CLERK, SRE, SCIENTIST)[v], task=task, steps=out)


# ----------------------------------------------------------------------------------------- loops, held


def lh_lead(r: random.Random, kind: str) -> list[Step]:
    """Held: two to six honest steps before a loop."""
    pools: dict[str, list[Step]] = {
        "dev": [
            one("", call("Glob", pattern="**/*.ts"), "app/main.ts\napp/auth.ts\napp/auth.test.ts\nweb/index.ts"),
            one("", call("Read", file_path="app/auth.ts"), "export async function login(u: string) {\n  // TODO\n}"),
            one(
                "The test next to it tells what is expected.",
                call("Read", file_path="app/auth.test.ts"),
                "test('login')",
            ),
            one("", call("Bash", command="node --version"), "v20.11.1"),
            one("", call("Bash", command="git diff --stat"), ""),
            one("", call("Grep", pattern="session", path="app"), "app/main.ts:8: import session from './session'"),
        ],
        "infra": [
            one("", call("shell", cmd="hostname"), "bastion-2"),
            one("", call("shell", cmd="systemctl --failed"), "● relay.service loaded failed"),
            one(
                "relay.service it is.", call("shell", cmd="systemctl cat relay"), "[Service]\nExecStart=/opt/relay/run"
            ),
            one("", call("shell", cmd="ls -l /opt/relay"), "-rw-r--r-- 1 root root 911 run"),
            one("", call("shell", cmd="free -m | sed -n 2p"), "Mem: 15880 3911 8120"),
            one("", call("shell", cmd="last -3"), "ops pts/0 10.0.0.7"),
        ],
        "study": [
            one("", call("web_search", q="eelgrass decline Nova Scotia"), "[1] Survey 2018 [2] Survey 2022"),
            one("", call("open_result", n=1), "Cover fell by 12 % between 2010 and 2018."),
            one("", call("open_result", n=2), "Cover is stable since 2019 in the two northern bays."),
            one("", call("memory_store", key="eelgrass", value="-12 % by 2018, stable since"), "stored"),
            one("", call("web_search", q="green crab eelgrass damage"), "[1] Crab study 2015"),
            one("", call("open_result", n=1), "Green crabs uproot shoots while foraging."),
        ],
        "desk": [
            one("", call("get_screen_text"), "Desktop. Icons: Accounts, Mail, Shared"),
            one("", call("double_click", target="Accounts"), "Accounts - Home"),
            one("", call("click", target="Reports"), "Accounts - Reports (loading)"),
            one("", call("get_screen_text"), "Accounts - Reports: Monthly, Yearly, Custom"),
            one("", call("click", target="Monthly"), "Monthly report: choose a month"),
            one("", call("type_text", text="April"), "April"),
        ],
        "library": [
            one("", call("get_branch_hours", branch="main"), "10 to 6, open now"),
            one("", call("list_messages", box="desk"), "1 new: question about a book"),
            one("", call("read_message", n=1), "Hello, I have a question about my loan."),
            one("One moment, I'll look into it.", call("get_policy", topic="loans"), "Loans run for three weeks."),
            one("", call("list_branches"), "main, harbor, north"),
            one("", call("get_notice", id=12), "The north branch is closed on Friday."),
        ],
    }
    return pools[kind][: r.randint(2, 6)]


def lh_same_call(r: random.Random, v: int) -> Draft:
    """Held: the very same call with the same result."""
    lead = lh_lead(r, ("dev", "study", "desk", "infra")[v])
    rows = "\n".join(f"{k:4d}\texport const route{k} = '/{alnum(r, 6)}';" for k in range(1, 30))
    options: list[tuple[str, str, Call, str, str]] = [
        (
            "Add a logout route.",
            ENGINEER,
            call("Read", file_path="web/index.ts"),
            rows,
            (
                "{I need to see the routes first.|Let me view the routes file to understand the "
                "structure.|First, the routes.}"
            ),
        ),
        (
            "Sum up what is known about eelgrass.",
            SCIENTIST,
            call("memory_load", key="eelgrass"),
            "-12 % by 2018, stable since",
            "",
        ),
        (
            "Export the April report as PDF.",
            GUI,
            call("click", target="Export"),
            "Monthly report: choose a month",
            "{Now I'll click Export.|Click Export.|Exporting.}",
        ),
        (
            "Make relay start again.",
            SRE,
            call("shell", cmd="systemctl status relay | head -3"),
            "● relay.service\n   Active: failed (Result: exit-code)\n   Process: 203/EXEC",
            "",
        ),
    ]
    task, system, c, result, text = options[v]
    loop = [one(spin(r, text), c, result, secs=rs(r, 1, 6)) for _ in range(r.randint(11, 30))]
    return Draft(system=system, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def lh_varied_error(r: random.Random, v: int) -> Draft:
    """Held: the same call failing with another error text each time."""
    lead = lh_lead(r, ("infra", "dev", "study", "desk")[v])
    task = ["Start relay.", "Publish the package.", "Download the 2022 survey data.", "Open the shared budget file."][v]
    loop: list[Step] = []
    for k in range(r.randint(12, 22)):
        if v == 0:
            c = call("shell", cmd="systemctl start relay && journalctl -u relay -n 2 --no-pager")
            pid = r.randint(10000, 60000)
            msg = (
                f"May 06 {clock(31000 + k * 11)} bastion-2 (run)[{pid}]: relay.service: "
                f"Permission denied\nMay 06 {clock(31001 + k * 11)} systemd[1]: Failed"
            )
        elif v == 1:
            c = call("Bash", command="npm publish --access public")
            msg = (
                "npm ERR! code E403\nnpm ERR! 403 Forbidden - PUT https://registry.example/auth\n"
                "npm ERR! A complete log: "
                f"/var/cache/npm/_logs/2025-05-06T{clock(41000 + k * 9).replace(':', '_')}-debug-0.log"
            )
        elif v == 2:
            c = call("download", url="https://data.example/eelgrass/2022.zip")
            msg = (
                spin(
                    r,
                    (
                        "{The server closed the connection.|Connection reset by peer|Host "
                        "data.example is not allowed by the egress policy|Access to data.example "
                        "denied by policy|blocked: data.example}"
                    ),
                )
                + f" [{hx(r, 5)}]"
            )
        else:
            c = call("open_file", path="S:\\Shared\\budget.xlsx")
            msg = (
                spin(
                    r,
                    (
                        "{The file is locked for editing by|budget.xlsx is locked by|Cannot "
                        "open, in use by} {another user|'J. Doe'|user JDOE}"
                    ),
                )
                + f" (0x{hx(r, 8)})"
            )
        text = spin(r, "{|Let me try that again.|I'll retry.|Trying once more.|}")
        loop.append(one(text, c, msg, err=True, secs=rs(r, 2, 8)))
    return Draft(
        system=(SRE, ENGINEER, SCIENTIST, GUI)[v], task=task, steps=lead + loop, loop_start=len(lead), period=1
    )


def lh_trivial_args(r: random.Random, v: int) -> Draft:
    """Held: arguments vary trivially, the result stays."""
    lead = lh_lead(r, ("infra", "dev", "study", "desk")[v])
    task = [
        "Does relay answer?",
        "Does auth compile on its own?",
        "Is the crab study online?",
        "Press OK in the dialog.",
    ][v]
    loop: list[Step] = []
    for k in range(r.randint(12, 24)):
        if v == 0:
            c = call("shell", cmd=f"curl -s -o /dev/null -w '%{{http_code}}' localhost:8025/health?try={k}")
            loop.append(one("", c, "000", err=True, secs=rs(r, 1, 4)))
        elif v == 1:
            tail = ["", " ", " ;", " 2>&1", " || true", " 2>&1 | cat"][k % 6]
            c = call("Bash", command="npx tsc --noEmit app/auth.ts" + tail, description=f"Compile auth, check {k + 1}")
            loop.append(one("", c, "error TS6053: File 'app/session.ts' not found.", err=True, secs=rs(r, 3, 6)))
        elif v == 2:
            c = call("fetch", url="https://crab.example/study", note=f"attempt no. {k + 1}")
            loop.append(one(f"Attempt {k + 1}.", c, "404: page not found", err=True, secs=rs(r, 2, 5)))
        else:
            c = call("click_at", x=640 + r.randint(-3, 3), y=412 + r.randint(-3, 3))
            loop.append(one("", c, "Dialog 'Month missing' is open. Button OK is disabled.", secs=rs(r, 1, 3)))
    return Draft(
        system=(SRE, ENGINEER, SCIENTIST, GUI)[v], task=task, steps=lead + loop, loop_start=len(lead), period=1
    )


def lh_empty_search(r: random.Random, v: int) -> Draft:
    """Held: rephrased queries, always nothing found."""
    lead = lh_lead(r, ("study", "dev", "infra", "desk")[v])
    q = [
        (
            "{green crab|Carcinus maenas|european green crab} {trapping|removal|culling} {cost|"
            "budget|expenses} {Nova Scotia|Atlantic Canada|Maritimes}"
        ),
        "{session|sess|userSession} {store|storage|backend|adapter}{ interface| type|}",
        "relay {permission denied|EXEC 203|exec failed} {runbook|playbook|how to|wiki}",
        "{April|Apr|04/2025} {report|statement} {pdf|export|archive|}",
    ][v]
    tool, key = [("web_search", "q"), ("Grep", "pattern"), ("wiki_search", "text"), ("find_in_app", "query")][v]
    empty = ["No results.", "No files found", "Search returned 0 pages", "Nothing found"][v]
    task = [
        "What did crab trapping cost?",
        "Where is the session store?",
        "Is there a runbook?",
        "Find April's report.",
    ][v]
    loop: list[Step] = []
    for _ in range(r.randint(12, 26)):
        text = spin(r, "{|Nothing yet. Let me rephrase.|Let me broaden the search.|Let me use other keywords.}")
        loop.append(one(text, Call(name=tool, arguments={key: spin(r, q).strip()}), empty, secs=rs(r, 2, 6)))
    return Draft(system=SCIENTIST, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def lh_restate(r: random.Random, v: int) -> Draft:
    """Held: the same answer with a few words changed, no calls."""
    answers = [
        (
            "I've {reviewed|looked at|checked} the survey data. {Eelgrass|The eelgrass} cover "
            "{fell|dropped|declined} by 12 % until 2018 and has been {stable|steady} since 2019. "
            "{Green crabs|The green crab} {are|remain} the {main|primary} {suspect|cause}. {Is "
            "there anything else you'd like to know?|Would you like more detail?|Can I help with "
            "anything else?}"
        ),
        (
            "{Done!|Finished!|All done!} The login function {now |}{validates|checks} the user "
            "name and {returns|gives back} a session. I {also |}{added|wrote} a test{ for it|}. "
            "The {implementation|work} is complete and {ready|good} to {merge|ship}."
        ),
        (
            "{Summary|In summary|To summarize}: relay.service {fails|cannot start} {because|"
            "since} the file /opt/relay/run {is not|isn't} executable. {Run|Please run} `chmod "
            "+x /opt/relay/run` and {start|restart} the service."
        ),
        (
            "The {monthly |}report for April {is|has been} {ready|prepared}. You {can find|will "
            "find} it {under|in} Reports, Monthly. {Thank you for your patience.|Thanks for "
            "waiting.|Have a nice day!}"
        ),
    ]
    task = ["What happened to eelgrass?", "Implement login.", "Why does relay fail?", "Get me April's report."][v]
    lead = lh_lead(r, ("study", "dev", "infra", "desk")[v])
    push = ["", "You must call a tool or end with attempt_completion.", "continue", ""][v]
    loop = [say(spin(r, answers[v]), user=push, secs=rs(r, 3, 8)) for _ in range(r.randint(11, 18))]
    return Draft(system=ENGINEER, task=task, steps=lead + loop, loop_start=len(lead), period=1)


def lh_promise(r: random.Random, v: int) -> Draft:
    """Held: announcing the next action and never acting."""
    lines = [
        (
            "{Sure!|Of course!|Certainly!} {Let me|I'll} {implement|write} the login function "
            "{now|next}. {First|To begin}, I'll {create|add} the session module."
        ),
        (
            "I {will|am about to} {make|mark} the file {as |}executable and {then |}{restart|"
            "start} the service. {Please hold on.|Hold on a second.|Just a moment.}"
        ),
        (
            "The next step is to {open|load} the crab study and {extract|pull out} the {numbers|"
            "figures}. {I'll do that now.|Let me do that.|Proceeding.}"
        ),
        (
            "{Proceeding to|Moving on to|Now moving to} click {Export|the Export button} and "
            "{choose|pick} PDF{.| as the format.}"
        ),
    ]
    task = ["Implement login.", "Fix relay.", "Table the crab numbers.", "Export April as PDF."][v]
    push = ["Go ahead.", "", "You did not call any tool. Use one of the tools to make progress.", "continue"][v]
    lead = lh_lead(r, ("dev", "infra", "study", "desk")[v])
    loop = [say(spin(r, lines[v]), user=push, secs=rs(r, 2, 7)) for _ in range(r.randint(12, 24))]
    return Draft(
        system=(ENGINEER, SRE, SCIENTIST, GUI)[v], task=task, steps=lead + loop, loop_start=len(lead), period=1
    )


def lh_cycle(r: random.Random, v: int, length: int) -> Draft:
    """Held: a cycle of `length` steps, over and over."""
    shop: list[Spec] = [
        (
            "Bash",
            {"command": "npm run dev -- --check"},
            "Error: listen EADDRINUSE: address already in use :::5173",
            True,
            "{Starting the dev server.|Start it again.}",
        ),
        ("Bash", {"command": "lsof -i :5173 -t"}, "<N>", False, ""),
        (
            "Bash",
            {"command": "kill $(lsof -i :5173 -t)"},
            "",
            False,
            "{Killing the old one.|Kill the process on the port.}",
        ),
        (
            "Read",
            {"file_path": "vite.config.ts"},
            "export default { server: { port: 5173, strictPort: true } }",
            False,
            "",
        ),
        ("Bash", {"command": "docker ps --format '{{.Names}}'"}, "web_dev_1", False, ""),
        ("Bash", {"command": "docker logs web_dev_1 --tail 1"}, "<T> restarted by policy", False, ""),
        ("Bash", {"command": "ps aux | grep vite | wc -l"}, "3", False, "{How many are there?|Count the processes.}"),
        ("Bash", {"command": "cat package.json | head -5"}, '{ "name": "web" }', False, ""),
        ("Glob", {"pattern": "*.env"}, "No files found", False, ""),
    ]
    host: list[Spec] = [
        ("shell", {"cmd": "systemctl restart relay"}, "Job for relay.service failed.", True, ""),
        (
            "shell",
            {"cmd": "systemctl status relay --no-pager | tail -1"},
            "<T> relay.service: Failed with result 'exit-code'.",
            True,
            "{Check the status.|Status?}",
        ),
        ("shell", {"cmd": "journalctl -u relay -n 1 --no-pager"}, "<T> relay[<N>]: cannot bind 0.0.0.0:25", False, ""),
        (
            "shell",
            {"cmd": "ss -ltnp | grep :25"},
            'LISTEN 0 100 *:25 users:(("master"))',
            False,
            "{Who has the port?|Look at the port.}",
        ),
        ("shell", {"cmd": "cat /opt/relay/relay.conf"}, "listen = 0.0.0.0:25", False, ""),
        ("shell", {"cmd": "systemctl is-active postfix"}, "active", False, ""),
        ("shell", {"cmd": "ls /etc/systemd/system/relay.service.d"}, "ls: cannot access", True, ""),
        ("shell", {"cmd": "systemctl daemon-reload"}, "", False, ""),
        ("shell", {"cmd": "id relay"}, "uid=998(relay)", False, "{Does the user exist?|User check.}"),
    ]
    sheet: list[Spec] = [
        ("click", {"target": "Monthly"}, "Monthly report: choose a month", False, ""),
        ("type_text", {"text": "April"}, "April", False, ""),
        ("press_key", {"key": "Enter"}, "Error: month must be a number", True, "{Confirming.|Enter.}"),
        ("click", {"target": "Cancel"}, "Accounts - Reports", False, ""),
        (
            "get_screen_text",
            {},
            "Accounts - Reports: Monthly, Yearly, Custom",
            False,
            "{What do I see?|Look at the screen.}",
        ),
        ("click", {"target": "Custom"}, "Custom report: needs the admin role", False, ""),
        ("press_key", {"key": "Escape"}, "Accounts - Reports", False, ""),
        ("click", {"target": "Yearly"}, "Yearly report: 2025 is not closed", False, ""),
        ("click", {"target": "Back"}, "Accounts - Home", False, ""),
    ]
    deps: list[Spec] = [
        (
            "lookup_patron",
            {"name": "E. Brandt"},
            "2 matches: card 1182, card 3307",
            False,
            "{Looking up the patron.|Find the patron.}",
        ),
        ("get_card", {"card": 1182}, "E. Brandt, no loans", False, ""),
        ("get_card", {"card": 3307}, "E. Brandt, no loans", False, ""),
        ("list_loans", {"title": "Tides"}, "not on loan", False, ""),
        (
            "catalog_search",
            {"title": "Tides"},
            "1 copy, shelf N12, checked out",
            False,
            "{Where's the book?|Searching the catalog.}",
        ),
        ("get_shelf", {"shelf": "N12"}, "gap after 'Thaw'", False, ""),
        ("get_policy", {"topic": "missing"}, "Ask at the desk after 14 days.", False, ""),
        ("list_holds", {"title": "Tides"}, "[]", False, ""),
        ("read_log", {"day": "today"}, "<N> events, none for 'Tides'", False, "{Any trace in the log?|Read the log.}"),
    ]
    pool = (shop, host, sheet, deps)[v]
    k = (length + 3) % 9
    specs = (pool[k:] + pool[:k])[:length]
    lead = lh_lead(r, ("dev", "infra", "desk", "library")[v])
    if length == 9:
        lead = lead[:3]
    passes = {2: r.randint(6, 13), 3: r.randint(6, 9), 5: r.randint(5, 6), 7: 4, 9: 4}[length]
    loop = cycle([maker(r, s, 52000.0, 45.0) for s in specs], passes, extra=length // 2 if length < 7 else 0)
    task = ["Get the dev server up.", "Bring relay up.", "Export April's report.", "Who has the book 'Tides'?"][v]
    return Draft(
        system=(ENGINEER, SRE, GUI, CLERK)[v], task=task, steps=lead + loop, loop_start=len(lead), period=length
    )


def lh_cycle2(r: random.Random, v: int) -> Draft:
    """Held: a cycle of two steps."""
    return lh_cycle(r, v, 2)


def lh_cycle3(r: random.Random, v: int) -> Draft:
    """Held: a cycle of three steps."""
    return lh_cycle(r, v, 3)


def lh_cycle5(r: random.Random, v: int) -> Draft:
    """Held: a cycle of five steps."""
    return lh_cycle(r, v, 5)


def lh_cycle7(r: random.Random, v: int) -> Draft:
    """Held: a cycle of seven steps."""
    return lh_cycle(r, v, 7)


def lh_cycle9(r: random.Random, v: int) -> Draft:
    """Held: a cycle of nine steps."""
    return lh_cycle(r, v, 9)


def lh_flip_flop(r: random.Random, v: int) -> Draft:
    """Held: making the same change and taking it back."""
    lead = lh_lead(r, ("dev", "infra", "dev", "desk")[v])
    task = ["Fix the import cycle.", "Tune the relay's limit.", "Make login's test pass.", "Set the right currency."][v]
    makers: list[Callable[[int], Step]]
    if v == 0:
        on = "import { session } from './session'"
        off = "const session = await import('./session')"
        makers = [
            lambda n: one(
                "", call("Edit", file_path="app/main.ts", old_string=on, new_string=off), "updated", secs=rs(r, 3, 6)
            ),
            lambda n: one(
                "Top-level await breaks; use a static import.",
                call("Edit", file_path="app/main.ts", old_string=off, new_string=on),
                "updated",
                secs=rs(r, 3, 6),
            ),
        ]
    elif v == 1:
        makers = [
            lambda n: one(
                maybe(r, "Too low. Raising it."), call("shell", cmd="sed -i 's/^rate=.*/rate=500/' relay.conf"), ""
            ),
            lambda n: one("", call("shell", cmd="./relay-check"), "FAIL: queue overflow", err=True, secs=rs(r, 3, 9)),
            lambda n: one(
                maybe(r, "Too high. Lowering it."), call("shell", cmd="sed -i 's/^rate=.*/rate=100/' relay.conf"), ""
            ),
            lambda n: one("", call("shell", cmd="./relay-check"), "FAIL: queue starved", err=True, secs=rs(r, 3, 9)),
        ]
    elif v == 2:
        good = "return { id: u }"
        makers = [
            lambda n: one("", call("Write", file_path="app/auth.ts", content=good), "File written", secs=rs(r, 3, 7)),
            lambda n: one(
                "",
                call("Bash", command="npx vitest run auth"),
                f"1 failed ({r.randint(300, 900)} ms): token missing",
                err=True,
            ),
            lambda n: one(
                "I'll restore the file.",
                call("Bash", command="git checkout app/auth.ts"),
                "Updated 1 path from the index",
            ),
        ]
    else:
        makers = [
            lambda n: one(
                "Setting EUR.", call("set_cell", sheet="Setup", cell="B2", value="EUR"), "ok", secs=rs(r, 1, 3)
            ),
            lambda n: one("That should be CAD.", call("undo"), "undone: B2", secs=rs(r, 1, 3)),
        ]
    passes = {2: r.randint(6, 14), 3: r.randint(5, 9), 4: r.randint(4, 7)}[len(makers)]
    return Draft(
        system=(ENGINEER, SRE, ENGINEER, GUI)[v],
        task=task,
        steps=lead + cycle(makers, passes),
        loop_start=len(lead),
        period=len(makers),
    )


def lh_ask_again(r: random.Random, v: int) -> Draft:
    """Held: asking the person the same question though it was answered."""
    ask = [
        "{Should|Do you want} login {to use|use} cookies or tokens?",
        "{May|Can|Could} I change the permissions of /opt/relay/run?",
        "Which {years|period} should the summary cover?",
        "{What|Which} is the name of the patron?",
    ][v]
    replies = [
        ["Tokens.", "tokens please", "Tokens, as I said", "TOKENS", "Use tokens. Go."],
        ["Yes.", "yes, go ahead", "Yes you may", "I said yes", "YES"],
        ["2010 to 2024", "2010-2024", "From 2010 to 2024, like before", "2010 to 2024!!", "please: 2010 to 2024"],
        ["Emil Brandt", "It's Emil Brandt", "Emil Brandt, B-R-A-N-D-T", "Brandt. Emil Brandt.", "still Emil Brandt"],
    ][v]
    task = ["Implement login.", "Fix relay.", "Sum up the surveys.", "Renew my book."][v]
    lead = lh_lead(r, ("dev", "infra", "study", "library")[v])
    loop: list[Step] = []
    for k in range(r.randint(11, 15)):
        answer = replies[min(k, 4)]
        if v == 1:
            loop.append(
                one("", call("ask_user", prompt=spin(r, ask), choices=["yes", "no"]), answer, secs=rs(r, 5, 60))
            )
        else:
            intro = spin(r, "{To continue I need one detail. |Thanks! |Thank you. |}")
            loop.append(say(intro + spin(r, ask), user=answer, secs=rs(r, 5, 60)))
    return Draft(
        system=(ENGINEER, SRE, SCIENTIST, CLERK)[v], task=task, steps=lead + loop, loop_start=len(lead), period=1
    )


def lh_rerun(r: random.Random, v: int) -> Draft:
    """Held: running the same failing command with no edit in between."""
    lead = lh_lead(r, ("dev", "infra", "study", "dev")[v])
    task = ["Make auth's test pass.", "Renew the certificate.", "Fit the trend model.", "Build the image."][v]
    loop: list[Step] = []
    for _ in range(r.randint(11, 18)):
        dur = rs(r, 2, 6)
        if v == 0:
            c = call("Bash", command="npx vitest run auth")
            out = f" FAIL  app/auth.test.ts > login\nTypeError: login(...) is undefined\n Duration  {dur}s"
        elif v == 1:
            c = call("shell", cmd="certbot renew --cert-name relay.example")
            out = "Failed to renew certificate relay.example: DNS problem: NXDOMAIN looking up A for relay.example"
            dur = rs(r, 20, 31)
        elif v == 2:
            c = call("code_execution", runtime="python", code="from model import fit\nprint(fit('cover.csv'))")
            out = "ValueError: could not convert string to float: 'n/a'"
        else:
            c = call("Bash", command="docker build -t auth .")
            out = f"#{r.randint(7, 9)} ERROR: failed to solve: node:99-alpine: not found\n{dur}s"
        loop.append(
            one(spin(r, "{|Again.|Let me rerun it.|Perhaps it was a hiccup.|}"), c, out, err=True, secs=dur + 2)
        )
    return Draft(
        system=(ENGINEER, SRE, SCIENTIST, ENGINEER)[v], task=task, steps=lead + loop, loop_start=len(lead), period=1
    )


def lh_malformed(r: random.Random, v: int) -> Draft:
    """Held: the same malformed call, never corrected."""
    lead = lh_lead(r, ("dev", "study", "desk", "infra")[v])
    task = ["Add the session module.", "Store the crab result.", "Choose April.", "Schedule a restart at 03:00."][v]
    loop: list[Step] = []
    for _ in range(r.randint(11, 19)):
        if v == 0:
            c = call("Edit", file_path="app/session.ts", new_string="export {}")
            loop.append(one("", c, "InputValidationError: `old_string` is required", err=True, secs=rs(r, 2, 5)))
        elif v == 1:
            text = "Action: memory_store\nAction Input: key=crab, value=uproots shoots"
            push = spin(
                r,
                (
                    "{Invalid Format: Action Input must be a JSON object.|Could not parse LLM "
                    "output: Action Input is no JSON.}"
                ),
            )
            loop.append(say(text, user=push, secs=rs(r, 2, 5)))
        elif v == 2:
            c = call("select_option", element="month", option={"value": {"value": "April"}})
            err = f"TypeError: option must be a string, not an object (event {r.randint(10**6, 10**7)})"
            loop.append(one(maybe(r, "Selecting April."), c, err, err=True, secs=rs(r, 1, 4)))
        else:
            c = call("schedule", when="3 AM-ish", cmd=spin(r, "systemctl restart relay{| }"))
            loop.append(one("", c, "when: '3 AM-ish' does not match ^[0-9]{2}:[0-9]{2}$", err=True, secs=rs(r, 2, 4)))
    return Draft(
        system=(ENGINEER, SCIENTIST, GUI, SRE)[v], task=task, steps=lead + loop, loop_start=len(lead), period=1
    )


# -------------------------------------------------------------------------------------------- registry

HONEST: dict[str, tuple[Builder, Builder]] = {
    "many_files": (hd_many_files, hh_many_files),
    "row_ids_and_urls": (hd_row_ids, hh_row_ids),
    "growing_offsets": (hd_offsets, hh_offsets),
    "paginated_api": (hd_paginated, hh_paginated),
    "queue_drain": (hd_queue, hh_queue),
    "poll_changing": (hd_poll_changes, hh_poll_changes),
    "poll_unchanged": (hd_poll_static, hh_poll_static),
    "sleep_wait": (hd_sleep, hh_sleep),
    "keys_and_scrolling": (hd_keys, hh_keys),
    "ask_time": (hd_time, hh_time),
    "terminal_output": (hd_terminal, hh_terminal),
    "test_fix_test": (hd_test_fix, hh_test_fix),
    "edit_compile": (hd_edit_compile, hh_edit_compile),
    "similar_files": (hd_write_similar, hh_write_similar),
    "bulk_insert": (hd_bulk, hh_bulk),
    "flaky_retry": (hd_flaky, hh_flaky),
    "reread_after_edit": (hd_reread, hh_reread),
    "ab_comparison": (hd_ab, hh_ab),
    "chat_similar_questions": (hd_chat_repeat, hh_chat_repeat),
    "list_answers": (hd_lists, hh_lists),
    "pr_review": (hd_pr_review, hh_pr_review),
    "todo_updates": (hd_todo, hh_todo),
}

LOOP: dict[str, tuple[Builder, Builder]] = {
    "same_call": (ld_same_call, lh_same_call),
    "same_call_varied_error": (ld_varied_error, lh_varied_error),
    "trivial_argument_change": (ld_trivial_args, lh_trivial_args),
    "empty_search": (ld_empty_search, lh_empty_search),
    "restated_answer": (ld_restate, lh_restate),
    "promise_without_action": (ld_promise, lh_promise),
    "cycle_2": (ld_cycle2, lh_cycle2),
    "cycle_3": (ld_cycle3, lh_cycle3),
    "cycle_5": (ld_cycle5, lh_cycle5),
    "cycle_7": (ld_cycle7, lh_cycle7),
    "cycle_9": (ld_cycle9, lh_cycle9),
    "edit_undo": (ld_flip_flop, lh_flip_flop),
    "ask_answered_question": (ld_ask_again, lh_ask_again),
    "rerun_failing_command": (ld_rerun, lh_rerun),
    "malformed_call": (ld_malformed, lh_malformed),
}


def transcripts(half: Half | None = None, label: Label | None = None) -> Iterator[Transcript]:
    """All transcripts, in a fixed order; optionally one half or one label only."""
    groups: tuple[tuple[Label, dict[str, tuple[Builder, Builder]]], ...] = (("honest", HONEST), ("loop", LOOP))
    halves: tuple[Half, Half] = ("dev", "held")
    for group, builders in groups:
        for c, (category, pair) in enumerate(builders.items()):
            for h, (which, build) in enumerate(zip(halves, pair, strict=True)):
                if (half or which) != which or (label or group) != group:
                    continue
                for n in range(PER_BUILDER):
                    draft = build(random.Random(f"{group}/{category}/{which}/{n}"), n)
                    start, period = draft.loop_start, draft.period
                    yield Transcript(
                        id=f"{group}-{category}-{which}-{n}",
                        label=group,
                        category=category,
                        half=which,
                        protocol=PROTOCOLS[(n + c + h) % len(PROTOCOLS)],
                        system=draft.system,
                        task=draft.task,
                        steps=tuple(draft.steps),
                        loop_from=None if start is None or period is None else start + period,
                        loop_start=start,
                        period=period,
                    )


# ---------------------------------------------------------------------------------------------- checks


def signature(step: Step) -> str:
    """What a step does and gets, without the model's words unless it has nothing else."""
    done = [(c.name, c.arguments, result) for c, result in zip(step.calls, step.results, strict=True)]
    return json.dumps(done or step.text, sort_keys=True)


def hasty(t: Transcript) -> bool:
    """Whether the very same step comes four times in a row with less than 30 seconds in between."""
    run = 1
    for before, now in zip(t.steps, t.steps[1:], strict=False):
        same = signature(before) == signature(now) and before.seconds < 30
        run = run + 1 if same else 1
        if run >= 4:
            return True
    return False


def shared_by_halves(items: Sequence[Transcript]) -> list[str]:
    """Calls, words and results of more than a few characters that both halves have."""
    seen: dict[str, set[tuple[str, str]]] = {"dev": set(), "held": set()}
    for t in items:
        for s in t.steps:
            seen[t.half].add(("text", s.text))
            seen[t.half].update(("call", c.name + json.dumps(c.arguments)) for c in s.calls)
            seen[t.half].update(("result", x) for x in s.results if len(x) > 12)
    return [f"both halves have {kind} {what!r}" for kind, what in seen["dev"] & seen["held"] if what]


def problems(items: Sequence[Transcript]) -> list[str]:
    """Everything about the corpus that is not as promised."""
    found: list[str] = []

    def check(ok: bool, what: str) -> None:
        if not ok:
            found.append(what)

    check(len({t.id for t in items}) == len(items), "ids are not unique")
    by_label = collections.Counter(t.label for t in items)
    check(by_label["honest"] >= 140 and by_label["loop"] >= 100, f"too few: {by_label}")
    for key, count in collections.Counter((t.label, t.category) for t in items).items():
        check(count >= 6, f"{key}: only {count}")
        mine = [t for t in items if (t.label, t.category) == key]
        check({t.half for t in mine} == {"dev", "held"}, f"{key}: a half is missing")
        check({t.protocol for t in mine} == set(PROTOCOLS), f"{key}: a protocol is missing")
    for name in ("task", "system"):
        dev = {getattr(t, name) for t in items if t.half == "dev"}
        held = {getattr(t, name) for t in items if t.half == "held"}
        check(not dev & held, f"{name}s shared by the halves: {dev & held}")
    found.extend(shared_by_halves(items))
    for t in items:
        check(MIN_STEPS <= len(t.steps) <= MAX_STEPS, f"{t.id}: {len(t.steps)} steps")
        for k, s in enumerate(t.steps):
            check(len(s.calls) == len(s.results) == len(s.is_error), f"{t.id}[{k}]: calls and results differ")
            check(bool(s.text or s.calls), f"{t.id}[{k}]: empty step")
            check(s.seconds > 0, f"{t.id}[{k}]: no time passes")
            for c in s.calls:
                check(json.loads(json.dumps(c.arguments)) == c.arguments, f"{t.id}[{k}]: arguments are not JSON")
        if t.label == "honest":
            check(t.loop_from is None and t.loop_start is None and t.period is None, f"{t.id}: honest with loop")
            check(t.category == "keys_and_scrolling" or not hasty(t), f"{t.id}: repeats without waiting")
            continue
        if t.loop_from is None or t.loop_start is None or t.period is None:
            found.append(f"{t.id}: loop not recorded")
            continue
        check(2 <= t.loop_start <= 6, f"{t.id}: {t.loop_start} lead steps")
        size = len(t.steps) - t.loop_start
        need = max(MIN_LOOP_STEPS + 1, MIN_CYCLES * t.period) if t.period == 1 else MIN_CYCLES * t.period
        check(size >= max(need, MIN_LOOP_STEPS), f"{t.id}: loop of {size} steps, period {t.period}")
        for k in range(t.loop_from, len(t.steps)):
            now, before = t.steps[k], t.steps[k - t.period]
            check([c.name for c in now.calls] == [c.name for c in before.calls], f"{t.id}[{k}]: does not repeat")
    return found


def main() -> int:
    """Print the counts and check the invariants."""
    items = list(transcripts())
    again = list(transcripts())
    table: collections.Counter[tuple[str, str, str, str]] = collections.Counter()
    for t in items:
        table[(t.label, t.category, t.half, t.protocol)] += 1
    print(f"{'label':7} {'category':26} {'half':5} {'openai':>7} {'anthropic':>10} {'ollama':>7} {'all':>4}")
    for label, category, half in dict.fromkeys((k[0], k[1], k[2]) for k in table):
        row = [table[(label, category, half, p)] for p in PROTOCOLS]
        print(f"{label:7} {category:26} {half:5} {row[0]:7} {row[1]:10} {row[2]:7} {sum(row):4}")
    for field in ("label", "half", "protocol"):
        print(field, dict(collections.Counter(f"{t.label}/{getattr(t, field)}" for t in items)))
    lengths = [len(t.steps) for t in items]
    print(f"{len(items)} transcripts, {sum(lengths)} steps, {min(lengths)} to {max(lengths)} each")
    found = problems(items)
    if items != again:
        found.append("not deterministic")
    for what in found:
        print("PROBLEM:", what)
    print("all invariants hold" if not found else f"{len(found)} problem(s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
