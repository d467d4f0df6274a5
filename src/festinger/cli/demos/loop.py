"""An agent that does the same again and again: what it is told, and when it is stopped.

It calls one tool with one argument and gets one result. From the third time on the proxy says so, then raises the
temperature, then leaves the repeats out, then answers in the model's place. A word of a person ends it.
"""

from collections.abc import AsyncIterator
from typing import Any

from festinger.cli.demos.ground import Ground, Reply, chat
from festinger.cli.demos.scene import Scene

TASK = "Mend the build."
RESULT = "error: no such file"
WORD = "The file is called makefile."

CALL = {"function": {"name": "read_file", "arguments": {"path": "build.py"}}}
STEP = (
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_name": "read_file", "content": RESULT},
)


def history(times: int) -> list[dict[str, Any]]:
    """The task, and the same call with the same result so many times."""
    return [{"role": "user", "content": TASK}, *(dict(message) for _ in range(times) for message in STEP)]


async def loop(ground: Ground) -> AsyncIterator[Scene]:
    """The demo, scene by scene."""
    yield await _watched(ground)
    yield await _noticed(ground)
    yield await _warmed(ground)
    yield await _pruned(ground)
    stopped = await _step(ground, 6)
    yield _broken(ground, stopped)
    yield await _released(ground, stopped)


async def _step(ground: Ground, times: int) -> Reply:
    return await ground.ask("/api/chat", chat(history(times)))


async def _watched(ground: Ground) -> Scene:
    for times in range(3):
        await _step(ground, times)
    return Scene(
        title="An agent reads a file that is not there, twice.",
        said=f"{TASK} → read_file(build.py) → {RESULT} → read_file(build.py) → {RESULT}",
        got=ground.model.newest,
        what="The last message that the model is sent",
        why="Trying twice is no loop. The requests go through as they came.",
    )


async def _noticed(ground: Ground) -> Scene:
    await _step(ground, 3)
    return Scene(
        title="The third time, the model is told.",
        got=ground.model.newest,
        what="The last message that the model is sent",
        why="The notice stands behind the result, so that everything before it stays as the model server has read it.",
    )


async def _warmed(ground: Ground) -> Scene:
    await _step(ground, 4)
    options = ground.model.received[-1]["options"]
    return Scene(
        title="The fourth time, chance is let in.",
        got="\n".join(f"{name}: {value}" for name, value in sorted(options.items()) if name != "seed"),
        what="Options of the request",
        why="The same words at the same temperature bring the same answer.",
    )


async def _pruned(ground: Ground) -> Scene:
    await _step(ground, 5)
    sent = ground.model.received[-1]["messages"]
    return Scene(
        title="The fifth time, the repeats are left out.",
        got=f"{len(sent)} messages instead of {len(history(5))}, and at their end:\n{sent[-1]['content']}",
        what="The model is sent",
        why="A history full of one call invites one more. The first and the last time stay.",
    )


def _broken(ground: Ground, stopped: Reply) -> Scene:
    return Scene(
        title="The sixth time, the model is not asked.",
        got=stopped.text,
        what="The agent is answered",
        why=f"The breaker of this session is open. The model server has got {len(ground.model.received)} requests, "
        "and this was not one of them.",
    )


async def _released(ground: Ground, stopped: Reply) -> Scene:
    said = [{"role": "assistant", "content": stopped.text}, {"role": "user", "content": WORD}]
    answer = await ground.ask("/api/chat", chat([*history(6), *said]))
    return Scene(
        title="A person speaks, and all is as it was.",
        said=WORD,
        got=answer.text,
        what="The agent is answered",
        why="A word of a person, or another step, closes the breaker and sets everything back at once.",
    )
