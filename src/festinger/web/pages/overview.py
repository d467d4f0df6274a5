"""The start page at `/admin`: what needs a person, what was learned today, four charts, and health in one line.

Without a login it shows no memory, only how to begin and the next setup step if one is missing; so it is open to
callers on this machine.

Draws charts of daily numbers as data for SVG: stacked bars for counts, lines for quantities.

Positions are computed here and drawn by the template, with a table of the same numbers below. A chart without
numbers is not drawn.

Reads the numbers of the last days for the charts of the console.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from typing import Any

from festinger import __version__
from festinger.ids import DEFAULT_AGENT, Scope, SpaceId
from festinger.memory.query import MemoryFilter, browse_memories, count_daily_by_kind
from festinger.observability.checks import Check, CheckSeverity, worst_severity
from festinger.outcomes.stats import count_daily_outcomes
from festinger.proposals.gate import InboxStatus
from festinger.proposals.inbox import ProposalQuery
from festinger.proposals.model import ReviewChannel
from festinger.runtime.app import App
from festinger.services.nights import get_night, list_nights
from festinger.store.repositories.models import daily_costs
from festinger.store.repositories.request_log import daily_overhead
from festinger.web.api.proposals import build_review_service
from festinger.web.auth import AccessScope
from festinger.web.pages.conflicts import resolution_status
from festinger.web.render import INBOX, START, add_page
from festinger.web.route import AdminCall, RouteTable, viewer_of


async def load_daily_counts(app: App, space: SpaceId, *, days: int) -> dict[str, list[dict[str, Any]]]:
    """Return the numbers of each day, today included; days without any are missing."""
    since = start_of_today(app) - timedelta(days=days - 1)
    return {
        "memories": await count_daily_by_kind(app.memory.deps, space, since),
        "outcomes": await count_daily_outcomes(app.outcomes.deps, space, since),
        "overhead": await daily_overhead(app.store, space, since),
        "costs": await daily_costs(app.store, space, since),
    }


def start_of_today(app: App) -> datetime:
    """When today began, in UTC."""
    return datetime.combine(app.tools.clock().astimezone(UTC).date(), time(), UTC)


WIDTH, HEIGHT = 460, 160
LEFT, TOP, BOTTOM = 40, 12, 24
HUES = 6

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBar:
    x: float
    y: float
    width: float
    height: float
    hue: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    points: str
    hue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    id: str
    title: str
    unit: str
    days: Sequence[date]
    names: Sequence[str]
    table: Sequence[tuple[date, Sequence[float | None]]]
    """Days that have numbers, with a number for each name."""
    highest: float
    bars: Sequence[ChartBar] = ()
    lines: Sequence[ChartLine] = ()


def lay_out_chart(
    id_: str, title: str, unit: str, rows: Rows, *, names: Sequence[str], last: date, days: int, stacked: bool = True
) -> Chart | None:
    """Draw rows of a day and a number for each name; nothing if there is no number above zero."""
    if not any(row.get(name) for row in rows for name in names):
        return None
    shown = [last - timedelta(days=days - 1 - at) for at in range(days)]
    by_day = {row["day"]: row for row in rows}
    table = [(day, [by_day[day].get(name) for name in names]) for day in shown if day in by_day]
    tops = [
        sum(value or 0 for value in values) if stacked else max(value or 0 for value in values) for _, values in table
    ]
    highest = max(tops, default=0) or 1
    step, scale = (WIDTH - LEFT) / days, (HEIGHT - TOP - BOTTOM) / highest
    places = {day: LEFT + at * step for at, day in enumerate(shown)}
    bars = [bar for day, values in table for bar in _stack_bars(day, values, names, places[day], step, scale)]
    lines = [_line([(places[day], values[at]) for day, values in table], at, step, scale) for at in range(len(names))]
    return Chart(
        id=id_,
        title=title,
        unit=unit,
        days=shown,
        names=names,
        table=table,
        highest=highest,
        bars=bars if stacked else (),
        lines=() if stacked else lines,
    )


def pivot_rows(rows: Rows) -> tuple[list[dict[str, Any]], list[str]]:
    """Turn rows of day, name and number into a row a day; with the names, most frequent first."""
    days: dict[date, dict[str, Any]] = {}
    totals: dict[str, float] = {}
    for row in rows:
        days.setdefault(row["day"], {"day": row["day"]})[row["name"]] = row["number"]
        totals[row["name"]] = totals.get(row["name"], 0) + row["number"]
    return list(days.values()), sorted(totals, key=lambda name: (-totals[name], name))


def _stack_bars(
    day: date, values: Sequence[float | None], names: Sequence[str], x: float, step: float, scale: float
) -> list[ChartBar]:
    tops = accumulate(value or 0 for value in values)
    return [
        ChartBar(
            x=round(x + 1, 1),
            y=round(HEIGHT - BOTTOM - top * scale, 1),
            width=round(max(step - 2, 1), 1),
            height=round(value * scale, 1),
            hue=at % HUES,
            label=f"{day}: {value:g} {names[at]}",
        )
        for at, (value, top) in enumerate(zip(values, tops, strict=True))
        if value
    ]


def _line(found: Sequence[tuple[float, float | None]], at: int, step: float, scale: float) -> ChartLine:
    points = [(x + step / 2, HEIGHT - BOTTOM - value * scale) for x, value in found if value is not None]
    if len(points) == 1:
        # One point alone would not be seen: a day wide.
        (x, y) = points[0]
        points = [(x - step / 2, y), (x + step / 2, y)]
    return ChartLine(points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), hue=at % HUES)


ROUTES = RouteTable()
MOST_WAITING = 5
MOST_LEARNED = 10
CHARTS = (
    ("memories", "Memories learned", "a day, by kind"),
    ("outcomes", "What became of notes", "outcomes a day"),
    ("overhead", "Time that memory adds to a request", "ms, median and 95th percentile of a day"),
    ("costs", "Cost of model calls", "US dollars a day, by purpose"),
)
UPSTREAM = "proxy.upstream"
"""The name of the check that asks the upstream."""


def next_steps(checks: Sequence[Check], *, upstream: str) -> list[dict[str, str]]:
    """The steps that a person has to take, most urgent first; empty when all is well."""
    away = {"say": f"Nothing answers at {upstream}. Start your model server there, or name another one:"}
    away["command"] = "festinger settings set proxy.upstream http://127.0.0.1:8080"
    return [
        {"command": "", "say": f"{check.message} {check.remedy}".strip(), "severity": check.severity.value}
        | (away if check.name == UPSTREAM else {})
        for check in checks
        if check.severity is CheckSeverity.FAIL or (check.name == UPSTREAM and check.severity is not CheckSeverity.OK)
    ]


def client_instructions(base: str) -> list[dict[str, str]]:
    """How to point each kind of client at this server."""
    return [
        {"name": "ollama (Python)", "setting": f'Client(host="{base}")'},
        {"name": "ollama (command)", "setting": f"OLLAMA_HOST={base}"},
        {"name": "openai", "setting": f'OpenAI(base_url="{base}/v1")'},
        {"name": "anthropic", "setting": f'Anthropic(base_url="{base}")'},
        {"name": "curl", "setting": f"curl {base}/api/tags"},
    ]


@add_page(ROUTES, START, "overview.html", AccessScope.OPEN)
async def load_overview_page(call: AdminCall) -> dict[str, Any]:
    """What needs a person, what was learned today, and how things are; without a login, how to begin."""
    settings = call.supervisor.settings.now
    checks = await call.supervisor.recent_checks()
    is_known = call.admission.may(AccessScope.READ) and call.supervisor.is_open()
    return {
        "version": __version__,
        "upstream": settings.proxy.upstream,
        "steps": next_steps(checks, upstream=settings.proxy.upstream),
        "clients": client_instructions(f"{call.request.url.scheme}://{call.request.url.netloc}"),
        "health": {"worst": worst_severity(checks).value, "says": health_sentence(checks)},
        "world": await resolution_status(call) if call.supervisor.is_open() else None,
        **(
            await _load_overview_details(call)
            if is_known
            else {"waiting": None, "learned": None, "night": None, "charts": []}
        ),
    }


def health_sentence(checks: Sequence[Check]) -> str:
    """How things are, in one line."""
    counts = Counter(check.severity for check in checks)
    if counts[CheckSeverity.FAIL]:
        return f"{counts[CheckSeverity.FAIL]} of {len(checks)} checks fail."
    if counts[CheckSeverity.WARN]:
        return f"It runs; {counts[CheckSeverity.WARN]} of {len(checks)} checks ask for attention."
    return f"All {len(checks)} checks are fine."


async def _load_overview_details(call: AdminCall) -> dict[str, Any]:
    review = build_review_service(call, ReviewChannel.CONSOLE)
    around = await review.overview(limit=MOST_WAITING)
    proposals = await review.listed(ProposalQuery(standing=InboxStatus.OPEN, limit=MOST_WAITING))
    groups = [each for each in around["elsewhere"] if each["count"]]
    if proposals:
        items = [
            {"title": each["what"], "link": f"{INBOX}/{each['id']}", "why": each["category"]} for each in proposals
        ]
        groups.insert(0, {"kind": "proposals", "count": around["open"], "items": items})
    agent, today = viewer_of(call), start_of_today(call.app)
    scope = Scope(space=call.space, agent=agent or DEFAULT_AGENT)
    wanted = MemoryFilter(since=today, everybodys=agent is None)
    learned = await browse_memories(call.app.memory.deps, scope, wanted, limit=MOST_LEARNED)
    return {
        "waiting": groups,
        "learned": [each.as_json() for each in learned],
        "today": today.date().isoformat(),
        "night": await _load_last_night(call),
        "charts": await _load_charts(call),
    }


async def _load_last_night(call: AdminCall) -> dict[str, Any] | None:
    """The last run of consolidation that is over, in words."""
    over = [each for each in await list_nights(call.app, space=call.space, limit=MOST_WAITING) if each.finished_at]
    return (await get_night(call.app, space=call.space, id=over[0].id)).as_json() if over else None


async def _load_charts(call: AdminCall) -> list[Chart | dict[str, str]]:
    """The four charts; for one that has no numbers, what it would show."""
    days = call.supervisor.settings.now.console.chart_days
    found, last = await load_daily_counts(call.app, call.space, days=days), start_of_today(call.app).date()
    charts: list[Chart | dict[str, str]] = []
    for name, title, unit in CHARTS:
        is_overhead = name == "overhead"
        rows, names = (found[name], ["p50", "p95"]) if is_overhead else pivot_rows(found[name])
        drawn = lay_out_chart(name, title, unit, rows, names=names, last=last, days=days, stacked=not is_overhead)
        charts.append(drawn or {"id": name, "title": title})
    return charts
