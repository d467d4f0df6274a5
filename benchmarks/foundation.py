"""The suite `foundation`: passing requests through, startup, resident memory, embedding."""

from benchmarks import passthrough, sentences, start
from benchmarks.suite import Bench, Suite, SuiteResult

PARTS = (start.measure, passthrough.measure, sentences.measure)
"""In this order: the first part makes the home that the second one reuses."""


async def measure(bench: Bench) -> SuiteResult:
    """Run every part once, one after the other."""
    found = [await part(bench) for part in PARTS]
    return SuiteResult(
        samples=[sample for one in found for sample in one.samples],
        systems=[system for one in found for system in one.systems],
    )


FOUNDATION = Suite(
    name="foundation",
    about="What passing through us costs, how soon we are there, what we hold, how fast the embedder is.",
    metrics=[*passthrough.METRICS, *start.METRICS, *sentences.METRICS],
    measure=measure,
)
