"""How much of a task had been done before?

The levels answer to strict repeats. Wasted effort is wider: the same question in other words, a page read again
much later. This sums, over all steps, how much each resembles an earlier one: a call that was made before counts
as one, an answer as much as it shares with the most similar of those before it. It is for showing and ranking,
never for acting, and compares every answer with every other: not for the path of a request.
"""

from collections.abc import Sequence

from festinger.proxy.loops.steps import Answer, Item, Step


def redone(items: Sequence[Item]) -> float:
    """Steps' worth of work that repeats earlier work."""
    calls = [item.deed for item in items if isinstance(item, Step)]
    answers = [item for item in items if isinstance(item, Answer)]
    again = len(calls) - len(set(calls))
    return again + sum(_most_alike(answer, answers[:at]) for at, answer in enumerate(answers))


def _most_alike(answer: Answer, earlier: Sequence[Answer]) -> float:
    ours = answer.key.shingles
    return max((_share(ours, other.key.shingles) for other in earlier), default=0.0)


def _share(ours: frozenset[int], theirs: frozenset[int]) -> float:
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0
