"""How are many texts embedded so that one bad text does not lose the others?

Texts go out in batches. A batch that fails is tried again by halves, and a failing half by its halves, until
the bad text stands alone. A provider that does not answer is not a bad text: when both halves meet silence
too, the search ends, because every further call would only wait as long again.
"""

from collections.abc import Awaitable, Callable, Sequence

from festinger.embedding.embedder import Vector
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.observability.metrics import EMBEDDING_FAILED, EMBEDDING_HALVED

Call = Callable[[Sequence[str]], Awaitable[list[Vector]]]
Failure = ProviderDown | ProviderRefused
Outcome = Vector | Failure


async def in_batches(texts: Sequence[str], call: Call, *, size: int) -> list[Vector]:
    """A vector for every text; `PartlyEmbedded` if some have none, the provider's own error if none has one."""
    outcomes: list[Outcome] = []
    for start in range(0, len(texts), size):
        outcomes += await _by_halves(texts[start : start + size], call)
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            EMBEDDING_FAILED.labels(outcome.name).inc()
    return all_or_error(outcomes)


def all_or_error(outcomes: Sequence[Outcome]) -> list[Vector]:
    """The vectors, if every outcome is one; else the error that says what is missing and holds the rest."""
    failures = {place: outcome for place, outcome in enumerate(outcomes) if isinstance(outcome, Failure)}
    vectors = [None if isinstance(outcome, Failure) else outcome for outcome in outcomes]
    if not failures:
        return [vector for vector in vectors if vector is not None]
    if len(failures) == len(outcomes):
        raise failures[0]
    raise PartlyEmbedded(vectors, failures)


async def _by_halves(texts: Sequence[str], call: Call) -> list[Outcome]:
    first = await _attempt(texts, call)
    return await _narrow(texts, first, call) if isinstance(first, Failure) else first


async def _narrow(texts: Sequence[str], failure: Failure, call: Call) -> list[Outcome]:
    """The outcomes of texts of which it is known that they fail together."""
    if len(texts) == 1:
        return [failure]
    EMBEDDING_HALVED.inc()
    middle = len(texts) // 2
    halves = (texts[:middle], texts[middle:])
    answers = [await _attempt(half, call) for half in halves]
    if all(isinstance(answer, ProviderDown) for answer in answers):
        return [failure] * len(texts)
    outcomes: list[Outcome] = []
    for half, answer in zip(halves, answers, strict=True):
        outcomes += await _narrow(half, answer, call) if isinstance(answer, Failure) else answer
    return outcomes


async def _attempt(texts: Sequence[str], call: Call) -> list[Outcome] | Failure:
    try:
        return list(await call(texts))
    except (ProviderDown, ProviderRefused) as error:
        return error
