"""The docs in the console: every page is there, every link and picture leads somewhere, and words are found."""

import re
from html.parser import HTMLParser
from pathlib import Path

from tests.web.deps import Desk, deps

from festinger.web.pages.docs import DOCS, list_docs, search_docs


class Page(HTMLParser):
    """The ids of a page, where its article leads, and what the browser would load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and not given["href"].endswith(".json"):
            self.links.append(given["href"])
        elif "src" in given or tag == "link":
            self.loads.append(given.get("src") or given["href"])


async def read_all(at: Desk) -> dict[str, Page]:
    pages = {}
    for name in list_docs():
        path = f"{DOCS}/{name}".rstrip("/")
        got = await at.ask("GET", path, key=None)
        assert got.status == 200, path
        pages[path] = Page(got.text)
    return pages


async def leads_somewhere(at: Desk, target: str, pages: dict[str, Page], here: str) -> bool:
    path, _, anchor = target.partition("#")
    path = path or here
    if path in pages:
        return not anchor or anchor in pages[path].ids
    return (await at.ask("GET", path)).status == 200


async def test_every_page_is_there_and_nothing_on_it_leads_nowhere_or_is_foreign(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        pages = await read_all(at)
        targets = {
            (here, each)
            for here, page in pages.items()
            for each in (*page.links, *page.loads)
            if each.startswith(("/", "#"))
        }
        known = {each: await leads_somewhere(at, each, pages, here) for here, each in targets if "#" not in each}
        dead = [
            (here, each)
            for here, each in targets
            if not (known[each] if each in known else await leads_somewhere(at, each, pages, here))
        ]

    assert {name.partition("/")[0] for name in list_docs()} >= {"", "tutorial", "howto", "explanation", "reference"}
    assert dead == []
    assert [each for page in pages.values() for each in page.loads if not each.startswith("/admin/")] == []
    outside = {each for page in pages.values() for each in page.links if not each.startswith(("/admin", "#"))}
    assert {each for each in outside if not re.match(r"https?://", each)} == set()
    assert [path for path, page in pages.items() if len(page.ids) != len(set(page.ids))] == []


async def test_a_page_shows_its_tables_its_pictures_and_what_it_has_and_its_twin_says_the_same(
    database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        chat = await at.ask("GET", f"{DOCS}/howto/chat", key=None)
        twin = (await at.ask("GET", f"{DOCS}/howto/chat.json", key=None)).json
        drawn = await at.ask("GET", f"{DOCS}/files/layers.svg", key=None)
        schema = await at.ask("GET", f"{DOCS}/files/reference/bench.schema.json", key=None)
        lost = [
            (await at.ask("GET", f"{DOCS}/{path}", key=None)).status
            for path in ("nothing", "../README", "files/../../pyproject.toml", "files/README.md", "files/howto")
        ]

    assert '<td data-label="command"><div><code>/why 1</code></div></td>' in chat.text
    assert '<h2 id="choose-a-model">' in chat.text
    assert '<a href="#choose-a-model">' in chat.text
    assert twin["html"] in chat.text
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert schema.json
    assert lost == [404] * 5


async def test_words_are_found_where_they_are_written_and_a_title_counts_most(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        page = await at.ask("GET", f"{DOCS}?q=back+up", key=None)
        hostile = await at.ask("GET", f"{DOCS}?q=%3Cscript%3Ealert(1)%3C/script%3E", key=None)

    assert search_docs("back up")[0]["page"] == "howto/back-up-and-restore"
    assert '<a href="/admin/docs/howto/back-up-and-restore#' in page.text
    assert "<script>alert" not in hostile.text
    assert "No page has all of these words." in hostile.text
    assert search_docs("") == []
