"""Where words and lines stand in the picture, and the picture as a file."""

from datetime import timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.pages.test_overview import HOSTILE, MONDAY

from festinger.web.graph import HEIGHT, LONGEST, WIDTH, GraphDrawing, lay_out_graph, render_svg
from festinger.web.render import escape_hidden
from festinger.world.query import NearbyConcept, NearbyEdge, Neighborhood

MONTH = timedelta(days=30)
SVG = "{http://www.w3.org/2000/svg}"


def edge(concept: str, parent: str, **more: object) -> NearbyEdge:
    given: dict[str, object] = {
        "dimension": "type", "is_isa": True, "confidence": 1.0, "last_confirmed": MONDAY, "source": "gutask",
        "disputed": False,
    }  # fmt: skip
    return NearbyEdge(concept=concept, parent=parent, **(given | more))  # type: ignore[arg-type]


def picture(levels: dict[str, int], *edges: NearbyEdge, beyond: dict[str, int] | None = None) -> GraphDrawing:
    words = sorted(
        (NearbyConcept(token=token, level=level) for token, level in levels.items()),
        key=lambda word: (word.level, word.token),
    )
    found = Neighborhood(centre="centre", words=words, edges=edges, beyond=beyond or {})
    return lay_out_graph(found, now=MONDAY, recent=MONTH)


@pytest.mark.requirement("U-41")
@pytest.mark.parametrize("text", ["repo", *HOSTILE], ids=range(len(HOSTILE) + 1))
def test_as_a_file_it_is_a_picture_of_its_own_in_which_names_are_text(text: str):
    drawn = render_svg(picture({"centre": 0, text: -1}, edge("centre", text, dimension=text, disputed=True)))
    root = ElementTree.fromstring(drawn)
    words = {"".join(each.itertext()) for each in root.iter(f"{SVG}text")}

    assert root.tag == f"{SVG}svg"
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {
        "svg",
        "style",
        "line",
        "text",
        "g",
        "title",
        "rect",
    }
    assert "centre" in words
    assert f"{escape_hidden(text)}?" in words


levels = st.dictionaries(st.text("abcdef", min_size=1, max_size=30), st.integers(-3, 3), max_size=59)


@given(levels)
def test_no_two_boxes_meet_and_all_lie_within_the_picture(others: dict[str, int]):
    found = picture({**others, "centre": 0})
    places = [(box["x"], box["y"]) for box in found.boxes]

    assert len(set(places)) == len(places)
    assert all(x >= 0 and x + WIDTH <= found.width and y >= 0 and y + HEIGHT <= found.height for x, y in places)
    for x, y in places:
        beside = [other for other, row in places if row == y and other != x]
        assert all(abs(x - other) >= WIDTH for other in beside)


@given(levels)
def test_what_stands_above_is_drawn_above(others: dict[str, int]):
    given = {**others, "centre": 0}
    heights = {box["token"]: box["y"] for box in picture(given).boxes}

    for one, level in given.items():
        assert all(heights[one] < heights[other] for other, lower in given.items() if level < lower)


@given(levels)
def test_the_same_words_give_the_same_picture(others: dict[str, int]):
    given = {**others, "centre": 0}

    assert picture(given) == picture(dict(reversed(given.items())))


def test_lines_tell_kind_dispute_age_and_confidence():
    found = picture(
        {"a": 0, "b": -1, "c": -1, "d": 1},
        edge("a", "b", confidence=0.5, dimension="tech"),
        edge("a", "c", is_isa=False, disputed=True),
        edge("d", "a", last_confirmed=MONDAY - MONTH - timedelta(seconds=1)),
    )
    tech, part, old = found.lines

    assert [line["width"] for line in found.lines] == [2.0, 3.0, 3.0]
    assert (part["is_isa"], part["disputed"], tech["is_isa"]) == (False, True, True)
    assert [line["faded"] for line in found.lines] == [False, False, True]
    assert tech["hue"] != part["hue"] == old["hue"]
    assert [name for name, _ in found.dimensions] == ["tech", "type"]


def test_a_line_joins_the_sides_that_face_each_other():
    found = picture({"a": 0, "b": -1}, edge("a", "b"))
    boxes = {box["token"]: box for box in found.boxes}
    (line,) = found.lines

    assert (line["y1"], line["y2"]) == (boxes["a"]["y"], boxes["b"]["y"] + HEIGHT)


def test_a_long_word_is_cut_in_its_box_and_what_lies_beyond_is_counted():
    found = picture({"x" * 60: 0}, beyond={"x" * 60: 4})
    (box,) = found.boxes

    assert (len(box["label"]), box["beyond"], box["token"]) == (LONGEST, 4, "x" * 60)
