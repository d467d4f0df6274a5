"""What is done about a loop at which level?

Each level adds the next step of the ladder to those below it. The person who runs the proxy may put the steps in
another order or leave some out; with the guard off, loops are seen and told but nothing is done.
"""

from festinger.settings.tree import LadderStep, LoopSettings


def steps_at(level: int, settings: LoopSettings) -> tuple[LadderStep, ...]:
    """The steps to take at this level, in the order of the ladder."""
    return settings.ladder[:level] if settings.enabled else ()


def height(step: LadderStep, level: int, settings: LoopSettings) -> int:
    """How many levels deep a step is in force: 1 where it begins, 0 where it is not taken."""
    taken = steps_at(level, settings)
    return level - taken.index(step) if step in taken else 0
