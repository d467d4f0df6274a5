"""Lists all suites."""

from collections.abc import Sequence

from benchmarks.ablation import ABLATION
from benchmarks.abstain import ABSTAIN
from benchmarks.agent import AGENT
from benchmarks.background import BACKGROUND
from benchmarks.carryover import CARRYOVER
from benchmarks.contradiction import CONTRADICT
from benchmarks.dedup import DEDUP
from benchmarks.durability import DURABILITY
from benchmarks.extraction import EXTRACT
from benchmarks.foundation import FOUNDATION
from benchmarks.hostile import HOSTILE
from benchmarks.hygiene import HYGIENE
from benchmarks.learning import LEARN
from benchmarks.loops import LOOPS
from benchmarks.nights import NIGHTS
from benchmarks.outcomes import OUTCOMES
from benchmarks.pages import PAGE_TIMES
from benchmarks.precision import PRECISION
from benchmarks.proposals import PROPOSALS
from benchmarks.proxy import PROXY
from benchmarks.recall import RECALL
from benchmarks.reports import REPORT
from benchmarks.result import BenchMetric
from benchmarks.retire import RETIRE
from benchmarks.said import SAID
from benchmarks.speed import GROWTH, SPEED
from benchmarks.statement_pairs import STATEMENT_PAIRS
from benchmarks.suite import Suite
from benchmarks.supersession import SUPERSEDE
from benchmarks.talks import TALKS
from benchmarks.using import USE
from benchmarks.walks import WALKS
from benchmarks.world import WORLD
from festinger.errors import BadInput, NotFound

SUITES = {
    suite.name: suite
    for suite in (
        SAID,
        TALKS,
        RECALL,
        ABSTAIN,
        ABLATION,
        PRECISION,
        DEDUP,
        SUPERSEDE,
        CONTRADICT,
        STATEMENT_PAIRS,
        RETIRE,
        EXTRACT,
        HOSTILE,
        HYGIENE,
        LOOPS,
        OUTCOMES,
        USE,
        REPORT,
        PROPOSALS,
        NIGHTS,
        AGENT,
        CARRYOVER,
        FOUNDATION,
        WORLD,
        LEARN,
        SPEED,
        GROWTH,
        PAGE_TIMES,
        PROXY,
        BACKGROUND,
        DURABILITY,
        WALKS,
    )
}


def chosen_suites(names: Sequence[str], *, smoke: bool = False) -> list[Suite]:
    """The named suites, or all if none is named; a smoke run leaves out timed ones."""
    for name in names:
        if name not in SUITES:
            raise BadInput(f"`{name}` is not a suite.", hint=f"The suites are {', '.join(sorted(SUITES))}.")
    chosen = [SUITES[name] for name in dict.fromkeys(names or SUITES)]
    return [suite for suite in chosen if not (smoke and suite.timed)]


def suite_of(metric: str) -> tuple[Suite, BenchMetric]:
    """The suite that measures a metric."""
    for suite in SUITES.values():
        for known in suite.metrics:
            if known.name == metric:
                return suite, known
    raise NotFound(f"`{metric}` is no metric.", hint="`festinger bench list` names them.")
