"""May one more call be made now?

Two limits of the deployment: calls an hour for each purpose, and dollars a day for all of them. Over a limit
the answer is `Overloaded` with the reason; the work that wanted the model waits and is not decided
otherwise. Counting is the ledger's matter, waiting the caller's.
"""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from festinger.errors import Overloaded
from festinger.llm.call import Tally
from festinger.llm.port import Purpose

HOUR = timedelta(hours=1)
DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    calls_per_hour: int = 1000
    daily_usd: Decimal | None = None


def check_calls(purpose: Purpose, limits: Limits, *, hour: Tally, under_way: int) -> None:
    """Refuse a call beyond the hour's; those under way are not in the ledger yet and count too."""
    if hour.calls + under_way < limits.calls_per_hour:
        return
    raise Overloaded(
        f"The limit of {limits.calls_per_hour} model calls an hour for `{purpose}` is reached.",
        hint="The work waits; raise `llm.max_calls_per_hour` to go on sooner.",
        limit="llm.max_calls_per_hour",
        purpose=purpose.value,
    )


def check_money(limits: Limits, *, day: Tally) -> None:
    """Refuse a call once the day's money is spent. Calls without a known price cannot be counted."""
    if limits.daily_usd is None or day.cost_usd < limits.daily_usd:
        return
    raise Overloaded(
        f"Model calls cost {day.cost_usd:.2f} USD in the last 24 hours; the limit is {limits.daily_usd:.2f} USD.",
        hint="The work waits; raise `llm.daily_limit_usd` to go on sooner.",
        limit="llm.daily_limit_usd",
        unpriced_calls=day.unpriced,
    )
