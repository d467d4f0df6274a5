"""Defines every metric of Festinger.

They are all listed here so that one page shows them and a test pins the list; the packages only update them.
Labels take values from closed sets, never text of a user.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry(auto_describe=True)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Histogram bounds from 1 ms to 10 s."""

TOKENS = (10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0)
"""Histogram bounds for text sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """A metric as described on the reference page."""

    name: str
    kind: str
    meaning: str
    labels: tuple[str, ...]

    @property
    def scraped_name(self) -> str:
        """The name as scrapers see it: the format appends `_total` to counters."""
        return self.name.removesuffix("_total") + "_total" if self.kind == "counter" else self.name


LISTED: list[MetricInfo] = []
"""Every metric, in the order of this file."""


_COUNTED: dict[str, Counter | Histogram] = {}


def _listed(kind: str, name: str, meaning: str, labels: tuple[str, ...]) -> None:
    LISTED.append(MetricInfo(name=name, kind=kind, meaning=meaning, labels=labels))


def _counter(name: str, meaning: str, *labels: str) -> Counter:
    _listed("counter", name, meaning, labels)
    _COUNTED[name] = counter = Counter(name, meaning, labels, registry=REGISTRY)
    return counter


def _gauge(name: str, meaning: str, *labels: str) -> Gauge:
    _listed("gauge", name, meaning, labels)
    return Gauge(name, meaning, labels, registry=REGISTRY)


def _histogram(name: str, meaning: str, *labels: str, buckets: tuple[float, ...] = SECONDS) -> Histogram:
    _listed("histogram", name, meaning, labels)
    _COUNTED[name] = histogram = Histogram(name, meaning, labels, registry=REGISTRY, buckets=buckets)
    return histogram


DEGRADED = _counter("festinger_degraded_total", "Times that work went on without a part.", "what")
DROPPED = _counter("festinger_dropped_total", "Things lost; must stay 0.", "what")

STORE_POOL_SIZE = _gauge("festinger_store_pool_connections", "Open database connections.")
STORE_POOL_WAITING = _gauge("festinger_store_pool_waiting_requests", "Callers waiting for a connection.")
STORE_SECONDS = _histogram("festinger_store_query_seconds", "Time of a named query.", "room")
STORE_ROUND_TRIPS = _counter("festinger_store_round_trips_total", "Times that a connection waited for the database.")
STORE_ERRORS = _counter("festinger_store_errors_total", "Database errors by kind.", "kind")

EVENTS_WRITTEN = _counter("festinger_events_written_total", "Events written to the outbox.", "name")
EVENTS_DELIVERED = _counter("festinger_events_delivered_total", "Events delivered.", "subscriber")
EVENTS_DEAD = _counter("festinger_events_dead_total", "Deliveries given up.", "subscriber")
EVENTS_LAG = _gauge("festinger_events_lag_seconds", "Age of the oldest undelivered event.", "subscriber")

JOBS_DONE = _counter("festinger_jobs_done_total", "Jobs ended, by how.", "name", "result")
JOBS_WAITING = _gauge("festinger_jobs_waiting_count", "Jobs waiting.", "queue")
JOBS_SECONDS = _histogram("festinger_jobs_run_seconds", "Time of a job.", "name")

EMBEDDING_TEXTS = _counter("festinger_embedding_texts_total", "Texts embedded.", "purpose")
EMBEDDING_CACHED = _counter("festinger_embedding_cached_total", "Texts answered from the cache.", "purpose")
EMBEDDING_SECONDS = _histogram("festinger_embedding_call_seconds", "Time of an embedding call.")
EMBEDDING_HALVED = _counter("festinger_embedding_halved_total", "Failed batches tried again by halves.")
EMBEDDING_FAILED = _counter("festinger_embedding_failed_total", "Texts left without a vector.", "kind")
EMBEDDING_CLIPPED = _counter("festinger_embedding_clipped_total", "Texts longer than the model reads.")

JUDGE_FAILURES = _counter("festinger_judge_failures_total", "Answers of judges that were none.", "judge", "why")

LLM_CALLS = _counter("festinger_llm_calls_total", "Model calls.", "purpose", "result")
LLM_TOKENS = _counter("festinger_llm_tokens_total", "Tokens of model calls.", "purpose", "direction")
LLM_COST = _counter("festinger_llm_cost_usd", "Priced cost of model calls.", "purpose")
LLM_SECONDS = _histogram("festinger_llm_call_seconds", "Time of a model call.", "purpose")

PROXY_REQUESTS = _counter("festinger_proxy_requests_total", "Forwarded requests.", "route", "status")
PROXY_OVERHEAD = _histogram("festinger_proxy_overhead_seconds", "Time that the proxy added.", "phase")
PROXY_UPSTREAM_ERRORS = _counter("festinger_proxy_upstream_errors_total", "Upstream failures.", "kind")
PROXY_CANCELLED = _counter("festinger_proxy_cancelled_total", "Requests that the client left.", "window")
PROXY_MEMORY = _counter("festinger_proxy_memory_total", "What memory did for requests.", "result", "reason")
PROXY_LOOPS = _counter("festinger_proxy_loops_total", "Loops that reached a level.", "rule", "level")
PROXY_STREAM_CUTS = _counter("festinger_proxy_stream_cuts_total", "Answers cut while they streamed.", "rule")
PROXY_BREAKERS_OPEN = _gauge("festinger_proxy_breakers_open", "Sessions whose breaker is open.")
PROXY_PREFIX_CHANGED = _counter(
    "festinger_proxy_prefix_changed_total", "Prompts whose forwarded beginning changed.", "reason"
)

PROXY_CAPTURE_DROPPED = _counter("festinger_proxy_capture_dropped_total", "Captured things lost; must stay 0.")
PROXY_SPOOL_BYTES = _gauge("festinger_proxy_spool_bytes", "Captured things that wait for the store.")
PROXY_SESSIONS = _gauge("festinger_proxy_sessions", "Sessions in memory.")
PROXY_NOTES = _counter("festinger_proxy_notes_injected_total", "Notes put into requests.")
PROXY_BLOCK_TOKENS = _histogram("festinger_proxy_block_tokens", "Tokens of a new block of notes.", buckets=TOKENS)

WORLD_REFUSED = _counter("festinger_world_refused_total", "Statements of texts and models dropped.", "reason")
WORLD_ZERO_HITS = _counter("festinger_world_zero_hits_total", "Salient names that nothing is known about.")

MEMORY_LEARNT = _counter("festinger_memory_learnt_total", "Statements learnt, by what became of them.", "action")
MEMORY_REFUSED = _counter("festinger_memory_refused_total", "Statements not learnt.", "reason")
MEMORY_JUDGED = _counter("festinger_memory_judged_total", "Judgements of pairs.", "judge", "relation")
MEMORY_PENDING = _gauge("festinger_memory_pending_count", "Memories of which a judgement is open.")
MEMORY_QUARANTINED = _gauge("festinger_memory_quarantined_count", "Memories that are locked away.")
MEMORY_HELD = _gauge("festinger_memory_held_count", "Memories that wait for a decision.")
MEMORY_VECTORS_MISSING = _gauge("festinger_memory_vectors_missing_count", "Memories without a vector.")
MEMORY_SUPERSEDED = _counter("festinger_memory_superseded_total", "Memories that something newer replaced.")
MEMORY_EPISODES_UNSUMMARISED = _gauge(
    "festinger_memory_episodes_unsummarised_count", "Closed episodes that wait for their summary."
)
MEMORY_CENSOR_TRIGGERS = _counter("festinger_memory_censor_triggers_total", "Times that a censor struck.", "action")
CENSORS_FAILED = _counter(
    "festinger_memory_censors_failed_total", "Texts that passed because censors could not be asked."
)
MEMORY_UNDONE = _counter("festinger_memory_undone_total", "Changes that were taken back.")

OUTCOMES = _counter("festinger_outcomes_total", "Outcomes recorded.", "outcome", "how")
OUTCOMES_RATE = _gauge("festinger_outcomes_rate", "Share of what was surfaced that came to an outcome, in a week.")
OUTCOMES_SKIPPED = _counter("festinger_outcomes_skipped_total", "Ids that no outcome could be given to.", "why")
OUTCOMES_UNREADABLE = _counter(
    "festinger_outcomes_unreadable_total", "Notes whose outcome cannot be read from what was said."
)
OUTCOMES_FAULTS = _counter("festinger_outcomes_faults_total", "Turns whose outcomes could not be inferred.")
SURFACINGS_PENDING = _gauge("festinger_surfacings_pending", "Memories surfaced that wait for an outcome.")

RECALL_SECONDS = _histogram("festinger_recall_seconds", "Time that a recall took.")
RECALLS = _counter("festinger_recalls_total", "Recalls, by what came of them.", "door", "result")
RECALL_ARM_SECONDS = _histogram("festinger_recall_arm_seconds", "Time that a way of searching took.", "arm")
RECALL_DEGRADED = _counter("festinger_recall_degraded_total", "Recalls that went on without something.", "what")
RECALL_UNRECORDED = _counter("festinger_recall_unrecorded_total", "Recalls that could not be written down.")
DORMANT = _gauge("festinger_dormant", "Memories that sleep.")

PROPOSALS_SIGHTINGS = _counter("festinger_proposals_sightings_total", "Sightings stored.", "counted")
PROPOSALS_MERGED = _counter("festinger_proposals_merged_total", "Sightings of what was proposed before.")
PROPOSALS_COLLISIONS = _counter(
    "festinger_proposals_collisions_total", "Equal fingerprints of different words; must stay 0."
)
PROPOSALS_PROMOTED = _counter("festinger_proposals_promoted_total", "Proposals put before a person.")
PROPOSALS_SUPPRESSED = _counter("festinger_proposals_suppressed_total", "Sightings of what was rejected.")
PROPOSALS_VERDICTS = _counter("festinger_proposals_verdicts_total", "Verdicts acted on.", "verdict")
PROPOSALS_APPLIED = _counter("festinger_proposals_applied_total", "Approvals in force.", "type")
PROPOSALS_UNDONE = _counter("festinger_proposals_undone_total", "Approvals taken back.")
PROPOSALS_BLIND = _counter(
    "festinger_proposals_read_before_emit_degraded_total", "Sightings told without reading what stands."
)
PROPOSALS_DROPPED = _counter(
    "festinger_proposals_dropped_total", "Changes that a model wanted and that are not proposed.", "why"
)
PROPOSALS_OPEN = _gauge("festinger_proposals_open", "Proposals that wait for a person.")
PROPOSALS_HELD = _gauge("festinger_proposals_held", "Proposals that are kept back.", "why")
PROPOSALS_PAUSED = _gauge("festinger_proposals_paused", "Spaces whose inbox is full.")
PROPOSALS_RATE = _gauge(
    "festinger_proposals_promotion_rate", "Share of what was sighted that was promoted, in the window."
)
PROPOSALS_VALUE = _gauge(
    "festinger_proposals_producer_value", "What asking has paid, by who asked.", "producer", "category"
)

NIGHTS = _counter("festinger_consolidation_nights_total", "Nightly runs that ended, by how.", "state")
SAFETY_EVENTS = _counter("festinger_consolidation_stopped_total", "Weight changes that a ceiling met.", "ceiling")

SETTINGS_REFUSED = _counter("festinger_settings_refused_total", "Edits of settings that were refused.", "source")
CACHE_RELOADS = _counter("festinger_store_cache_reloads_total", "Caches reloaded, by why.", "room", "why")


def render_metrics() -> bytes:
    """Render all metrics in the Prometheus text format."""
    return generate_latest(REGISTRY)


Counts = dict[tuple[str, tuple[str, ...]], list[float]]
"""Values of counters and histograms by name and labels."""


def read_counts() -> Counts:
    """Read what this process has counted, so that a worker can report it to its server."""
    return {
        (name, labels): [value.get() for value in _values(child)]
        for name, metric in _COUNTED.items()
        for labels, child in _children(metric)
    }


def take_counts_since(before: Counts) -> list[tuple[str, tuple[str, ...], list[float]]]:
    """Return what was counted after `before`, and bring `before` up to now."""
    changed = []
    for key, values in read_counts().items():
        last = before.get(key, [0.0] * len(values))
        if values != last:
            changed.append((*key, [now - then for now, then in zip(values, last, strict=True)]))
            before[key] = values
    return changed


def add_counts(changes: Iterable[tuple[str, Sequence[str], Sequence[float]]]) -> None:
    for name, labels, amounts in changes:
        metric = _COUNTED[name]
        child = metric.labels(*labels) if labels else metric
        for value, amount in zip(_values(child), amounts, strict=True):
            value.inc(amount)


def _children(metric: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    # The library offers no way to add to a histogram's buckets; its own multi-process mode needs files.
    yield from tuple(metric._metrics.items()) if metric._labelnames else [((), metric)]  # noqa: SLF001


def _values(child: Any) -> list[Any]:
    return [child._value] if isinstance(child, Counter) else [child._sum, *child._buckets]  # noqa: SLF001
