"""The month that a store is measured with: how much of what is said in it, and that its seed says all of it."""

import random
from collections import Counter

import pytest
from benchmarks.month import ANSWERED, ASKED, ASSISTANT, TOOL, Material, Month, MonthMessageKind, month
from benchmarks.truths import Form, reworded, truths

FACTS = tuple(f"Person{number} wants to visit the town of Number{number}." for number in range(900))
MATERIAL = Material(facts=FACTS, policy="Be kind to people.", results=('{"seats": 3}', '{"seats": 5}'))


@pytest.fixture(scope="module")
def lived() -> Month:
    return month(MATERIAL, seed=0)


def test_the_same_seed_writes_the_same_month():
    assert month(MATERIAL, seed=4, days=2) == month(MATERIAL, seed=4, days=2)
    assert month(MATERIAL, seed=4, days=2) != month(MATERIAL, seed=5, days=2)


@pytest.mark.requirement("S-31")
def test_a_month_holds_as_much_of_every_kind_as_it_should(lived: Month):
    kinds = Counter(message.kind for message in lived.messages())
    total = sum(kinds.values())

    assert len(lived.days) == 30
    assert {len(day.sessions) for day in lived.days} == {40}
    assert {session.agent for day in lived.days for session in day.sessions} == {"clerk", "helper", "scout"}
    assert total == pytest.approx(12_000, rel=0.02)
    assert sum(1 for _ in lived.calls()) == pytest.approx(400, rel=0.1)
    assert kinds[MonthMessageKind.DURABLE] / total == pytest.approx(0.05, abs=0.005)
    for kind in MonthMessageKind:
        if kind is not MonthMessageKind.DURABLE:
            share = 0.1 if kind is MonthMessageKind.QUESTION else ASKED.get(kind, 0) + ANSWERED.get(kind, 0)
            assert kinds[kind] / total == pytest.approx(share, abs=0.006)


@pytest.mark.requirement("S-31")
def test_a_third_is_said_again_and_a_tenth_changes(lived: Month):
    forms = Counter(saying.form for truth in lived.truths for saying in truth.sayings)
    said = [message.saying for message in lived.messages() if message.saying]
    said += [call.saying for call in lived.calls()]

    assert forms[Form.AGAIN] / forms[Form.FIRST] == pytest.approx(1 / 3, abs=0.01)
    assert forms[Form.CHANGED] / forms[Form.FIRST] == pytest.approx(0.1, abs=0.01)
    assert len(said) == sum(forms.values())


def test_what_changes_is_said_before_it_changes(lived: Month):
    days: dict[tuple[str, Form], int] = {}
    for number, day in enumerate(lived.days):
        told = [call.saying for call in day.calls]
        told += [
            message.saying
            for session in day.sessions
            for asked, _ in session.turns
            for message in asked
            if message.saying
        ]
        days |= {(saying.truth, saying.form): number for saying in told}

    for truth in lived.truths:
        order = [days[truth.id, saying.form] for saying in truth.sayings]
        assert order == sorted(set(order))


def test_the_model_answers_every_stretch_and_tools_speak_for_themselves(lived: Month):
    for day in lived.days[:3]:
        for session in day.sessions:
            assert all(asked and answer.role == ASSISTANT for asked, answer in session.turns)
    assert all(
        (message.role == TOOL) == (message.kind in (MonthMessageKind.TOOL, MonthMessageKind.HOSTILE))
        for message in lived.messages()
    )


def test_a_secret_stands_in_its_message(lived: Month):
    planted = [message for message in lived.messages() if message.kind is MonthMessageKind.SECRET]

    assert len(planted) == pytest.approx(60, abs=1)
    assert all(message.secret and message.secret in message.text for message in planted)


def test_saying_again_uses_other_words():
    known = truths(FACTS, number=60, seed=1)

    for truth in known:
        texts = [saying.text for saying in truth.sayings]
        assert len(set(texts)) == len(texts)


def test_what_has_no_other_words_gets_some_in_front():
    text = "Anna dances on Fridays."

    assert reworded(text, random.Random(0)).endswith(text)
    assert reworded(text, random.Random(0)) != text
