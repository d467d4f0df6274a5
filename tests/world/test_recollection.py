"""What does the world have to say about a text?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import Origin
from festinger.settings.memory_sections import WorldSettings
from festinger.world.graph import World
from festinger.world.model import SoasRow, UrdEdge, effective_saliency
from festinger.world.recollection import Claim, ParsedText, Recollection, RecollectionHistory, build_recollection

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
TERMS = WorldSettings()
NAMES = {1: "type", 2: "geography", 3: "glitch_university", 101: "gnommoweb", 201: "repo", 202: "service"}
NAMES |= {203: "ramanujan", 204: "container", 102: "dobby"}


def world(*edges: UrdEdge, novelty: float = 1.0, saliency: float = 0.0, names: dict[int, str] = NAMES) -> World:
    rows = {
        token: SoasRow(id=number, token=token, novelty=novelty, saliency=saliency) for number, token in names.items()
    }
    by_concept: dict[int, list[UrdEdge]] = {}
    for edge in edges:
        by_concept.setdefault(edge.id, []).append(edge)
    return World(soas_by_token=rows, soas_by_id=names, urd_by_concept=by_concept)


def heard(text: str, *claims: Claim, origin: Origin = Origin.PERSON) -> list[ParsedText]:
    return [ParsedText(words=text.split(), origin=origin, claims=claims)]


def ask(known: World, text: str = "open gnommoweb", *claims: Claim, **settings: Any) -> Recollection:
    return build_recollection(known, heard(text, *claims), now=NOW, terms=WorldSettings(**settings))


REPO = UrdEdge(id=101, parent_id=201, dim_id=1, is_isa=True, confidence=0.9)
CONTAINER = Claim(
    concept="gnommoweb",
    parent="container",
    dimension="type",
    is_isa=True,
    confidence=0.65,
    pattern="is a",
    origin=Origin.PERSON,
)


@pytest.mark.requirement("W-91")
def test_a_line_shows_settled_edges_first_then_kinds_then_by_dimension():
    known = world(
        UrdEdge(id=101, parent_id=202, dim_id=1, is_isa=True),
        UrdEdge(id=101, parent_id=203, dim_id=2, is_isa=False),
        UrdEdge(id=101, parent_id=201, dim_id=3, is_isa=True),
    )
    known.pending_slots.add((101, 1))

    assert ask(known).lines == (
        "gnommoweb: [glitch_university] repo [geography] ramanujan [type?] service — conflict pending",
    )


@pytest.mark.requirement("W-90")
def test_a_collision_that_this_very_text_makes_is_already_marked():
    found = ask(world(REPO), "gnommoweb is a container", CONTAINER)

    assert found.lines == ("gnommoweb: [type?] repo — conflict pending",)
    assert [(note.concept, note.dimension, note.parent) for note in found.notes] == [("gnommoweb", "type", "repo")]


@pytest.mark.requirement("W-90")
@pytest.mark.parametrize("origin", [Origin.TOOL, Origin.DOCUMENT, Origin.SYSTEM])
def test_text_that_nobody_vouches_for_marks_nothing(origin: Origin):
    found = build_recollection(
        world(REPO), heard("gnommoweb is a container", CONTAINER, origin=origin), now=NOW, terms=TERMS
    )

    assert found.lines == ("gnommoweb: [type] repo",)


@pytest.mark.requirement("W-68")
def test_what_was_dismissed_not_long_ago_marks_nothing():
    known = world(REPO)
    known.dismissed[101, 1, 204] = NOW - timedelta(days=29)

    assert ask(known, "gnommoweb", CONTAINER).lines == ("gnommoweb: [type] repo",)
    known.dismissed[101, 1, 204] = NOW - timedelta(days=30)
    assert ask(known, "gnommoweb", CONTAINER).lines == ("gnommoweb: [type?] repo — conflict pending",)


@pytest.mark.requirement("W-24", "W-90")
def test_a_threshold_is_reached_by_being_equal_to_it():
    known = world(REPO, novelty=0.0, saliency=0.5)

    assert ask(known).lines
    assert not ask(known, saliency_read_threshold=0.51).lines


@pytest.mark.requirement("W-90", "W-96")
@pytest.mark.parametrize(
    ("changed", "is_shown"),
    [
        ({"confidence": 0.6}, True),
        ({"confidence": 0.59}, False),
        ({"last_confirmed": NOW - timedelta(days=90)}, True),
        ({"last_confirmed": NOW - timedelta(days=91)}, False),
        ({"last_confirmed": NOW - timedelta(days=91), "source": "gutask"}, True),
        ({"last_confirmed": None}, True),
    ],
)
def test_an_edge_is_silent_below_the_floor_and_outside_the_window(changed: dict[str, Any], is_shown: bool):
    assert bool(ask(world(REPO._replace(**changed))).lines) is is_shown


@pytest.mark.requirement("W-96")
def test_the_strict_reading_silences_stated_facts_too():
    old = REPO._replace(last_confirmed=NOW - timedelta(days=91), source="gutask")

    assert not ask(world(old), recollection_recency_applies_to=("all",)).lines


@pytest.mark.requirement("W-90")
def test_no_chain_is_followed():
    known = world(REPO, UrdEdge(id=201, parent_id=202, dim_id=1, is_isa=True))

    assert ask(known).lines == ("gnommoweb: [type] repo",)
    assert ask(known, "gnommoweb repo").lines == ("gnommoweb: [type] repo", "repo: [type] service")


@pytest.mark.requirement("W-92")
def test_a_salient_name_without_any_edge_is_a_zero_hit_and_noted_if_wished():
    known = world(saliency=0.9, novelty=0.0, names={101: "gnommoweb"})

    quiet = ask(known)
    noted = ask(known, zero_hit_notes=True)

    assert not quiet
    assert quiet.zero_hits == noted.zero_hits == ("gnommoweb",)
    assert noted.zero_hit_lines[0].startswith("? gnommoweb: no recollection")
    assert "festinger iknowthat 'gnommoweb -isa " in noted.zero_hit_lines[1]
    assert "festinger iknowthat 'gnommoweb -ispart " in noted.zero_hit_lines[2]


@pytest.mark.requirement("W-92")
def test_a_zero_hit_is_noted_once_a_session_at_most_two_a_block_and_only_for_spoken_words():
    names = {number: f"name{number}" for number in range(4)}
    known = world(saliency=0.9, novelty=0.0, names=names)
    terms = WorldSettings(zero_hit_notes=True)
    text = " ".join(names.values())

    first = build_recollection(known, heard(text), now=NOW, terms=terms)
    second = build_recollection(
        known, heard(text), now=NOW, terms=terms, past=RecollectionHistory(noted={"name0", "name1", "name2"})
    )
    page = build_recollection(known, heard(text, origin=Origin.DOCUMENT), now=NOW, terms=terms)

    assert [line.split(":")[0] for line in first.zero_hit_lines if line.startswith("?")] == ["? name0", "? name1"]
    assert [line.split(":")[0] for line in second.zero_hit_lines if line.startswith("?")] == ["? name3"]
    assert page.zero_hits == ()


@pytest.mark.requirement("W-92")
def test_a_concept_with_edges_below_the_floor_is_no_zero_hit():
    found = ask(world(REPO._replace(confidence=0.3)), zero_hit_notes=True)

    assert found == Recollection()


@pytest.mark.requirement("W-93")
def test_concepts_rank_by_score_and_age_and_what_was_cut_is_counted():
    names = {1: "type", 2: "thing"} | {number: f"name{number:02}" for number in range(10, 22)}
    known = world(*(UrdEdge(id=number, parent_id=2, dim_id=1, is_isa=True) for number in range(10, 22)), names=names)
    known.put_row(known.soas_by_token["name21"]._replace(saliency=2.0))
    old = RecollectionHistory(first_seen={"name10": NOW - timedelta(days=30)})

    found = build_recollection(known, heard(" ".join(names.values())), now=NOW, terms=TERMS, past=old)

    assert [line.split(":")[0] for line in found.lines] == [
        "name21", "name11", "name12", "name13", "name14", "name15", "name16", "name17",
    ]  # fmt: skip
    assert found.cut == 4


@pytest.mark.requirement("W-93")
def test_edges_are_chosen_by_confidence_and_age():
    names = {101: "gnommoweb", 201: "repo"} | {number: f"dim{number}" for number in range(1, 9)}
    edges = [
        UrdEdge(id=101, parent_id=201, dim_id=dim, is_isa=True, confidence=0.9, last_confirmed=NOW)
        for dim in range(1, 9)
    ]
    edges[0] = edges[0]._replace(confidence=0.6)
    edges[1] = edges[1]._replace(last_confirmed=NOW - timedelta(days=45))

    found = ask(world(*edges, names=names))

    assert found.lines == ("gnommoweb: [dim3] repo [dim4] repo [dim5] repo [dim6] repo [dim7] repo [dim8] repo",)
    assert found.cut == 2


@pytest.mark.requirement("W-91")
def test_an_edge_that_nobody_confirmed_since_quarantine_says_so():
    assert ask(world(REPO._replace(unconfirmed=True))).lines == ("gnommoweb: [type] repo (unconfirmed)",)


@pytest.mark.requirement("W-94")
def test_nothing_relevant_is_no_line_and_no_note():
    assert ask(world(REPO), "good morning") == Recollection()


@pytest.mark.requirement("W-24")
def test_a_novel_concept_is_as_salient_as_it_is_novel():
    assert effective_saliency(SoasRow(id=1, token="x", saliency=0.3, novelty=1.0)) == 1.0


@pytest.mark.requirement("W-90")
@given(st.lists(st.sampled_from(sorted(NAMES.values())), max_size=20))
def test_being_read_changes_nothing_and_the_same_state_gives_the_same_bytes(words: list[str]):
    known = world(REPO, UrdEdge(id=102, parent_id=202, dim_id=2, is_isa=False))
    before = dict(known.soas_by_token), dict(known.urd_by_concept), set(known.pending_slots)

    first, second = (ask(known, " ".join(words), CONTAINER) for _ in range(2))

    assert first == second
    assert (known.soas_by_token, known.urd_by_concept, known.pending_slots) == before


def test_a_word_is_known_by_any_of_its_names_in_the_order_in_which_it_is_asked_for():
    known = world()
    asked = ["web", "repo", "unheard", "gnommoweb"]
    plain = [row.token for row in known.rows(asked)]
    known.aliases["web"] = 101

    assert plain == ["repo", "gnommoweb"]
    assert [row.token for row in known.rows(asked)] == ["gnommoweb", "repo", "gnommoweb"]


def test_the_names_of_dimensions_are_words_that_edges_use_as_one():
    known = world(REPO)

    assert "type" in known.dimension_names
    assert "geography" not in known.dimension_names
    assert "unheard" not in known.dimension_names
