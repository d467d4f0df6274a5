"""When is a pair tried again of which no judge was sure?

After a minute, ten minutes, an hour, six hours and a day; after as many tries by one judge it is a question to a
person. Rules and small models always say the same, so without an LLM there is nothing to try again: such a pair
waits for a judge that has not seen it, or for a person. Keeping the state is left to `records`.
"""

from datetime import datetime, timedelta

DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(hours=24),
)
MAX_TRIES = 5
LLM = "llm:"


def next_try(judge: str, *, attempts: int, now: datetime, max_tries: int = MAX_TRIES) -> datetime | None:
    """When a pair is tried again after so many tries by this judge; never if a person must tell."""
    if not judge.startswith(LLM) or attempts >= max_tries:
        return None
    return now + DELAYS[min(max(attempts, 1), len(DELAYS)) - 1]


def asks_person(judge: str, *, attempts: int, max_tries: int = MAX_TRIES) -> bool:
    """Whether the judges have tried often enough."""
    return judge.startswith(LLM) and attempts >= max_tries
