"""What a history shows of the world is compared with how the world stands now."""

from datetime import UTC, datetime

import pytest

from festinger.proxy.context.edit import LineUpdate
from festinger.proxy.context.memories import find_shown_line_updates
from festinger.services.block import ContextLine, build_world_line
from festinger.services.recollect import build_edge_note
from festinger.world.graph import World
from festinger.world.model import SoasRow, UrdEdge

TYPE, GNOMMOWEB, REPO, CONTAINER, HOST, RAMANUJAN = range(1, 7)
WORDS = ("type", "gnommoweb", "repo", "container", "host", "ramanujan")
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def world(*edges: UrdEdge) -> World:
    rows = {word: SoasRow(id=at, token=word) for at, word in enumerate(WORDS, start=1)}
    return World(soas_by_token=rows, urd_by_concept={GNOMMOWEB: edges})


def edge(parent: int, dim: int = TYPE, version: int = 1) -> UrdEdge:
    return UrdEdge(id=GNOMMOWEB, parent_id=parent, dim_id=dim, is_isa=True, version=version)


def shown(text: str, *edges: tuple[str, str]) -> dict[str, ContextLine]:
    notes = [build_edge_note("gnommoweb", dimension, parent=parent, version=1) for dimension, parent in edges]
    return {"gnommoweb": build_world_line(text, notes)}


SHOWN = shown("gnommoweb: [type] repo", ("type", "repo"))
DISPUTED = shown("gnommoweb: [type?] repo — conflict pending", ("type", "repo"))


def test_what_is_as_it_was_shown_has_not_changed():
    assert find_shown_line_updates(world(edge(REPO)), SHOWN) == {}
    assert find_shown_line_updates(world(edge(REPO, version=9)), SHOWN) == {}


@pytest.mark.requirement("P-36")
def test_another_parent_is_told():
    (now,) = find_shown_line_updates(world(edge(CONTAINER, version=2)), SHOWN).values()

    assert now.line is not None
    assert now.line.text == "gnommoweb: [type] container"
    assert now.line.notes == (build_edge_note("gnommoweb", "type", parent="container", version=2),)
    assert now.forgotten == ()


@pytest.mark.requirement("P-36")
def test_a_slot_that_stands_empty_is_shown_to_nobody_any_more():
    note = SHOWN["gnommoweb"].notes[0]

    assert find_shown_line_updates(world(), SHOWN) == {"gnommoweb": LineUpdate(forgotten=(note,))}
    assert find_shown_line_updates(World(), SHOWN) == {"gnommoweb": LineUpdate(forgotten=(note,))}


@pytest.mark.requirement("P-36")
def test_of_a_line_with_two_edges_the_one_that_changed_is_told_with_the_other():
    both = shown("gnommoweb: [type] repo [host] ramanujan", ("type", "repo"), ("host", "ramanujan"))

    (now,) = find_shown_line_updates(world(edge(CONTAINER), edge(RAMANUJAN, HOST)), both).values()
    (left,) = find_shown_line_updates(world(edge(RAMANUJAN, HOST)), both).values()

    assert now.line is not None
    assert now.line.text == "gnommoweb: [type] container [host] ramanujan"
    assert left == LineUpdate(forgotten=(both["gnommoweb"].notes[0],))


@pytest.mark.requirement("P-36")
def test_a_dispute_that_was_settled_is_told_and_one_that_is_only_not_written_yet_is_not():
    settled, unwritten = world(edge(REPO)), world(edge(REPO))
    settled.dismissed[GNOMMOWEB, TYPE, CONTAINER] = MONDAY

    (now,) = find_shown_line_updates(settled, DISPUTED).values()

    assert now.line is not None
    assert now.line.text == "gnommoweb: [type] repo"
    assert find_shown_line_updates(unwritten, DISPUTED) == {}


def test_a_dispute_that_arose_since_is_told():
    disputed = world(edge(REPO))
    disputed.pending_slots.add((GNOMMOWEB, TYPE))

    (now,) = find_shown_line_updates(disputed, SHOWN).values()

    assert now.line == DISPUTED["gnommoweb"]
    assert find_shown_line_updates(disputed, DISPUTED) == {}
