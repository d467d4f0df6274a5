"""Outcomes read from what was said: each rule, what each needs, and that the same turn reads the same."""

from dataclasses import replace

import pytest

from festinger.outcomes.effects import parse_edge_id
from festinger.outcomes.inference import TurnInferenceInput, TurnNote, infer_turn_outcomes
from festinger.world.model import NoteOutcome

LISGATE = TurnNote(id="0197aaaa-0000-7000-8000-000000000001", text="The harbour office of Lisgate opens at 0730.")
QUILLON = TurnNote(id="n2", text="Quillon Freight ships copper wire on Tuesdays.", subject="Quillon Freight")
RANA = TurnNote(id="n3", text="Rana's favourite colour is teal.")


def read(note: TurnNote = LISGATE, **turn: object) -> list[tuple[str, str, float]]:
    return [
        (each.note, each.outcome.value, round(each.q, 6))
        for each in infer_turn_outcomes(TurnInferenceInput(notes=(note,), **turn)).outcomes  # type: ignore[arg-type]
    ]


@pytest.mark.requirement("O-47")
def test_a_reply_that_says_most_of_a_note_has_acted_on_it() -> None:
    [(_, outcome, q)] = read(request="When can I come?", reply="The Lisgate harbour office opens at 0730.")

    assert (outcome, q) == ("acted", 0.9)


@pytest.mark.requirement("O-46")
def test_what_the_person_said_already_is_no_trace_of_the_note() -> None:
    request = "Does the Lisgate harbour office open at 0730?"

    assert read(request=request, reply="Yes, the harbour office of Lisgate opens at 0730.") == []
    assert infer_turn_outcomes(TurnInferenceInput(notes=(LISGATE,), request=request)).unreadable == (LISGATE.id,)


@pytest.mark.requirement("O-46")
def test_names_and_numbers_must_come_up_exactly_and_other_words_in_any_form() -> None:
    assert read(reply="It begins at 0735 in Lisgaten.") == []
    [(_, outcome, _q)] = read(QUILLON, reply="We had wires shipped by Quillon.")
    assert outcome == "used"


@pytest.mark.requirement("O-46")
def test_a_common_word_alone_is_no_trace() -> None:
    assert read(reply="My office opens late.") == []


@pytest.mark.requirement("O-47")
def test_an_own_word_in_a_tool_call_is_acting() -> None:
    assert read(arguments=('{"at": "0730"}',), reply="Done.") == [(LISGATE.id, "acted", 0.8)]


@pytest.mark.requirement("O-47")
def test_citing_a_note_is_acting() -> None:
    assert read(reply=f"As noted in {LISGATE.id}, yes.") == [(LISGATE.id, "acted", 0.95)]


@pytest.mark.requirement("O-47")
def test_one_own_word_is_use() -> None:
    assert read(reply="I would ask somebody in Lisgate.") == [(LISGATE.id, "used", 0.5)]


@pytest.mark.requirement("O-47")
def test_half_of_it_in_the_reasoning_is_use() -> None:
    assert read(reasoning="Lisgate: harbour office, 0730.", reply="Come early.") == [(LISGATE.id, "used", 0.5)]
    assert read(reasoning="Lisgate.", reply="Come early.") == []


@pytest.mark.requirement("O-47")
def test_setting_aside_by_name_is_dismissing() -> None:
    reply = "I am leaving aside what is known of Quillon Freight."

    assert read(QUILLON, reply=reply) == [("n2", "dismissed", 0.7)]


@pytest.mark.requirement("O-47")
def test_no_trace_is_no_outcome() -> None:
    assert read(reply="Good morning! How can I help?") == []


@pytest.mark.requirement("O-47")
def test_a_reply_that_says_otherwise_contradicts() -> None:
    [(_, outcome, q)] = read(RANA, request="What is it?", reply="Rana's favourite colour is crimson.")

    assert outcome == "contradicted"
    assert 0.48 <= q <= 0.6


@pytest.mark.requirement("O-47")
def test_a_person_who_corrects_contradicts_what_the_reply_had_acted_on() -> None:
    reply = "Rana's favourite colour is teal."

    assert read(RANA, request="Which paint?", reply=reply)[0][1] == "acted"
    for correction in (
        "No, it is crimson.",
        "Actually, Rana's favourite colour is crimson.",
        "That is wrong, Rana never had teal as favourite colour.",
    ):
        assert read(RANA, request="Which paint?", reply=reply, next_message=correction) == [("n3", "contradicted", 0.8)]


@pytest.mark.requirement("O-47")
def test_going_on_after_a_reply_corrects_nothing() -> None:
    reply = "Rana's favourite colour is teal."

    for going_on in ("Thanks, teal it is.", "No problem.", "No, thanks.", "And what does it cost?"):
        assert read(RANA, reply=reply, next_message=going_on)[0][1] == "acted"


@pytest.mark.requirement("O-45")
def test_the_same_turn_reads_the_same() -> None:
    turn = TurnInferenceInput(notes=(LISGATE, QUILLON, RANA), reply="Lisgate opens at 0730; teal is nice for Rana.")

    assert infer_turn_outcomes(turn).outcomes == infer_turn_outcomes(turn).outcomes
    assert [each.outcome for each in infer_turn_outcomes(turn).outcomes] == [NoteOutcome.ACTED, NoteOutcome.ACTED]


@pytest.mark.requirement("O-36")
@pytest.mark.requirement("O-46")
def test_the_note_whose_number_was_used_gets_the_credit() -> None:
    notes = tuple(
        TurnNote(id=str(number), text=f"Depot {name} holds {number * 111} crates of tin.")
        for number, name in enumerate(("Arlo", "Brisk", "Conde", "Delft", "Ernst"), 1)
    )
    found = infer_turn_outcomes(
        TurnInferenceInput(notes=notes, request="What does the depot hold?", reply="Conde holds 333 crates of tin.")
    )

    assert [each.note for each in found.outcomes if each.outcome is NoteOutcome.ACTED] == ["3"]
    assert found.credit["3"] >= 0.9
    assert sum(found.credit.values()) <= 1.0 + 1e-9


GNOMMOWEB = "gnommoweb [type] repo"


def edge_note(id_: str) -> TurnNote:
    edge = parse_edge_id(id_)
    assert edge is not None
    return TurnNote(id=id_, text=edge.sentence, subject=edge.concept, edge=edge)


@pytest.mark.requirement("P-45")
@pytest.mark.parametrize(
    ("turn", "outcome"),
    [
        (TurnInferenceInput(notes=(), request="What is gnommoweb?", reply="gnommoweb is a wiki."), "contradicted"),
        (TurnInferenceInput(notes=(), request="What is gnommoweb?", reply="gnommoweb is not a repo."), "contradicted"),
        (
            TurnInferenceInput(
                notes=(), request="And gnommoweb?", reply="A repo.", next_message="No, gnommoweb is a wiki."
            ),
            "contradicted",
        ),
        (TurnInferenceInput(notes=(), request="What is gnommoweb?", reply="gnommoweb is a repo."), "acted"),
        (TurnInferenceInput(notes=(), request="Clone gnommoweb.", arguments=('{"from": "repo"}',)), "acted"),
        (TurnInferenceInput(notes=(), request="What is gnommoweb?", reply="gnommoweb runs on hilbert."), None),
        (TurnInferenceInput(notes=(), request="What is gnommoweb?", reply="dobby is a wiki."), None),
    ],
    ids=["another parent", "denied", "corrected", "said", "called", "another dimension", "another concept"],
)
def test_an_edge_is_contradicted_by_another_parent_in_its_place_and_by_nothing_beside_it(
    turn: TurnInferenceInput, outcome: str | None
):
    found = infer_turn_outcomes(replace(turn, notes=(edge_note(GNOMMOWEB),))).outcomes

    assert [each.outcome.value for each in found] == ([outcome] if outcome else [])


@pytest.mark.requirement("P-46")
def test_a_word_that_notes_share_gives_each_its_part_wherever_it_was_said():
    notes = (
        TurnNote(id="a", text="The vault of Lisgate opens with key 7714."),
        TurnNote(id="b", text="The shed of Quillon opens with key 7714."),
        TurnNote(id="c", text="The boat is called Marisol."),
    )
    read = infer_turn_outcomes(
        TurnInferenceInput(notes=notes, request="Open it.", reply="Marisol.", arguments=('{"key": "7714"}',))
    )

    assert {each.note: each.outcome.value for each in read.outcomes if each.note != "c"} == {"a": "acted", "b": "acted"}
    assert read.credit["a"] == read.credit["b"] > 0
    assert sum(read.credit.values()) == pytest.approx(1.0)
