from pathlib import Path

import pytest
from tests.runtime.server import opened, told

from festinger.errors import NotFound, Refused
from festinger.services.access import add_space, change_space_name, erase_space
from festinger.store.repositories.spaces import load_spaces


@pytest.mark.requirement("X-31")
async def test_a_space_is_known_in_every_process_by_its_present_name(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        team = await add_space(app, "team")
        await change_space_name(app, team, "crew")
        await add_space(app, "team")
        await app.directory.reload()

        assert app.directory.find("crew") == "team"
        assert app.directory.find("team") == "team-2"
        with pytest.raises(NotFound):
            app.directory.need("nowhere")


@pytest.mark.requirement("X-31")
async def test_an_erased_space_leaves_one_event_in_main_and_none_of_its_own(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        team = await add_space(app, "team")
        rows = await erase_space(app, team)

        (event,) = await told(app, "space_deleted")
        assert event.payload == {"space": "team", "rows": rows}
        assert rows > 0
        assert await told(app, space=team.id) == []
        assert [space.name for space in await load_spaces(app.store)] == ["main"]


async def test_a_name_that_is_taken_makes_no_space_and_no_event(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await add_space(app, "team")
        with pytest.raises(Refused):
            await add_space(app, "team")

        assert len(await load_spaces(app.store)) == 2
