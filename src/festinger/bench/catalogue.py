"""Which suites are there?"""

from collections.abc import Sequence

from festinger.bench.foundation import FOUNDATION
from festinger.bench.suite import Suite
from festinger.errors import BadInput

SUITES = {suite.name: suite for suite in (FOUNDATION,)}


def chosen_suites(names: Sequence[str]) -> list[Suite]:
    """The suites of these names, or all of them if none is named."""
    for name in names:
        if name not in SUITES:
            raise BadInput(f"`{name}` is not a suite.", hint=f"The suites are {', '.join(sorted(SUITES))}.")
    return [SUITES[name] for name in dict.fromkeys(names or SUITES)]
