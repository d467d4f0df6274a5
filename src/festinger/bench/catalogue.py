"""Which suites are there?"""

from collections.abc import Sequence

from festinger.bench.ablation import ABLATION
from festinger.bench.abstain import ABSTAIN
from festinger.bench.contradiction import CONTRADICT
from festinger.bench.dedup import DEDUP
from festinger.bench.durability import DURABILITY
from festinger.bench.extraction import EXTRACT
from festinger.bench.foundation import FOUNDATION
from festinger.bench.hostile import HOSTILE
from festinger.bench.hygiene import HYGIENE
from festinger.bench.learning import LEARN
from festinger.bench.loops import LOOPS
from festinger.bench.outcomes import OUTCOMES
from festinger.bench.precision import PRECISION
from festinger.bench.proposals import PROPOSALS
from festinger.bench.proxy import PROXY
from festinger.bench.recall import RECALL
from festinger.bench.reports import REPORT
from festinger.bench.result import BenchMetric
from festinger.bench.said import SAID
from festinger.bench.speed import GROWTH, SPEED
from festinger.bench.suite import Suite
from festinger.bench.supersession import SUPERSEDE
from festinger.bench.using import USE
from festinger.bench.walks import WALKS
from festinger.bench.world import WORLD
from festinger.errors import BadInput, NotFound

SUITES = {
    suite.name: suite
    for suite in (
        SAID,
        RECALL,
        ABSTAIN,
        ABLATION,
        PRECISION,
        DEDUP,
        SUPERSEDE,
        CONTRADICT,
        EXTRACT,
        HOSTILE,
        HYGIENE,
        LOOPS,
        OUTCOMES,
        USE,
        REPORT,
        PROPOSALS,
        FOUNDATION,
        WORLD,
        LEARN,
        SPEED,
        GROWTH,
        PROXY,
        DURABILITY,
        WALKS,
    )
}


def chosen_suites(names: Sequence[str], *, smoke: bool = False) -> list[Suite]:
    """The suites of these names, or all of them if none is named; a smoke run leaves out those that are timed."""
    for name in names:
        if name not in SUITES:
            raise BadInput(f"`{name}` is not a suite.", hint=f"The suites are {', '.join(sorted(SUITES))}.")
    chosen = [SUITES[name] for name in dict.fromkeys(names or SUITES)]
    return [suite for suite in chosen if not (smoke and suite.timed)]


def suite_of(metric: str) -> tuple[Suite, BenchMetric]:
    """Where a metric is measured."""
    for suite in SUITES.values():
        for known in suite.metrics:
            if known.name == metric:
                return suite, known
    raise NotFound(f"`{metric}` is no metric.", hint="`festinger bench list` names them.")
