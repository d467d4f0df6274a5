"""Runs one attempt of a job and decides whether it is retried.

This is the job edge: the one place in the package that catches whatever a job raises. The error is stored
with the job, and the engine learns the decision through one of three small exceptions that carry no error
text. Being interrupted or postponed costs no attempt. Errors that may pass (provider or database down) get
eight attempts over about five hours, hopeless ones (bad input, refusal) one, everything else three.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from procrastinate import BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.exceptions import JobAborted
from procrastinate.jobs import Job

from festinger.clock import Clock, Stopwatch
from festinger.errors import BadInput, FestingerError, ProviderDown, ProviderRefused, StoreDown
from festinger.jobs.backpressure import IdleGate, read_backlog
from festinger.jobs.model import EndedJob, JobCancelledError, JobDefinition, JobEndState, JobRun, Watch
from festinger.observability.metrics import JOBS_DONE, JOBS_SECONDS
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

PATIENT = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=3),
)
"""The delays between eight attempts."""

BRIEF = PATIENT[:2]
JITTER = 0.2

MENDS_ITSELF = (ProviderDown, StoreDown)
HOPELESS = (BadInput, ProviderRefused)


def retry_delays(error: BaseException) -> tuple[timedelta, ...]:
    """Return the delays before each further attempt after such an error."""
    if isinstance(error, HOPELESS):
        return ()
    if isinstance(error, MENDS_ITSELF):
        return PATIENT
    return BRIEF


def retry_after(error: BaseException, *, failures: int, chance: random.Random) -> timedelta | None:
    """Return how long to wait after this many failures, the last with `error`; `None` gives the job up.

    The jitter keeps jobs that failed together from coming back together.
    """
    planned = retry_delays(error)
    if failures > len(planned):
        return None
    return planned[failures - 1] * chance.uniform(1 - JITTER, 1 + JITTER)


log = structlog.get_logger()

Q = load_queries("festinger.jobs")

POSTPONE = timedelta(minutes=1)
MAX_ERROR = 500

Redact = Callable[[str], str]
Setting = Callable[[str], Any]
"""Reads the current value of a setting by its full name."""


class RetryLaterError(Exception):
    """The job goes back to its queue until `at`."""

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self.at = at


class JobGivenUpError(Exception):
    """The job is dead."""


class AttemptRetryStrategy(BaseRetryStrategy):
    """Passes the decision of an attempt to the engine."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        match exception:
            case RetryLaterError():
                return RetryDecision(retry_at=exception.at)
            case JobGivenUpError():
                return None
            case asyncio.CancelledError():
                # The worker is stopping; the next one takes the job at once.
                return RetryDecision()
            case _ if isinstance(exception, StoreDown) or job.attempts < len(PATIENT):
                # The failure itself could not be stored, so nothing was decided.
                return RetryDecision(retry_in={"seconds": int(PATIENT[0].total_seconds())})
            case _:
                return None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDeps:
    """What every attempt needs, whatever the job."""

    store: Store
    clock: Clock
    stopwatch: Stopwatch
    chance: random.Random
    setting: Setting
    redact: Redact
    watch: Watch
    courtesy: IdleGate


async def run_attempt(deps: JobDeps, work: JobDefinition, context: JobContext, ids: Mapping[str, Any]) -> None:
    job = context.job
    assert job.id is not None
    run = JobRun(job.id, work.name, store=deps.store, clock=deps.clock, stopwatch=deps.stopwatch, limit=work.limit)
    await deps.courtesy.turn()
    began = deps.stopwatch()
    try:
        await _check_cancel_or_postpone(deps, work, job)
        with structlog.contextvars.bound_contextvars(job=job.id, job_name=work.name):
            async with run.start_watchdog():
                await work.operation(run, **ids)
    except RetryLaterError:
        raise
    except JobCancelledError:
        await _ended(deps, work, "cancelled")
        raise JobAborted from None
    except asyncio.CancelledError:
        await _uncount_attempt(deps, job)
        raise
    except Exception as error:  # noqa: BLE001 - the job edge: a deed may raise anything, the queue goes on
        raise await _failed(deps, work, job, ids=ids, error=error) from None
    JOBS_SECONDS.labels(work.name).observe(deps.stopwatch() - began)
    await _ended(deps, work, "done")


async def _check_cancel_or_postpone(deps: JobDeps, work: JobDefinition, job: Job) -> None:
    """Handle what was asked of the job while it waited: to be cancelled, or to make way."""
    if job.attempts:
        record = await deps.store.maybe(Q["record_of"], job=job.id)
        if record is not None and record["cancel_asked_at"] is not None:
            raise JobCancelledError
    if work.low_value and (await read_backlog(deps.store, max_waiting=deps.setting("jobs.max_waiting"))).behind:
        raise RetryLaterError(await _uncount_attempt(deps, job) + POSTPONE)


async def _uncount_attempt(deps: JobDeps, job: Job) -> datetime:
    async with deps.store.transaction() as transaction:
        await transaction.run(Q["leave_queueing_lock"], job=job.id)
        moment: datetime = await transaction.value(Q["forgive_attempt"], job=job.id, name=job.task_name)
    return moment


async def _failed(
    deps: JobDeps, work: JobDefinition, job: Job, *, ids: Mapping[str, Any], error: Exception
) -> RetryLaterError | JobGivenUpError:
    name, text = describe_error(error, deps.redact)
    async with deps.store.transaction() as transaction:
        record = await transaction.one(
            Q["record_failure"], job=job.id, name=work.name, error=name, error_text=text, now=deps.clock()
        )
        failures = job.attempts + 1 - record["forgiven"] - record["worker_deaths"]
        pause = retry_after(error, failures=failures, chance=deps.chance)
        if pause is None:
            ending = EndedJob(
                end=JobEndState.DEAD, job=job.id or 0, name=work.name, ids=dict(ids), error=name, text=text
            )
            await mark_job_dead(transaction, ending, now=deps.clock(), watch=deps.watch)
        else:
            await transaction.run(Q["leave_queueing_lock"], job=job.id)
    log.warning("job failed", room="jobs", job=job.id, job_name=work.name, error=name, failures=failures)
    if pause is None:
        await _ended(deps, work, "dead")
        return JobGivenUpError()
    JOBS_DONE.labels(work.name, "failed").inc()
    return RetryLaterError(record["engine_now"] + pause)


async def mark_job_dead(transaction: Transaction, ending: EndedJob, *, now: datetime, watch: Watch) -> None:
    """Mark a job as dead and notify once: an attempt that is repeated after a crash finds it marked."""
    if await transaction.run(Q["mark_dead"], job=ending.job, now=now):
        await watch(transaction, ending)


async def _ended(deps: JobDeps, work: JobDefinition, result: str) -> None:
    JOBS_DONE.labels(work.name, result).inc()
    if work.schedule:
        await deps.store.run(Q["note_result"], name=work.name, result=result, now=deps.clock())


def describe_error(error: Exception, redact: Redact) -> tuple[str, str]:
    """Return the name and text of an error, as they are stored with a job."""
    if isinstance(error, FestingerError):
        return error.name, redact(error.message)[:MAX_ERROR]
    return type(error).__name__, redact(str(error))[:MAX_ERROR]
