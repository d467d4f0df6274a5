"""The demo of a fact that changes: said, repeated, replaced, and reinstated by a person.

No model and no embedder is asked. Rules read the number, find that it is the same attribute of the same
server, and let the newer one hold; nothing is lost, and a person's word that both hold is kept.
"""

from collections.abc import AsyncIterator

from examples.ground import DemoEnvironment
from examples.owner import format_learned, format_memories, memory_of
from examples.scene import Scene

FACT = "The server has 16 GB of memory"
AGAIN = "the server has 16 GB of memory."
NEWER = "The server has 32 GB of memory"


async def play_supersede(ground: DemoEnvironment) -> AsyncIterator[Scene]:
    """The demo, scene by scene."""
    yield await _learnt(ground, FACT, title="A fact is learnt.", why="Nothing like it was known.")
    yield await _learnt(
        ground,
        AGAIN,
        title="It is said again.",
        why="The same words, whatever their case and punctuation: one memory, said twice. Saying something again is "
        "noted, and is no evidence.",
    )
    memory = memory_of(ground)
    newer = await memory.learn(NEWER)
    yield Scene(
        title="It changes.",
        said=f"festinger learn '{NEWER}'",
        what="What became of it",
        got=format_learned(newer),
        why="All words but one are the same, and a memory that goes by likeness alone would fold the two into one. "
        "The number differs, so they are not the same; it is the same thing of the same server, so the newer stands.",
    )
    yield Scene(
        title="What stands, and what stood.",
        said="festinger memories --status all",
        what="Remembered",
        got=await format_memories(ground, every=True),
        why="The older one is history: not told any more, and not lost.",
    )
    assert newer.change is not None, "a replacement is a change"
    await memory.undo(newer.change)
    yield Scene(
        title="A person takes it back.",
        said=f"festinger undo {newer.change}",
        what="Remembered",
        got=await format_memories(ground),
        why="The older one stands again, alone. The newer one is put away: a person has said that it does not hold.",
    )
    again = await memory.learn(NEWER)
    yield Scene(
        title="It is said once more.",
        said=f"festinger learn '{NEWER}'",
        what="What became of it",
        got=f"{format_learned(again)}\n{await format_memories(ground)}",
        why="The same pair is not replaced a second time: a person's word overrules every judge.",
    )


async def _learnt(ground: DemoEnvironment, text: str, *, title: str, why: str) -> Scene:
    learned = await memory_of(ground).learn(text)
    return Scene(
        title=title, said=f"festinger learn '{text}'", what="What became of it", got=format_learned(learned), why=why
    )
