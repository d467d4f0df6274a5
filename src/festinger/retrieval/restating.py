"""Does one turn say again, with other numbers, what another said?

What was said has no slot that it fills, and its vector holds its neighbours' words: that two turns are near says little
of what they tell. Two that hold the same words of a question, and each an amount, a day or an hour, but not the same
ones, answer it twice: the weekly target was 1,200 words, then 1,350. Which of the two holds is not decided here.
"""

import re
from collections.abc import Callable

from festinger.retrieval.candidate import Candidate

MOSTLY = 0.7
"""Share of what either holds of a cue that both must hold, by what the words say. Chosen on the developers' half: from
0.5 to 0.7 the newer comes first as often, and the less is shared the more often it stands before what answers better."""

_AMOUNT = re.compile(r"\d(?:[\d,.:]*\d)?")


def restates(one: Candidate, other: Candidate, *, worth: Callable[[str], float]) -> bool:
    """Whether both tell of the same with different numbers; `worth` is how much a word of the cue says."""
    mine, yours = one.held.inside, other.held.inside
    shared = sum(map(worth, sorted(mine & yours)))
    if shared <= 0.0 or shared < MOSTLY * sum(map(worth, sorted(mine | yours))):
        return False
    said, said_again = _amounts(one), _amounts(other)
    return bool(said and said_again) and said != said_again


def _amounts(each: Candidate) -> set[str]:
    return set(_AMOUNT.findall(each.content))
