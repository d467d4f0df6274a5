"""The pages of nights: what one did, in words and item by item, and taking it back."""

from pathlib import Path

from tests.consolidation.sleeper import sleeping
from tests.consolidation.test_nights import INSIGHT, gardener, plant
from tests.web.deps import Desk, kept
from tests.web.pages.test_overview import read
from tests.web.visitor import visitor

from festinger.web.app import build_admin_app

PAGE = "/admin/nights"


async def test_a_night_is_read_taken_back_and_previewed_and_the_overview_tells_it(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        night = await at.night(gardener())
        supervisor = kept(at.app)
        ann = await visitor(Desk(app=at.app, supervisor=supervisor, pages=build_admin_app(supervisor), key=""))
        listed = (await ann.get(f"{PAGE}.json")).json["items"]
        page = await ann.get(f"{PAGE}/{night.id}")
        overview = "".join(read((await ann.get("/admin")).text).words)
        one = await ann.press(page, "Undo")
        now = (await ann.get(f"{PAGE}/{night.id}.json")).json["item"]["items"]
        begun = await ann.press(await ann.get(PAGE), "Preview, and change nothing")
        told = await ann.get(begun.headers["location"])

    words = "".join(read(page.text).words)
    assert [each["id"] for each in listed] == [str(night.id)]
    assert INSIGHT in words
    assert night.lines[0] in overview
    assert one.headers["location"].startswith(f"{PAGE}/{night.id}?said=Taken+back")
    assert "Undo all of it" in page.text
    assert any(each["is_undone"] for each in now)
    assert "a preview: nothing was changed" in told.text
