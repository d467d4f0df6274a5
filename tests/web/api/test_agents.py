"""Talking with an agent over HTTP, its goals there, and what its mind holds."""

import json
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.agent.test_mind import serving
from tests.web.deps import deps

from festinger.ids import AgentId, Scope, SessionId
from festinger.services.agent import open_mind
from festinger.store.repositories.auth import AccessRole

ADA = "/admin/api/agents/ada"
NOWHERE = "http://127.0.0.1:9"
PIECE = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
STREAM = "".join(
    f"data: {each}\n\n"
    for each in (
        json.dumps({**PIECE, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Yes, do."}}]}),
        json.dumps({**PIECE, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        "[DONE]",
    )
)


async def test_an_agent_answers_from_memory_and_goes_on_with_its_conversation(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path, proxy__upstream=NOWHERE) as at:
        key = await at.new_key(AccessRole.REVIEWER)
        told = await at.ask("POST", f"{ADA}/say", key=key, body={"text": "I live in Lisgate."})
        asked = await at.ask("POST", f"{ADA}/say", key=key, body={"text": "Where do I live?"})
        fresh = await at.ask("POST", f"{ADA}/say", key=key, body={"text": "Where do I live?", "new": True})
        cycles = (await at.ask("GET", f"{ADA}/cycles?limit=2", key=key)).json
        older = (await at.ask("GET", f"{ADA}/cycles?limit=2&cursor={cycles['next']}", key=key)).json
        mind = (await at.ask("GET", f"{ADA}/mind", key=key)).json
        ready = (await at.ask("GET", f"{ADA}/readiness", key=key)).json["milestones"]
        empty = await at.ask("POST", f"{ADA}/say", key=key, body={"text": " "})
        episodes = (await at.ask("GET", "/admin/api/episodes", key=key)).json["items"]

    assert told.json["reply"] == "I will remember that."
    assert len(told.json["learned"]) == 1
    assert "I live in Lisgate" in asked.json["reply"]
    assert told.json["session"] == asked.json["session"] != fresh.json["session"]
    assert {each["state"] for each in episodes} == {"open"}
    assert [each["n"] for each in (*cycles["items"], *older["items"])] == [3, 2, 1]
    assert cycles["items"][0]["message"] == "Where do I live?"
    assert cycles["items"][0]["notes"][0]["text"] == "I live in Lisgate"
    assert [turn["content"] for turn in mind["turns"]] == ["Where do I live?", fresh.json["reply"]]
    assert mind["models"] == {"chat": None, "system2": None}
    assert len(ready) == 10
    assert [each["name"] for each in ready if each["reached_at"]] == ["memory"]
    assert (empty.status, empty.json["error"]["name"]) == (422, "bad_input")


async def test_a_reply_streams_and_an_error_in_it_is_told(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path, proxy__upstream=NOWHERE) as at:
        key = await at.new_key(AccessRole.REVIEWER)
        accept = {"accept": "text/event-stream"}
        got = await at.ask("POST", f"{ADA}/say", key=key, headers=accept, body={"text": "I live in Lisgate."})
        scope = Scope(space=at.app.directory.need("main"), agent=AgentId("ada"), session=SessionId("chat:elsewhere"))
        async with open_mind(at.app, scope):
            busy = await at.ask("POST", f"{ADA}/say", key=key, headers=accept, body={"text": "Hello to you."})
            refused = await at.ask("POST", f"{ADA}/say", key=key, body={"text": "Hello to you."})

    pieces, reply = events(got.text)
    assert pieces == ("piece", {"text": "I will remember that."})
    assert (reply[0], reply[1]["reply"]) == ("reply", "I will remember that.")
    ((name, error),) = events(busy.text)
    assert (name, error["error"]["name"]) == ("error", "already_running")
    assert "talking elsewhere" in refused.json["error"]["message"]


def events(text: str) -> list[tuple[str, Any]]:
    found = [part.split("\n") for part in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in found]


async def test_the_model_that_is_already_there_answers_and_its_cost_is_told(database_url: str, tmp_path: Path):
    asked: list[dict[str, Any]] = []

    def chat(body: dict[str, Any]) -> web.Response:
        asked.append(body)
        return web.Response(text=STREAM, content_type="text/event-stream")

    async with (
        serving(v1_models={"data": [{"id": "m"}]}, v1_chat_completions=chat) as base,
        deps(database_url, tmp_path, proxy__upstream=base) as at,
    ):
        key = await at.new_key(AccessRole.REVIEWER)
        goal = {"do": "add", "text": "I want to run a marathon by May."}
        await at.ask("POST", f"{ADA}/goals", key=key, body=goal)
        got = await at.ask("POST", f"{ADA}/say", key=key, body={"text": "Shall I go out for a run in the rain?"})
        mind = (await at.ask("GET", f"{ADA}/mind", key=key)).json

    assert got.json["reply"] == "Yes, do."
    assert "I want to run a marathon by May" in json.dumps(asked[0]["messages"])
    assert mind["models"]["chat"].endswith(":m")
    assert mind["cost"]["ever"]["chat"]["calls"] == 1
    cycle = mind["cycles"][0]
    assert [each["text"] for each in (*cycle["notes"], *cycle["goals"])] == ["I want to run a marathon by May"]
    assert cycle["sureness"] in ("sure", "fairly sure")


async def test_goals_are_added_reached_and_reopened_by_people_alone(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path, proxy__upstream=NOWHERE) as at:
        key, agent = await at.new_key(AccessRole.REVIEWER), await at.new_key(AccessRole.AGENT)
        made = (await at.ask("POST", f"{ADA}/goals", key=key, body={"do": "add", "text": "Read a book a month."})).json
        reached = {"do": "achieve", "id": made["id"], "text": "Twelve books."}
        done = (await at.ask("POST", f"{ADA}/goals", key=key, body=reached)).json
        settled = (await at.ask("GET", f"{ADA}/mind", key=key)).json
        await at.ask("POST", f"{ADA}/goals", key=key, body={"do": "reopen", "id": made["id"]})
        reopened = (await at.ask("GET", f"{ADA}/mind", key=key)).json
        wrong = [
            (await at.ask("POST", f"{ADA}/goals", key=key, body=body)).status
            for body in ({"do": "drop"}, {"do": "boast"}, {"do": "drop", "id": "0" * 32})
        ]
        refused = [
            (await at.ask("POST", f"{ADA}/{path}", key=agent, body=body)).status
            for path, body in (("goals", {"do": "add", "text": "Rule the world."}), ("say", {"text": "I am a person."}))
        ]
        foreign = (await at.ask("GET", f"{ADA}/mind?agent=bob", key=agent)).status

    assert (made["state"], done["state"]) == ("open", "achieved")
    assert [(each["state"], each["evidence"]) for each in settled["settled"]] == [("achieved", "Twelve books.")]
    assert settled["goals"] == []
    assert [each["text"] for each in reopened["goals"]] == ["Read a book a month"]
    assert wrong == [422, 422, 404]
    assert refused == [403, 403]
    assert foreign == 404
