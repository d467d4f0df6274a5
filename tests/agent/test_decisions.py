"""What the agent attends to, how sure it is, and what its model reads: pure decisions, by their numbers."""

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from festinger.agent.attention import (
    Stimulus,
    StimulusSource,
    choose_winner,
    describe_attention,
    salience,
    shift_attention,
)
from festinger.agent.confidence import (
    EscalationReason,
    combine_confidence,
    doubt_threshold,
    estimate_reply_sureness,
    is_complex,
    needs_system2,
)
from festinger.agent.context import ContextParts, build_context, sample_identity_memories
from festinger.ids import Origin
from festinger.llm.model import MessageRole
from festinger.memory.confidence import Weight
from festinger.memory.episodes.episode import EpisodeTurn, TurnRole
from festinger.text.budget import estimate_tokens

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)


def vector(*numbers: float) -> np.ndarray:
    made = np.array(numbers, dtype=np.float32)
    return made / np.linalg.norm(made)


def stimulus(number: int, source: str = "user", *, waited: int = 0, charge: float = 0.0) -> Stimulus:
    return Stimulus(
        id=UUID(int=number),
        source=StimulusSource(source),
        text=f"text {number}",
        at=MONDAY + timedelta(seconds=number),
        waited=waited,
        charge=charge,
    )


@pytest.mark.parametrize(("charge", "urgency", "expected"), [(0.0, 0.8, 0.49), (0.0, 0.2, 0.37), (1.0, 0.2, 0.57)])
def test_salience_weighs_novelty_relevance_charge_and_urgency(charge: float, urgency: float, expected: float):
    assert salience(novelty=0.6, relevance=0.5, charge=charge, urgency=urgency) == pytest.approx(expected)


def test_waiting_makes_less_urgent():
    assert stimulus(1).urgency == pytest.approx(0.8)
    assert stimulus(1, waited=2).urgency == pytest.approx(0.8 * 0.81)
    assert stimulus(1, "idle").urgency == pytest.approx(0.2)


def test_a_person_wins_over_an_idle_thought_unless_it_is_charged_and_never_loses_twice():
    plain = choose_winner([stimulus(1, "idle"), stimulus(2)])
    charged = choose_winner([stimulus(1, "idle", charge=1.0), stimulus(2)])
    again = choose_winner([stimulus(1, "idle", charge=1.0), stimulus(2, waited=1)])

    assert plain is not None
    assert plain.stimulus.source == "user"
    assert charged is not None
    assert charged.stimulus.source == "idle"
    assert again is not None
    assert again.stimulus.source == "user"
    assert choose_winner([]) is None


def test_of_two_equals_the_older_wins():
    winner = choose_winner([stimulus(2), stimulus(1)])

    assert winner is not None
    assert winner.stimulus.id == UUID(int=1)


def test_the_model_is_told_what_else_asked_for_its_attention():
    alone, among = choose_winner([stimulus(1)]), choose_winner([stimulus(1), stimulus(2, "idle")])
    assert alone is not None
    assert among is not None

    assert describe_attention(alone) == ""
    assert "- idle 0.34: text 2" in describe_attention(among)
    assert "You attend to: user" in describe_attention(among)


def test_attention_has_inertia_and_loses_it_at_a_change_of_subject():
    before, near, far = vector(1, 0), vector(1, 0.5), vector(0, 1)

    assert shift_attention(None, near) is near
    assert shift_attention(before, None) is before
    moved, jumped = shift_attention(before, near), shift_attention(before, far)
    assert moved is not None
    assert jumped is not None
    assert list(moved) == pytest.approx(_unit(0.3 * before + 0.7 * near))
    assert list(jumped) == pytest.approx(_unit(0.05 * before + 0.95 * far))


def test_what_bears_on_a_goal_wins_over_what_does_not():
    near, far = stimulus(1, "idle"), stimulus(2, "idle")
    near.vector, far.vector = vector(1, 0.2), vector(0, 1)
    winner = choose_winner([far, near], goals=[vector(1, 0)])

    assert winner is not None
    assert winner.stimulus is near


def _unit(made: np.ndarray) -> list[float]:
    return list(made / np.linalg.norm(made))


@pytest.mark.requirement("A-41")
def test_confidence_weighs_the_parts_that_are_there():
    assert combine_confidence(objective=0.8, knowing=0.6, verbal=0.9) == pytest.approx(0.745)
    assert combine_confidence(objective=0.8, knowing=0.6) == pytest.approx(0.7176, abs=1e-4)
    assert combine_confidence(objective=None, knowing=None) == 0.0


@pytest.mark.requirement("A-41")
def test_a_reply_that_hedges_sounds_less_sure():
    sure, unsure = (
        estimate_reply_sureness("You live in Lisbon."),
        estimate_reply_sureness("Maybe Lisbon? I think so, but I'm not sure."),
    )

    assert sure > 0.7 > 0.5 > unsure


@pytest.mark.requirement("A-67")
@pytest.mark.parametrize(("memories", "density", "expected"), [(0, 0.0, 0.3), (500, 0.8, 0.625), (1000, 0.9, 0.775)])
def test_the_more_is_known_the_less_doubt_bothers(memories: int, density: float, expected: float):
    assert doubt_threshold(memories=memories, density=density) == pytest.approx(expected)


@pytest.mark.requirement("A-67")
def test_slow_thought_needs_two_reasons_or_one_that_always_counts():
    assert not needs_system2([EscalationReason.DOUBT])
    assert not needs_system2([EscalationReason.DOUBT, EscalationReason.DOUBT])
    assert needs_system2([EscalationReason.DOUBT, EscalationReason.UNKNOWN])
    assert needs_system2([EscalationReason.IRREVERSIBLE])
    assert is_complex("Is it a? Or is it b?")
    assert not is_complex("Where do I live?")


def turn(number: int, role: TurnRole, text: str) -> EpisodeTurn:
    return EpisodeTurn(seq=number, turn_id=UUID(int=number), at=MONDAY, role=role, origin=Origin.PERSON, content=text)


@pytest.mark.requirement("A-50")
@pytest.mark.parametrize(
    ("alpha", "beta", "relevance", "share"),
    [
        (10.0, 2.0, 1.0, 0.970),
        (8.0, 2.0, 1.0, 0.930),
        (6.0, 4.0, 1.0, 0.515),
        (1.0, 4.0, 1.0, 0.026),
        (10.0, 2.0, 0.5, 0.678),
        (10.0, 2.0, 0.1, 0.0),
    ],
)
def test_the_identity_is_drawn_by_weight_and_relevance(alpha: float, beta: float, relevance: float, share: float):
    chance = random.Random(7)
    each = "I answer briefly.", Weight(alpha=alpha, beta=beta), relevance
    present = sum(bool(sample_identity_memories([each], chance)) for _ in range(4000)) / 4000

    assert present == pytest.approx(share, abs=0.02)


def parts(**more: object) -> ContextParts:
    given: dict[str, object] = {
        "name": "ada",
        "boundaries": ["Never send mail."],
        "identity": ["I prefer short answers."],
        "goals": ["I want to run a marathon by May."],
        "corrections": ["When asked for a port: look at the notes."],
        "about": ("You were started twice.",),
        "history": [
            turn(1, TurnRole.USER, "hello " * 300),
            turn(2, TurnRole.THOUGHT, "a thought"),
            turn(3, TurnRole.ASSISTANT, "Hi."),
        ],
        "message": "Where do I live?",
        "notes": "<recollection>\n- I live in Lisbon\n</recollection>",
    }
    return ContextParts(**{**given, **more})  # type: ignore[arg-type]


@pytest.mark.requirement("A-50")
def test_the_context_has_what_is_stable_first_and_the_notes_with_the_message():
    built, tokens = build_context(parts(), window=8192)
    system, *history, last = built

    assert [message.role for message in built] == [
        MessageRole.SYSTEM, MessageRole.USER, MessageRole.ASSISTANT, MessageRole.USER,
    ]  # fmt: skip
    stable = ("ada", "Never send mail.", "short answers", "marathon", "look at the notes", "twice")
    at = [system.text.index(each) for each in stable]
    assert at == sorted(at)
    assert "a thought" not in "".join(message.text for message in history)
    assert last.text == "<recollection>\n- I live in Lisbon\n</recollection>\n\nWhere do I live?"
    assert tokens == sum(estimate_tokens(message.text) for message in built)


def test_the_oldest_turns_leave_first_and_the_message_never():
    small, _ = build_context(
        parts(history=[turn(1, TurnRole.USER, "hello " * 900), turn(2, TurnRole.USER, "Hi.")]), window=1024
    )
    smaller, _ = build_context(parts(message="why? " * 2000), window=1024)

    assert [message.text for message in small[1:-1]] == ["Hi."]
    assert small[-1].text.endswith("Where do I live?")
    assert len(smaller) == 2
    assert smaller[-1].text.endswith("why? " * 2000)
