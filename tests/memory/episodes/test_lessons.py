"""What episodes teach, how far it is trusted, and what is refused."""

import pytest
from tests.jobs.deps import rows
from tests.memory.episodes.talking import PLAN, answered, fact, talk, talked, turn, turns, writing
from tests.memory.remembering import Mind, events, memories

from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE, Origin, SessionId
from festinger.llm.providers.scripted import build_scripted_model
from festinger.memory.changes import MemoryRelation
from festinger.memory.episodes.episode import Episode, Lesson
from festinger.memory.episodes.lessons import lesson_origin, link_decision_to_episode, summarize_episode
from festinger.memory.episodes.store import append_turn, close_episode, load_episode_details, open_episode
from festinger.memory.episodes.summary import EpisodeFact
from festinger.memory.learn.statement import is_supported
from festinger.store.pool import Store

OSLO = "The staging cluster stands in Oslo"


async def taught(mind: Mind, *facts: EpisodeFact, episode: Episode | None = None) -> Episode:
    """An episode that a model summed up with these facts."""
    model, _script = build_scripted_model(answered(*facts))
    ended = episode or await talked(mind)
    return await summarize_episode(writing(mind.deps, model), MAIN_SPACE, ended.id)


async def refusals(store: Store) -> list[tuple[str, str]]:
    found = await rows(store, "select reason, text from refusal order by at, id")
    return [(row["reason"], row["text"]) for row in found]


@pytest.mark.requirement("M-12", "M-56")
async def test_a_fact_names_its_episode_and_derives_from_its_turns(store: Store):
    mind = Mind(store)

    done = await taught(mind, fact(OSLO, 3, subject="staging cluster"))

    [kept] = [each for each in await memories(store) if each.content == OSLO]
    told = await load_episode_details(mind.deps, MAIN_SPACE, done.id)
    links = await rows(store, "select to_id, relation from memory_link where from_id = %(id)s", id=kept.id)
    assert (kept.source, kept.episode_id, kept.subject) == (f"episode:{done.id}", done.id, "staging cluster")
    assert [(row["to_id"], row["relation"]) for row in links] == [(told.turns[2].turn_id, MemoryRelation.DERIVES_FROM)]
    assert kept.turn_id == told.turns[2].turn_id


@pytest.mark.requirement("M-56")
async def test_facts_that_are_known_already_are_confirmed_and_bring_no_new_row(store: Store):
    mind = Mind(store)
    await mind.learn(OSLO, session="earlier")

    await taught(mind, fact(OSLO, 3))

    facts = [each for each in await memories(store) if each.kind == "fact"]
    assert [(each.content, each.confirmation_count) for each in facts] == [(OSLO, 1)]


@pytest.mark.requirement("M-11", "M-56")
async def test_a_fact_of_a_person_and_a_tool_is_trusted_as_the_tool_and_less_for_being_reworded(store: Store):
    mind = Mind(store)
    place = mind.place()
    for role, content in (*PLAN, ("tool", "cluster staging: region Oslo, healthy")):
        last = await append_turn(mind.deps, place, role, content)
    ended = await close_episode(mind.deps, MAIN_SPACE, last.episode.id)

    await taught(mind, fact(OSLO, 3, 5), episode=ended)

    [kept] = [each for each in await memories(store) if each.content == OSLO]
    assert kept.trust == pytest.approx(0.45)
    assert kept.origin is Origin.TOOL


@pytest.mark.requirement("M-56")
async def test_what_only_the_model_said_is_kept_at_the_models_trust(store: Store):
    mind = Mind(store)

    await taught(mind, fact("The billing service uses MySQL today", 2))

    [kept] = [each for each in await memories(store) if each.kind == "fact"]
    assert kept.trust == pytest.approx(0.6)
    assert kept.origin is Origin.MODEL


@pytest.mark.requirement("M-56")
async def test_what_a_model_worded_is_no_persons_word(store: Store):
    said = turns(("user", "x"), ("assistant", "y"), ("tool", "z"))

    assert lesson_origin(said[:1], by_model=False) is Origin.PERSON
    assert lesson_origin(said[:1], by_model=True) is Origin.MODEL
    assert lesson_origin(said[:2], by_model=False) is Origin.MODEL
    assert lesson_origin(said, by_model=True) is Origin.TOOL
    assert lesson_origin([turn(1, "user", "x", origin=Origin.DOCUMENT), *said], by_model=True) is Origin.DOCUMENT


@pytest.mark.requirement("M-91", "M-56")
async def test_what_the_turns_do_not_support_is_refused_by_name(store: Store):
    mind = Mind(store)

    done = await taught(
        mind,
        fact(OSLO, 3, confidence=0.59),
        fact("The staging cluster stands somewhere in Oslo", 99),
        fact("Marta keeps seven bees behind her grey house", 3),
        fact("Where does the staging cluster in Oslo stand?", 3),
        fact("The staging cluster in Oslo is running right now", 3),
    )

    assert [reason for reason, _ in await refusals(store)] == [
        "unsupported", "unsupported", "unsupported", "question", "transient",
    ]  # fmt: skip
    assert [each.kind for each in await memories(store)] == ["episodic"]
    assert len(await events(store, "learn_refused")) == 5
    assert done.facts_at is not None


@pytest.mark.requirement("M-91")
async def test_what_restates_the_prompt_of_the_session_is_refused_and_again_as_a_duplicate(store: Store):
    mind = Mind(store)
    rule = "Never reveal the name of a customer to anybody else."
    ended = await talked(mind, ("system", f"You are careful. {rule}"), ("user", f"I repeat: {rule}"), *PLAN)
    await taught(mind, fact(rule, 2), episode=ended)
    again = await talked(mind, ("system", f"You are careful. {rule}"), ("user", f"I repeat: {rule}"), *PLAN)

    await taught(mind, fact(rule, 2), episode=again)

    assert await refusals(store) == [("restated_prompt", rule), ("duplicate_refusal", rule)]


@pytest.mark.requirement("M-91")
async def test_a_prompt_counts_in_every_later_episode_of_its_session_and_in_no_other_session(store: Store):
    mind = Mind(store)
    rule = "Never reveal the name of a customer to anybody else."
    said = ("user", f"I repeat: {rule}")
    await talked(mind, ("system", f"You are careful. {rule}"), *PLAN)

    await taught(mind, fact(rule, 1), episode=await talked(mind, said, *PLAN))
    await taught(mind, fact(rule, 1), episode=await talked(mind, said, *PLAN, session="s2"))

    assert await refusals(store) == [("restated_prompt", rule)]
    assert rule in [each.content for each in await memories(store)]


@pytest.mark.requirement("M-57")
async def test_decisions_and_replacements_of_the_session_are_tied_to_the_episode(store: Store):
    mind = Mind(store)
    await mind.learn("The server has 16 GB", session="before")
    await talk(mind, *PLAN)
    replaced = await mind.learn("The server has 32 GB")
    other = await mind.learn("The printer has 64 MB", session="elsewhere")
    last = await talk(mind, ("user", "That was all for today, see you on Thursday evening."))
    ended = await close_episode(mind.deps, MAIN_SPACE, last.id)

    done = await taught(mind, fact("Billing will use Postgres", 3, is_decision=True), fact(OSLO, 3), episode=ended)

    by_text = {each.content: each for each in await memories(store)}
    ties = {
        (tie.target, tie.target_id, tie.relation)
        for tie in (await load_episode_details(mind.deps, MAIN_SPACE, done.id)).ties
    }
    assert ties == {
        ("memory", by_text["Billing will use Postgres"].id, "decided"),
        ("memory", by_text[OSLO].id, "learnt"),
        ("change", replaced.change, "superseded"),
    }
    assert by_text["Billing will use Postgres"].tags == ("decision",)
    assert other.memory is not None


@pytest.mark.requirement("M-57")
async def test_a_decision_within_a_session_is_tied_to_the_episode_it_was_made_in(store: Store):
    mind = Mind(store)
    episode = await talk(mind, *PLAN)
    event = Event(
        id=episode.id, seq=1, name="conflict_decided", version=1, space=MAIN_SPACE, subject="x",  # type: ignore[arg-type]
        agent=None, session=SessionId("s1"), trace=None, caused_by=None, payload={}, at=mind.hands.now,
    )  # fmt: skip

    async with store.transaction() as transaction:
        for session in ("s1", "another"):
            told = Event(**{**{name: getattr(event, name) for name in Event.__slots__}, "session": session})
            await link_decision_to_episode(mind.deps, transaction, told, target="conflict", id_=episode.id)

    assert [
        (tie.target, tie.relation) for tie in (await load_episode_details(mind.deps, MAIN_SPACE, episode.id)).ties
    ] == [("conflict", "decided")]


@pytest.mark.requirement("M-59")
async def test_the_summary_is_a_memory_that_is_found_and_rests_on_the_turns(store: Store):
    mind = Mind(store)
    done = await taught(mind)

    found = await rows(
        store, "select id from memory where content_tsv @@ plainto_tsquery('english', 'billing Postgres move')"
    )
    [summary] = await memories(store)
    links = await rows(store, "select to_id from memory_link where from_id = %(id)s", id=summary.id)
    assert [row["id"] for row in found] == [done.memory_id]
    assert (summary.kind, summary.content) == ("episodic", f"{done.title}\n{done.summary}")
    assert len(links) == 4
    assert summary.trust == pytest.approx(0.54)


@pytest.mark.requirement("M-60")
async def test_a_trial_is_summed_up_and_teaches_nothing(store: Store):
    mind = Mind(store)
    await open_episode(mind.deps, mind.place(), evaluation=True)
    ended = await talked(mind)

    done = await taught(mind, fact(OSLO, 3), episode=ended)
    later = await talk(mind, *PLAN)

    assert done.summary
    assert done.memory_id is None
    assert await memories(store) == []
    assert later.evaluation, "what continues a trial is a trial"


def test_rules_and_support_agree_on_what_was_said():
    lesson = Lesson(content="The staging cluster is in Oslo.", turns=(3,))

    assert is_supported(lesson.content, [PLAN[2][1]], confidence=lesson.confidence)
