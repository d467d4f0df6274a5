"""How is an agent told that an action is ruled out?

What the agent did is quoted, and quotes are data: they are escaped, short and said to be quotes, so that a tool
result cannot speak through the notice. The notice stands at the very end of the request and is never stored.
"""

import html
import json
from collections.abc import Sequence

from festinger.proxy.loops.steps import SHOWN, Answer, Item, Step
from festinger.proxy.loops.turns import Repeat, TurnRule

OPENING_WORDS = 12


def notice(repeat: Repeat) -> str:
    """The words that are put after the last message."""
    steps = [item for item in repeat.block if isinstance(item, Step)]
    said = _of_steps(steps, repeat) if steps else _of_answers(repeat.block, repeat)
    return f"[Loop guard]\n{said}"


def _of_steps(steps: Sequence[Step], repeat: Repeat) -> str:
    listed = "\n".join(f"- {quoted(step.tool)} with {quoted(step.arguments)}" for step in steps)
    outcome = "failed each time" if repeat.rule is TurnRule.SAME_ERROR else "brought nothing new"
    what, ruled = (
        ("This action", "This exact action is") if len(steps) == 1 else ("These actions", "This sequence is")
    )
    return (
        f"{what} ran {repeat.count} times in a row and {outcome}:\n{listed}\n"
        f"The last result began, quoted as data: {quoted(steps[-1].said)}\n"
        f"{ruled} ruled out now. Take a different step, or give your final answer with what you know."
    )


def _of_answers(block: Sequence[Item], repeat: Repeat) -> str:
    opening = next((item.opening for item in block if isinstance(item, Answer)), "")
    words = " ".join(opening.split()[:OPENING_WORDS])
    return (
        f"The same answer was given {repeat.count} times in a row. It begins, quoted as data: {quoted(words)}\n"
        "Repeating it is ruled out now. Take a different step, or say plainly what is missing."
    )


def quoted(text: str) -> str:
    """Text of others on one line: in quotes, without control characters or markup."""
    return html.escape(json.dumps(text[:SHOWN], ensure_ascii=False), quote=False)
