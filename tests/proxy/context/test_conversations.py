"""Whole conversations through reading, recognising and editing, in the order in which the door does it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from tests.proxy.protocols.wire import LABEL, LIMIT, assistant, system, user

from festinger.ids import MAIN_SPACE, SessionId
from festinger.proxy.context.edit import (
    PlacedBlock,
    build_block_marker,
    choose_block_turn,
    find_placed_blocks,
    insert_blocks,
)
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.parser import find_skip_reason
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, SkipReason, build_cleaning_rules
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.sessions.match import match_session
from festinger.proxy.sessions.session import (
    ProxyCaller,
    ProxySession,
    SessionRegistry,
    SessionReply,
    build_hash_chain,
    reply_content_hash,
)
from festinger.services.block import ContextBlock, build_block, build_world_line
from festinger.text.blocks import strip_blocks

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
DOBBY = ProxyCaller(space=MAIN_SPACE, name="dobby")
MARK = build_block_marker(LABEL)


class Desk:
    """A door without a wire: what comes in, what goes on, and which session it was."""

    def __init__(self) -> None:
        self.sessions = SessionRegistry(most=100, idle=timedelta(hours=1))
        self.now = NOON
        self.seen: list[str] = []
        self.notes = (f"fact {n}: [type] thing" for n in range(1000))

    def forward(self, tree: dict[str, Any], kind: RequestKind, *, reply: str = "") -> bytes:
        self.now += timedelta(seconds=20)
        mark = build_block_marker(LABEL, lambda text: self.sessions.is_ours(DOBBY, text))
        request = parse_request(orjson.dumps(tree), kind, rules=build_cleaning_rules(mark, ["[EXTRAS]"]), limit=LIMIT)
        assert isinstance(request, ChatRequest)
        session = self._session(request)
        links = build_hash_chain(request.turns).links
        standing = [*find_placed_blocks(request, links, session.blocks)]
        blocks = dict(session.blocks)
        if find_skip_reason(request) is None:
            place = choose_block_turn(request, links, forwarded=set(session.links))
            if not isinstance(place, SkipReason):
                fresh = self._fresh()
                standing.append(PlacedBlock(turn=place[0], anchor=place[1], block=fresh))
                blocks[place[1]] = fresh
        said = ChatMessage(role=ChatRole.ASSISTANT, text=reply)
        told = SessionReply(text=reply, content=reply_content_hash(said), at=self.now)
        self.sessions.put(replace(session, links=links, blocks=blocks, replies=(*session.replies, told), at=self.now))
        return insert_blocks(request, standing, mark=mark)[0]

    def _session(self, request: ChatRequest) -> ProxySession:
        chain = build_hash_chain(request.turns)
        found = match_session(
            chain,
            request.turns,
            live=self.sessions.alike(DOBBY, chain.head, now=self.now),
            others=self.sessions.find_by_contents(DOBBY, chain.contents, now=self.now),
            now=self.now,
        )
        name = found.session or SessionId(f"s{len(set(self.seen)) + 1}")
        self.seen.append(name)
        known = self.sessions.find(DOBBY, name, now=self.now)
        return known or ProxySession(caller=DOBBY, id=name, at=self.now, head=chain.head)

    def _fresh(self) -> ContextBlock:
        made = build_block(LABEL, graph=[build_world_line(next(self.notes))])
        assert made is not None
        return made


def agent_zero(steps: int) -> Iterator[tuple[str, str]]:
    """The prompts and replies of a run: results come as user sections, extras at the end of the newest one."""
    history = "### System:\nYou are Agent Zero, and this is your manual.\n\n### User:\n"
    history += json.dumps({"user_message": "restart gnommoweb"})
    for step in range(steps):
        extras = f"\n\n[EXTRAS]\n{json.dumps({'current_datetime': f'12:{step:02}'})}"
        reply = json.dumps({"thoughts": [f"step {step}"], "tool_name": "ssh", "tool_args": {"n": step}})
        yield history + extras + "\n\n", reply
        result = json.dumps({"tool_name": "ssh", "tool_result": f"output {step}"})
        history += f"\n\n### Assistant:\n{reply}\n\n### User:\n{result}"


@pytest.mark.requirement("P-34", "P-23")
def test_a_run_of_agent_zero_is_one_session_and_keeps_every_character():
    deps = Desk()
    stable = ""
    for prompt, reply in agent_zero(30):
        sent = orjson.loads(deps.forward({"model": "m", "prompt": prompt}, RequestKind.GENERATE, reply=reply))["prompt"]

        assert strip_blocks(sent, MARK) == prompt
        assert sent.startswith(stable)
        stable = sent[: sent.index("\n\n[EXTRAS]")]
    assert set(deps.seen) == {"s1"}
    assert stable.count("<recollection>") == 30


@pytest.mark.requirement("P-23")
def test_interleaved_chats_of_one_agent_stay_apart_and_keep_their_prefixes():
    deps = Desk()
    chats = {topic: [system("You are one agent."), user(f"about {topic}")] for topic in ("ships", "shoes", "wax")}
    before: dict[str, bytes] = {}
    for turn in range(10):
        for topic, history in chats.items():
            body = deps.forward({"messages": history}, RequestKind.CHAT, reply=f"{topic} {turn}")
            sent = orjson.dumps(orjson.loads(body)["messages"])[:-1]

            assert sent.startswith(before.get(topic, b""))
            before[topic] = sent
            history += [assistant(f"{topic} {turn}"), user("continue")]
    assert deps.seen == ["s1", "s2", "s3"] * 10


def test_an_echo_of_our_block_is_never_sent_again_nor_splits_the_session():
    deps = Desk()
    history: list[dict[str, Any]] = [user("hi")]
    for turn in range(20):
        sent = orjson.loads(deps.forward({"messages": history}, RequestKind.CHAT))["messages"]
        echo = sent[-1]["content"].split("</recollection>")[0] + "</recollection>"

        assert all("<recollection>" not in each["content"] for each in sent if each["role"] == "assistant")
        assert sent[-1]["content"].count("<recollection>") == 1
        history += [assistant(f"{echo}\n\nAnswer {turn}."), user(f"more {turn}")]
    assert set(deps.seen) == {"s1"}
