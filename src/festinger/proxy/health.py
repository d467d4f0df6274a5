"""Health checks of the proxy as data, for `doctor` and the health pages.

They cover upstreams, capture, prompt stability, and how often memory served the requests of the last hour.
Any HTTP response of an upstream counts as healthy, even one that asks for a key.
"""

import asyncio
from collections import Counter as Counts
from datetime import datetime, timedelta

from prometheus_client import Counter, Gauge

from festinger.observability.checks import Check, failed_check, ok_check, warning_check
from festinger.observability.metrics import PROXY_BREAKERS_OPEN, PROXY_PREFIX_CHANGED
from festinger.proxy.capture.queue import QUEUE, CaptureWriter
from festinger.proxy.headers import MemoryReason, MemoryResult
from festinger.proxy.routes import ApiProtocol
from festinger.proxy.transport.upstream import UpstreamClient, UpstreamUnreachableError, find_upstream_base
from festinger.settings.tree import ProxySettings
from festinger.store.pool import Store
from festinger.store.repositories.request_log import count_requests

NAME = "proxy.upstream"
PATIENCE_SECONDS = 5.0

SERVED = "proxy.memory"
HOUR = timedelta(hours=1)
MUCH = 0.05
"""Share of an hour's requests that may go without memory before the check fails."""
FEW = 20
"""With fewer requests than this, the share says little."""
WITHOUT = frozenset({MemoryResult.LATE, MemoryResult.FAILED, MemoryResult.NOT_READY})

_WAIT = (
    "The machine or the store is slow: see the other checks. `proxy.first_memory_deadline_ms` and "
    "`proxy.memory_deadline_ms` say how long a request waits."
)
CAUSES: dict[str, tuple[str, str]] = {
    MemoryReason.RECALL: ("memory took longer than a request waits", _WAIT),
    MemoryReason.WORDS: ("finding by meaning took longer than a request waits", _WAIT),
    MemoryReason.BUSY: (
        "more requests asked memory at once than it could answer",
        "Let fewer agents ask at the same time, or run Festinger on a faster machine.",
    ),
    MemoryReason.STORE: (
        "the store was not open",
        "It opens within seconds of a start; `store.server` says what is wrong if it stays closed.",
    ),
    MemoryReason.FAULT: (
        "something inside Festinger broke",
        "The log of `festinger serve` has the details; please report them.",
    ),
}
"""Explanation and remedy for each reason."""

MEGABYTE = 2**20
BEHIND_BYTES = 16 * MEGABYTE
"""More bytes than this in the spool mean that the store does not keep up."""


async def check_upstreams(
    upstream: UpstreamClient, settings: ProxySettings, *, patience: float = PATIENCE_SECONDS
) -> list[Check]:
    bases = dict.fromkeys(find_upstream_base(protocol, settings) for protocol in ApiProtocol)
    return list(await asyncio.gather(*(_check_upstream(upstream, base, patience) for base in bases)))


async def _check_upstream(upstream: UpstreamClient, base: str, patience: float) -> Check:
    try:
        async with asyncio.timeout(patience):
            answer = await upstream.send("GET", base, b"/")
    except UpstreamUnreachableError as error:
        return warning_check(NAME, error.message, error.hint, upstream=base, kind=error.kind)
    except TimeoutError:
        return warning_check(
            NAME, f"The upstream `{base}` does not answer.", "Look at its log.", upstream=base, kind="silent"
        )
    answer.close()
    return ok_check(NAME, f"The upstream `{base}` answers.", upstream=base, status=answer.status)


def check_capture(writer: CaptureWriter) -> list[Check]:
    return [_check_queue(writer), _check_spool(writer)]


def _check_queue(writer: CaptureWriter) -> Check:
    dropped = sum(writer.tally.dropped.values())
    if dropped:
        return failed_check(
            "proxy.capture",
            f"{dropped} captured things were dropped since the start.",
            "Look at `store.server` and at the disk; raise `proxy.spool_max_mb` if the store is away for long.",
            dropped=dict(writer.tally.dropped),
        )
    if writer.disk_fault:
        return failed_check(
            "proxy.capture",
            f"Captured exchanges cannot be written to disk ({writer.disk_fault}); {writer.waiting} wait in memory.",
            "Free space in the home, or mend its disk; what waits in memory is lost if the server is killed.",
            waiting=writer.waiting,
        )
    if writer.waiting > QUEUE // 2:
        return warning_check(
            "proxy.capture",
            f"{writer.waiting} exchanges wait to be written.",
            "The disk is slower than the requests.",
            waiting=writer.waiting,
        )
    return ok_check("proxy.capture", "What passes through is kept.", waiting=writer.waiting)


def _check_spool(writer: CaptureWriter) -> Check:
    if aside := writer.set_aside:
        return warning_check(
            "proxy.spool",
            f"Records of {aside} bytes could not be read or written and were set aside.",
            "They lie in `spool/spool.bad` of the home; look at them, then remove the file.",
            set_aside=aside,
        )
    waiting = writer.spooled
    # Every exchange passes through the spool; only one that stays there matters.
    if waiting > BEHIND_BYTES or (waiting and not writer.has_store):
        return warning_check(
            "proxy.spool",
            f"{waiting / MEGABYTE:.1f} MB of what was said wait for the store.",
            "They are written by themselves when it is back; look at `store.server` if this stays.",
            waiting_bytes=waiting,
        )
    return ok_check("proxy.spool", "The store keeps up with what is said.", waiting_bytes=waiting)


def check_prefixes_and_loops() -> list[Check]:
    """Check whether prompts kept their prefixes, and whether loops had to be stopped."""
    moved, stopped = metric_total(PROXY_PREFIX_CHANGED), metric_total(PROXY_BREAKERS_OPEN)
    prefix = ok_check("proxy.prefix", "Prompts keep their beginnings.", changed=moved)
    if moved:
        prefix = warning_check(
            "proxy.prefix",
            f"{moved} prompts lost their beginning since the start; the model had to read those anew.",
            "`festinger_proxy_prefix_changed_total` says why; `proxy.injection_position: turn` keeps them.",
            changed=moved,
        )
    breakers = ok_check("proxy.breakers", "No session is stopped.", open=stopped)
    if stopped:
        breakers = warning_check(
            "proxy.breakers",
            f"{stopped} sessions go round in circles and are stopped.",
            "Look at `/admin/loops`; a message of a person lets a session go on.",
            open=stopped,
        )
    return [prefix, breakers]


def metric_total(metric: Counter | Gauge) -> int:
    """Sum of a metric over all labels."""
    samples = [sample for family in metric.collect() for sample in family.samples]
    return int(sum(sample.value for sample in samples if not sample.name.endswith("_created")))


async def check_memory_coverage(store: Store, *, now: datetime) -> Check:
    """Check how many requests of the last hour went without memory, and name the most common cause."""
    counts = await count_requests(store, since=now - HOUR)
    total = sum(number for (result, _), number in counts.items() if result != MemoryResult.OFF)
    missed = Counts({why: number for why, number in counts.items() if why[0] in WITHOUT})
    share = missed.total() / total if total else 0.0
    reasons = {" ".join(why).strip(): number for why, number in missed.items()}
    details = {"requests": total, "without": missed.total(), "reasons": reasons}
    if total < FEW or share <= MUCH:
        message = f"{total} requests in the last hour, {missed.total()} of them without memory."
        return ok_check(SERVED, message, **details)
    [((result, reason), _)] = missed.most_common(1)
    cause, remedy = explain_missing_memory(result, reason)
    message = f"{share:.0%} of the {total} requests of the last hour went without memory, mostly because {cause}."
    return failed_check(SERVED, message, remedy, **details)


def explain_missing_memory(result: str, reason: str) -> tuple[str, str]:
    """Explain why memory was missing, and what to do about it."""
    if reason in CAUSES:
        return CAUSES[reason]
    if result == MemoryResult.NOT_READY:
        return CAUSES[MemoryReason.STORE]
    if result == MemoryResult.LATE:
        return CAUSES[MemoryReason.RECALL]
    return (f"memory failed ({reason or 'no reason was given'})", "The log of `festinger serve` has the details.")
