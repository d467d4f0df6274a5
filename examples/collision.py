"""The demo of two facts that cannot both hold: what the model sees before, during and after.

A name appears, a fact is stated, a person contradicts it, the nightly job decides, and the decision can be
undone.
"""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from examples.ground import DemoEnvironment
from examples.scene import Scene
from festinger.ids import MAIN_SPACE

MENTION = "Please update gnommoweb to use FastAPI instead"
FACT = "gnommoweb -isa repo"
CONTRADICTION = "gnommoweb is a container deployed on Docker"

SCRIPT = {
    "reasoning": "A repo is what it is made of; a container is how it runs. Both were said and both can hold.",
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "confidence": 0.9,
}
"""What the resolving model answers."""


def write_script(folder: Path) -> None:
    """Write the script of the resolving model into the folder of the environment."""
    (folder / "script").write_text(json.dumps(SCRIPT) + "\n", encoding="utf-8")


async def play_collision(ground: DemoEnvironment) -> AsyncIterator[Scene]:
    """The demo, scene by scene."""
    yield await _met(ground)
    yield await _stated(ground)
    yield await _asked(
        ground,
        "Open gnommoweb.",
        title="Before. Another conversation brings it to mind.",
        why="The note stands before the words of the newest message, marked as a note and not as an instruction.",
    )
    yield await _contradicted(ground)
    yield await _decided(ground)
    yield await _asked(
        ground,
        "Show me gnommoweb.",
        title="After. The mark is gone, and both facts stand.",
        why="Each dimension has one parent again. History keeps what stood before, and `festinger conflicts undo` "
        "would bring it back.",
    )


async def _met(ground: DemoEnvironment) -> Scene:
    await ground.say(MENTION)
    return Scene(
        title="A name is met for the first time.",
        said=MENTION,
        got=ground.model.newest,
        why="Nothing is known of gnommoweb, so nothing is added: the request goes through byte for byte.",
    )


async def _stated(ground: DemoEnvironment) -> Scene:
    known = (await ground.ask("/iknowthat", {"fact": FACT})).body
    edge = known["edge"]
    return Scene(
        title="A fact is stated.",
        said=f"festinger iknowthat '{FACT}'",
        what="The world now holds",
        got=f"{edge['concept']} is in {edge['parent']}, in the dimension `{edge['dimension']}` ({known['status']})",
        why="A concept has one parent in each dimension. That is what lets a contradiction be seen.",
    )


async def _asked(ground: DemoEnvironment, text: str, *, title: str, why: str) -> Scene:
    await ground.say(text)
    return Scene(title=title, said=text, got=ground.model.newest, why=why)


async def _contradicted(ground: DemoEnvironment) -> Scene:
    scene = await _asked(
        ground,
        CONTRADICTION,
        title="During. A person contradicts it.",
        why="`type` is taken, so the new parent is not written over the old one: the old fact goes on being told, "
        "with a `?`, and the new one waits in the queue until somebody decides.",
    )
    await ground.until("/conflicts?status=pending", lambda seen: bool(seen["items"]))
    return scene


async def _decided(ground: DemoEnvironment) -> Scene:
    begun = (await ground.ask("/resolve/run", {})).body
    await ground.until(f"/resolve/runs/{begun['run_id']}", lambda seen: seen["finished_at"] is not None)
    (item,) = (await ground.ask("/conflicts?status=resolved")).body["items"]
    return Scene(
        title="The night. The job looks at what waits.",
        said="festinger resolve run",
        what="The conflict is now",
        got=_told(item, await _standing(ground, item["concept"])),
        why="No rule fits two kinds of thing, so the model for `llm.resolve` was asked (here it reads from a script). "
        "Without one the conflict would wait for a person: nothing is decided by silence.",
    )


def _told(item: dict[str, Any], standing: Sequence[str]) -> str:
    """A decided conflict in words."""
    resolution = item["resolution"]
    return "\n".join(
        [
            f"{item['status']}: {resolution['decision']}, by a {resolution['judge']}",
            f"why: {resolution['reasoning']}",
            f"before: {item['concept']} [{item['dimension']}] {item['existing']['parent']}",
            *(f"now: {item['concept']} {edge}" for edge in standing),
        ]
    )


async def _standing(ground: DemoEnvironment, concept: str) -> list[str]:
    """What holds for a concept now, one line per dimension."""
    world = await ground.app.world.need(MAIN_SPACE)
    row, names = world.row(concept), world.soas_by_id
    edges = world.urd_by_concept.get(row.id, ()) if row else ()
    return sorted(f"[{names[edge.dim_id]}] {names[edge.parent_id]}" for edge in edges)
