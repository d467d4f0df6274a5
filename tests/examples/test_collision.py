"""The demo of two facts that cannot both stand is the acceptance test of that: before, during, after."""

from pathlib import Path

import pytest
from examples.collision import play_collision, write_script
from examples.ground import open_environment
from examples.scene import Scene, format_scene


async def played(url: str, folder: Path) -> list[Scene]:
    write_script(folder)
    async with open_environment(folder, say=lambda _: None, database_url=url) as ground:
        return [scene async for scene in play_collision(ground)]


def noted(scene: Scene) -> list[str]:
    """The lines of the block in what the model was sent, without its label."""
    inside = scene.got.partition("<recollection>\n")[2].partition("\n</recollection>")[0]
    return inside.splitlines()[1:]


@pytest.mark.requirement("W-66", "W-76", "W-91")
async def test_the_model_is_told_the_fact_then_the_doubt_then_what_was_decided(database_url: str, tmp_path: Path):
    met, stated, before, during, decided, after = await played(database_url, tmp_path)

    assert met.got == met.said
    assert stated.got == "gnommoweb is in repo, in the dimension `type` (inserted)"
    assert noted(before) == ["gnommoweb: [type] repo"]
    assert noted(during) == ["gnommoweb: [type?] repo — conflict pending"]
    assert decided.got.startswith("resolved: decompose, by a model\nwhy: A repo is what it is made of;")
    assert decided.got.endswith("now: gnommoweb [artifact-type] repo\nnow: gnommoweb [deployment-type] container")
    assert noted(after) == [
        "gnommoweb: [artifact-type] repo [deployment-type] container",
        "- Gnommoweb is a container deployed on Docker",
    ]


async def test_it_says_the_same_each_time(
    database_url: str, empty_database_url: str, tmp_path_factory: pytest.TempPathFactory
):
    first = await played(database_url, tmp_path_factory.mktemp("one"))
    second = await played(empty_database_url, tmp_path_factory.mktemp("two"))

    texts = [[format_scene(scene, number=at) for at, scene in enumerate(scenes)] for scenes in (first, second)]
    assert texts[0] == texts[1]
