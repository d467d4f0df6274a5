"""What is said in one chat is known in the next, with real clients and with the bundled models."""

from pathlib import Path
from typing import Any

import openai
import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import memories
from tests.stories.stage import Stage, stage

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE
from festinger.memory.late_judgements import judge_pending_pairs
from festinger.memory.model import Kind
from festinger.memory.undo import undo

EMBEDDER: dict[str, Any] = {"embedding__model": "onnx:all-minilm-l6-v2", "proxy__first_memory_deadline_ms": 10_000}


async def chat(at: Stage, *messages: str) -> list[dict[str, str]]:
    """A new chat through the OpenAI client; the headers of its answers."""
    client = openai.AsyncOpenAI(base_url=f"{at.url}/v1", api_key="none", max_retries=0)
    history: list[Any] = []
    headers = []
    for message in messages:
        history.append({"role": "user", "content": message})
        answer = await client.chat.completions.with_raw_response.create(model="m", messages=history)
        history.append({"role": "assistant", "content": answer.parse().choices[0].message.content})
        headers.append(dict(answer.headers))
    await client.close()
    return headers


async def notes(at: Stage, question: str) -> str:
    """What a question in a new chat carries to the model, before the question itself."""
    await chat(at, question)
    return at.model.heard[-1].newest.removesuffix(question)


async def active(at: Stage) -> list[str]:
    return [each.content for each in await memories(at.app.store, "active") if each.kind is not Kind.EPISODIC]


@pytest.mark.requirement("P-30", "P-50")
async def test_said_in_one_chat_asked_in_the_next(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "btw our staging database listens on port 5433. how do I dump one table?")
        await chat(at, "I'm allergic to peanuts. what snack would you take on a hike?")

        port = await notes(at, "which port does the staging db use?")
        snack = await notes(at, "suggest a recipe for satay sauce")

    assert "listens on port 5433" in port
    assert "allergic to peanuts" in snack
    assert "dump one table" not in port
    assert port.count("5433") == 1


async def test_plain_sentences_about_oneself_are_kept_and_small_talk_is_not(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        for told in (
            "My favorite color is green.",
            "We have a cat.",
            "hi, I am a teacher",
            "I'm so tired.",
            "It is raining.",
        ):
            await chat(at, told)
        kept = await active(at)
        color = await notes(at, "Which color should I paint my desk?")

    assert sorted(kept) == ["I am a teacher", "My favorite color is green", "We have a cat"]
    assert "green" in color


async def test_a_list_about_oneself_is_kept_and_a_list_to_work_on_is_not(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(
            at,
            "A bit about me:\n- I'm a baker in Trieste\n- lactose intolerant since school\n- I get up at 3 am\n\n"
            "How do I get more sleep?",
        )
        await chat(at, "Sort these complaints by tone:\n- my order came cold\n- I live next door and wait an hour")
        kept = await active(at)
        dessert = await notes(at, "What dessert could I order tonight?")

    assert sorted(kept) == ["I get up at 3 am", "I'm a baker in Trieste", "Lactose intolerant since school"]
    assert "actose intolerant" in dessert


async def test_who_asks_what_is_known_about_them_is_told_more_than_a_note_or_two(database_url: str, tmp_path: Path):
    told = [
        "I'm Milan.",
        "I teach chemistry in Graz.",
        "We have a parrot.",
        "I don't eat fish.",
        "My bike is a blue tandem.",
    ]
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        for each in told:
            await chat(at, each)
        known = await notes(at, "What do you know about me?")
        other = await notes(at, "What do you know about comets?")

    assert [word in known for word in ("Milan", "chemistry", "parrot", "fish", "tandem")] == [True] * 5
    assert other == ""


async def test_whom_somebody_knows_is_learned_from_requests_and_not_from_stories(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "Please write a short toast for my cousin Bela, she turns forty")
        await chat(at, "Write a novel chapter in which a knight complains: my squire Odo is lazy")
        who = await notes(at, "Who is Bela?")
        kept = await active(at)

    assert "Bela is my cousin" in who
    assert not any("Odo" in each for each in kept)


async def test_an_instruction_for_all_answers_goes_with_every_question_and_a_preference_only_where_it_helps(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "Answer me in Dutch from now on. What is a viaduct?")
        await chat(at, "I don't like olives. what can I put on a pizza?")

        painter = await notes(at, "Who painted the Night Watch?")
        sky = await notes(at, "why is the sky blue")
        salad = await notes(at, "a recipe for a greek salad please")

    assert ["in Dutch" in each for each in (painter, sky, salad)] == [True] * 3
    assert ["olives" in each for each in (painter, sky, salad)] == [False, False, True]


async def test_what_was_said_in_one_breath_comes_back_together(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "The front of our shop is written in Svelte and the back is a Go service. is that a good mix?")
        for town in ("Lisgate", "Marrow", "Quill", "Tarn"):
            await chat(at, f"Our office in {town} has two kitchens. is that usual?")

        asked = await notes(at, "which framework is our website made with?")

    assert "Svelte" in asked
    assert "Go service" in asked
    assert "kitchens" not in asked


@pytest.mark.requirement("J-03")
async def test_an_object_stays_with_what_it_refers_to(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "I'll stop running the pottery club, Mrs Okello will take it over. what do I hand to her?")
        who = await notes(at, "Who runs the pottery club?")

    assert "Okello" in who
    assert "pottery club" in who


async def test_while_it_is_not_decided_whether_news_replaces_a_note_the_news_is_shown_alone(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, judge__accept=0.99, **EMBEDDER) as at:
        await chat(at, "I work nights at the bakery. How do I sleep by day?")
        await chat(at, "They put me on early shifts permanently. When should I have lunch?")
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)

        kept = await active(at)
        shown = await notes(at, "which shifts do I have at work?")
        [waiting] = await rows(at.app.store, "select id from memory where pending")
        await judge_pending_pairs(at.app.memory.deps, MAIN_SPACE, waiting["id"])
        later = await notes(at, "which shifts do I have at work?")

    assert set(kept) == {"I work nights at the bakery", "They put me on early shifts permanently"}
    for each in (shown, later):
        assert "early shifts" in each
        assert "nights" not in each


@pytest.mark.requirement("J-03")
async def test_of_two_notes_that_stand_and_may_be_news_to_each_other_only_the_later_is_shown_for_one_question(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "Our bakery opens at six. Which rolls are quick?")
        await chat(at, "Our bakery is run by Lena. What do I cook for her?")
        both = await notes(at, "who runs our bakery and when does our bakery open?")
        await rows(
            at.app.store, "update judgement set current = 'new', final = true, relation = 'unrelated' returning id"
        )
        one = await notes(at, "who runs our bakery and when does our bakery open?")
        alone = await notes(at, "opening hours?")

    assert "six" in both
    assert "Lena" in both
    assert "six" not in one
    assert "Lena" in one
    assert "six" in alone


@pytest.mark.requirement("J-03")
async def test_news_in_other_words_replaces_what_it_makes_outdated(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "I go to work by train, what podcast fits into 25 minutes?")
        await chat(at, "Our office dog is called Bruno. Is chocolate really that bad for dogs?")
        await chat(at, "It's the bus that I take to work these days. Any tips against motion sickness?")
        await chat(at, "we upgraded our shop to Django 5.1, what changes with async views?")

        ride = await notes(at, "how do I get to work?")
        django = await notes(at, "which django version are we on?")

    assert "upgraded our shop to Django 5.1" in django
    assert "bus" in ride
    assert "train" not in ride
    assert "Bruno" not in ride


@pytest.mark.requirement("J-03")
async def test_words_that_say_little_alone_are_kept_where_they_are_news(database_url: str, tmp_path: Path):
    news = "yay, chapel days are over. Which songs are easy for a choir?"
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, news)
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)
        alone = await active(at)
        await chat(at, "We rehearse in the chapel on Mondays. How do I warm up?")
        await chat(at, news)
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)
        kept = await active(at)

    assert alone == []
    assert kept == ["Yay, chapel days are over"]


async def test_what_a_person_asks_to_be_remembered_is_stored_before_the_answer_begins(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        [headers] = await chat(at, "Please remember that the vault code changes on Mondays.")
        kept = await active(at)
        [asked] = await chat(at, "How are you?")

    assert headers["x-festinger-learned"] == "1; actions=stored"
    assert kept == ["The vault code changes on Mondays"]
    assert "x-festinger-learned" not in asked


async def test_a_correction_replaces_what_it_refers_to_and_undo_brings_the_old_value_back_alone(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        await chat(at, "Note that the staging database listens on port 5433.", "actually it moved to 5434")
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)
        corrected = await active(at)
        [change] = await rows(at.app.store, "select id from memory_change where op = 'supersede'")
        await undo(at.app.memory.deps, MAIN_SPACE, change["id"], by="owner")
        undone = await active(at)

    assert corrected == ["The staging database listens on port 5434"]
    assert undone == ["The staging database listens on port 5433"]


@pytest.mark.parametrize(
    "message",
    [
        "Translate to German: I live in Oslo and I work at the harbor.",
        "Write a short story in first person: I'm a lighthouse keeper on Skarholm.",
        "What if we moved prod to Dublin, would latency suffer?",
        "assume the port is 9000, how would the unit file look?",
        "Which port does staging use?",
        "Make sure that all tests pass and rename foo to bar.",
    ],
)
async def test_tasks_stories_suppositions_and_questions_leave_no_memory(
    message: str, database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, message)
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)

        assert await active(at) == []


async def test_a_turn_that_was_captured_and_not_learned_is_learned_by_a_job_once(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        at.app.memory.turns.clear()
        await chat(at, "Remember that the wiki moved to Outline.")
        before = await active(at)
        at.app.memory.turns.clear()

        async def is_done() -> bool:
            asked = "select status from procrastinate_jobs where task_name = 'learn_turn'"
            found = [row["status"] for row in await rows(at.app.store, asked)]
            return "succeeded" in found

        await at.kept()
        await at.until(is_done)
        after = await active(at)

    assert before == after == ["The wiki moved to Outline"]


@pytest.mark.parametrize(
    ("path", "more"), [("/api/generate", {"raw": True}), ("/api/generate", {"suffix": "\n"}), ("/v1/completions", {})]
)
async def test_what_an_editor_completes_is_not_learned_as_a_persons_words(
    path: str, more: dict[str, Any], database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        await at.post(path, {"model": "m", "prompt": "I moved from Berlin to Lisbon.", **more})
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)
        completed = await active(at)
        await at.post("/api/generate", {"model": "m", "prompt": "I moved from Berlin to Lisbon."})
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)
        said = await active(at)

    assert completed == []
    assert len(said) == 1


@pytest.mark.requirement("W-13", "P-30")
async def test_a_world_note_hides_no_memory_that_says_more(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await chat(at, "Remember that gnommoweb is a small web service in Rust.")
        await chat(at, "Note that dobby belongs to the payments team.")
        await chat(at, "Note that winky is a parser.")
        await at.kept()
        await at.until_known("gnommoweb", "dobby", "winky")

        service = await notes(at, "is gnommoweb up?")
        owned = await notes(at, "who owns dobby?")
        parser = await notes(at, "is winky up?")

    assert "Rust" in service
    assert "payments_team" in owned
    assert owned.count("dobby") == 1
    assert parser.count("winky") == 1


@pytest.mark.requirement("W-23", "W-90")
async def test_an_ordinary_word_that_somebody_used_as_a_name_is_known_in_any_casing(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **EMBEDDER) as at:
        await chat(at, "Translate to German: Luna is my horse.")
        await chat(at, "Atlas is our staging server.")
        await chat(at, "Rex is my dog.")
        await at.kept()
        await at.until_known("atlas", "rex")

        atlas = [await notes(at, f"what language is {name} written in?") for name in ("atlas", "Atlas", "ATLAS")]
        rex = await notes(at, "what should I feed rex tonight?")
        luna = await notes(at, "what language is luna written in?")

    assert all("server" in told and told.casefold().count("atlas") == 1 for told in atlas)
    assert "dog" in rex
    assert rex.casefold().count("rex") == 1
    assert "horse" not in luna
