"""Is a failed job tried again, and when?

A pure decision. What may mend itself (a provider or the database is away) gets eight attempts over about five
hours; what cannot (bad input, a refusal) gets one; everything else three. Doing it is `attempt`'s matter.
"""

import random
from datetime import timedelta

from festinger.errors import BadInput, ProviderDown, ProviderRefused, StoreDown

PATIENT = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=3),
)
"""The pauses between eight attempts."""

BRIEF = PATIENT[:2]
JITTER = 0.2

MENDS_ITSELF = (ProviderDown, StoreDown)
HOPELESS = (BadInput, ProviderRefused)


def pauses(error: BaseException) -> tuple[timedelta, ...]:
    """The pauses before each further attempt after such an error."""
    if isinstance(error, HOPELESS):
        return ()
    if isinstance(error, MENDS_ITSELF):
        return PATIENT
    return BRIEF


def retry_after(error: BaseException, *, failures: int, chance: random.Random) -> timedelta | None:
    """How long to wait after this many failures, the last with `error`; `None` gives the job up.

    The jitter keeps jobs that failed together from coming back together.
    """
    planned = pauses(error)
    if failures > len(planned):
        return None
    return planned[failures - 1] * chance.uniform(1 - JITTER, 1 + JITTER)
