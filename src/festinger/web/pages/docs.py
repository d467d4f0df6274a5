"""The docs at `/admin/docs`: the pages of `docs`, rendered from Markdown, with contents and a search by words.

They come with the package, so they are there without a network and fit the version that runs. HTML inside a page is
shown as text. A page is found by its name in a list, never by a path from the request.
"""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.responses import Response

from festinger.errors import NotFound
from festinger.web.auth import AccessScope
from festinger.web.render import add_page
from festinger.web.route import AdminCall, RouteTable

ROUTES = RouteTable()
DOCS = "/admin/docs"
GROUPS = {"": "Start", "howto": "How to", "explanation": "Explanation", "reference": "Reference", "spec": "Spec"}
"""Folders in the order of the contents."""
MEDIA = {".png": "image/png", ".svg": "image/svg+xml", ".json": "application/json"}
MOST_HITS = 30
MOST_WORDS = 10
AROUND = 90
"""Characters that a hit shows on either side of a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocSection:
    """A heading and what follows it."""

    title: str
    anchor: str
    level: int
    text: str


@cache
def docs_folder() -> Path:
    """Where the pages lie: in the package, or beside the sources in a checkout."""
    package = Path(str(files("festinger")))
    return next(each for each in (package / "docs", package.parents[1] / "docs") if each.is_dir())


@cache
def list_docs() -> dict[str, Path]:
    """The pages by name; that of a folder is its `README.md`."""
    found = {_name(path.relative_to(docs_folder()).as_posix()): path for path in docs_folder().rglob("*.md")}
    order = list(GROUPS)
    return dict(sorted(found.items(), key=lambda item: (order.index(_group(item[0])), item[0])))


def _name(path: str) -> str:
    return path.removesuffix(".md").removesuffix("README").removesuffix("/")


def _group(name: str) -> str:
    folder = name.partition("/")[0]
    return folder if folder in GROUPS else ""


@cache
def load_doc_sections(name: str) -> tuple[DocSection, ...]:
    """The sections of a page, with the anchors of their headings."""
    parts: list[tuple[str, int, list[str]]] = []
    is_code = False
    for line in list_docs()[name].read_text(encoding="utf-8").splitlines():
        is_code ^= line.lstrip().startswith("```")
        heading = None if is_code else re.match(r"(#+) (.+)", line)
        if heading:
            parts.append((re.sub(r"[`*]", "", heading[2]), len(heading[1]), []))
        elif parts:
            parts[-1][2].append(line)
    seen: Counter[str] = Counter()
    return tuple(
        DocSection(title=title, anchor=_anchor(title, seen), level=level, text="\n".join(lines))
        for title, level, lines in parts
    )


def _anchor(title: str, seen: Counter[str]) -> str:
    slug = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
    seen[slug] += 1
    return slug if seen[slug] == 1 else f"{slug}-{seen[slug] - 1}"


@cache
def render_doc(name: str) -> str:
    """A page as HTML; its links lead to pages and files under `/admin/docs`."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    path = list_docs()[name]
    tokens = reader.parse(path.read_text(encoding="utf-8"))
    anchors = iter(load_doc_sections(name))
    open_cell, close_cell = (Token("html_inline", "", 0, content=each) for each in ("<div>", "</div>"))
    labels: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", next(anchors).anchor)
        elif token.type == "table_open":
            labels = []
        elif token.type == "th_open":
            labels.append(tokens[at + 1].content)
        elif token.type == "tr_open":
            column = iter(labels)
        elif token.type == "td_open":
            # On a phone a cell is a grid of its label and its content, which has to be one element.
            token.attrSet("data-label", next(column, ""))
            cell = tokens[at + 1]
            cell.children = [open_cell, *(cell.children or []), close_cell]
        for inner in token.children or ():
            for attribute in ("href", "src"):
                if target := inner.attrGet(attribute):
                    inner.attrSet(attribute, _address(str(target), path))
    return str(reader.renderer.render(tokens, reader.options, {}))


def _address(target: str, page: Path) -> str:
    """Where a link of a page leads in the console."""
    if target.startswith("#") or re.match(r"[a-z]+:", target):
        return target
    file, mark, anchor = target.partition("#")
    path = normpath((page.parent.relative_to(docs_folder()) / file).as_posix())
    if not path.endswith(".md"):
        return f"{DOCS}/files/{path}"
    return f"{DOCS}/{_name(path)}".rstrip("/") + mark + anchor


def search_docs(asked: str) -> list[dict[str, str]]:
    """The sections that have all words, or words that begin so: those with them in the title first."""
    words = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in asked.split()[:MOST_WORDS]]
    sections = [(name, each) for name in list_docs() for each in load_doc_sections(name)]
    found = [hit for hit in sections if words and all(word.search(f"{hit[1].title}\n{hit[1].text}") for word in words)]

    def place(hit: tuple[str, DocSection]) -> tuple[int, bool, int]:
        name, section = hit
        titled = sum(1 for word in words if word.search(section.title))
        return -titled, _group(name) == "spec", -sum(len(word.findall(section.text)) for word in words)

    return [_hit(name, section, words[0]) for name, section in sorted(found, key=place)[:MOST_HITS]]


def _hit(name: str, section: DocSection, word: re.Pattern[str]) -> dict[str, str]:
    text = " ".join(re.sub(r"\]\([^)]*\)|[`*|\[\]]|-{3,}", "", section.text).split())
    mention = word.search(text)
    at = max(0, mention.start() - AROUND) if mention else 0
    return {
        "page": name,
        "title": load_doc_sections(name)[0].title,
        "section": section.title,
        "link": f"{DOCS}/{name}".rstrip("/") + f"#{section.anchor}",
        "excerpt": f"… {text[at : at + 2 * AROUND].strip()} …",
    }


@add_page(ROUTES, DOCS, "docs.html", AccessScope.OPEN)
async def load_docs_page(call: AdminCall) -> dict[str, Any]:
    """The first page of the docs, or what a search found."""
    return await _load_doc_data("", asked=call.request.query_params.get("q", "").strip()[:200])


@add_page(ROUTES, f"{DOCS}/{{page:path}}", "docs.html", AccessScope.OPEN)
async def load_doc_page(call: AdminCall) -> dict[str, Any]:
    return await _load_doc_data(call.request.path_params["page"])


async def _load_doc_data(name: str, *, asked: str = "") -> dict[str, Any]:
    if name not in list_docs():
        raise NotFound(f"There is no page `{name[:80]}` in the docs.", hint=f"`{DOCS}` lists them.")
    titles = {each: load_doc_sections(each)[0].title for each in list_docs()}
    return {
        "page": name,
        "group": _group(name),
        "title": titles[name],
        "html": await asyncio.to_thread(render_doc, name),
        "sections": [
            {"title": each.title, "anchor": each.anchor} for each in load_doc_sections(name) if each.level == 2
        ],
        "contents": [
            {
                "group": group,
                "title": title,
                "pages": [{"name": each, "title": titles[each]} for each in titles if _group(each) == group],
            }
            for group, title in GROUPS.items()
        ],
        "q": asked,
        "hits": search_docs(asked),
    }


@ROUTES.add("GET", f"{DOCS}/files/{{file:path}}", AccessScope.OPEN)
async def serve_doc_file(call: AdminCall) -> Response:
    name = call.request.path_params["file"]
    listed = {path.relative_to(docs_folder()).as_posix(): path for path in docs_folder().rglob("*")}
    if name not in listed or (media := MEDIA.get(PurePosixPath(name).suffix)) is None:
        raise NotFound(f"There is no file `{name[:80]}` in the docs.")
    return Response(listed[name].read_bytes(), media_type=media)
