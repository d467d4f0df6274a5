"""The demo of an agent that repeats itself: what it is told, and when it is stopped.

It calls one tool with one argument and gets one result. From the fourth time on the proxy says so, then
raises the temperature, then leaves the repeats out, then answers in the model's place. A word of a person
ends it.
"""

from collections.abc import AsyncIterator
from typing import Any

from examples.ground import DemoEnvironment, DemoResponse, build_chat_request
from examples.scene import Scene

TASK = "Mend the build."
RESULT = "error: no such file"
WORD = "The file is called makefile."

CALL = {"function": {"name": "read_file", "arguments": {"path": "build.py"}}}
STEP = (
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_name": "read_file", "content": RESULT},
)


def build_history(times: int) -> list[dict[str, Any]]:
    """The task, and the same call with the same result this many times."""
    return [{"role": "user", "content": TASK}, *(dict(message) for _ in range(times) for message in STEP)]


async def play_loop(ground: DemoEnvironment) -> AsyncIterator[Scene]:
    """The demo, scene by scene."""
    yield await _watched(ground)
    yield await _noticed(ground)
    yield await _warmed(ground)
    yield await _pruned(ground)
    stopped = await _steps(ground, 9, 16)
    yield _broken(ground, stopped)
    yield await _released(ground, stopped)


async def _steps(ground: DemoEnvironment, first: int, last: int) -> DemoResponse:
    for times in range(first, last):
        await ground.ask("/api/chat", build_chat_request(build_history(times)))
    return await ground.ask("/api/chat", build_chat_request(build_history(last)))


async def _watched(ground: DemoEnvironment) -> Scene:
    await _steps(ground, 0, 3)
    return Scene(
        title="An agent reads a file that is not there, three times.",
        said=f"{TASK} → " + " → ".join([f"read_file(build.py) → {RESULT}"] * 3),
        got=ground.model.newest,
        what="The last message that the model is sent",
        why="Trying again is no loop. The requests go through as they came.",
    )


async def _noticed(ground: DemoEnvironment) -> Scene:
    await _steps(ground, 4, 4)
    return Scene(
        title="The fourth time, the model is told.",
        got=ground.model.newest,
        what="The last message that the model is sent",
        why="The notice stands behind the result, so that everything before it stays as the model server has read it.",
    )


async def _warmed(ground: DemoEnvironment) -> Scene:
    await _steps(ground, 5, 6)
    options = ground.model.received[-1]["options"]
    return Scene(
        title="The sixth time, chance is let in.",
        got="\n".join(f"{name}: {value}" for name, value in sorted(options.items()) if name != "seed"),
        what="Options of the request",
        why="The same words at the same temperature bring the same answer.",
    )


async def _pruned(ground: DemoEnvironment) -> Scene:
    await _steps(ground, 7, 8)
    sent = ground.model.received[-1]["messages"]
    return Scene(
        title="The eighth time, the repeats are left out.",
        got=f"{len(sent)} messages instead of {len(build_history(8))}, and at their end:\n{sent[-1]['content']}",
        what="The model is sent",
        why="A history full of one call invites one more. The first and the last time stay.",
    )


def _broken(ground: DemoEnvironment, stopped: DemoResponse) -> Scene:
    return Scene(
        title="The sixteenth time, the model is not asked.",
        got=stopped.text,
        what="The agent is answered",
        why=f"The breaker of this session is open. The model server has got {len(ground.model.received)} requests, "
        "and this was not one of them.",
    )


async def _released(ground: DemoEnvironment, stopped: DemoResponse) -> Scene:
    said = [{"role": "assistant", "content": stopped.text}, {"role": "user", "content": WORD}]
    answer = await ground.ask("/api/chat", build_chat_request([*build_history(16), *said]))
    return Scene(
        title="A person speaks, and all is as it was.",
        said=WORD,
        got=answer.text,
        what="The agent is answered",
        why="A word of a person, or another step, closes the breaker and sets everything back at once.",
    )
