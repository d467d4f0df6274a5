"""Agent Zero with nothing changed but its address: thirty steps of flattened prompts whose tails change at each step,
read by LiteLLM, which leaves as soon as a tool call parses."""

import asyncio
import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from tests.stories.guest import Guest
from tests.stories.model import Turn
from tests.stories.stage import PATIENCE_S, Stage, stage

STEPS = 30
SYSTEM = "You are a general agent. Answer with one JSON object that calls a tool.\n\n## Tools\n- code_execution"
TASK = "gnommoweb is a repo of Glitch University. Please bring it up to date, file by file."
NOTE = "gnommoweb: [glitch_university] repo"
OPENING, CLOSING = "<recollection>\n", "</recollection>\n\n"


@dataclass
class Agent:
    """As much of Agent Zero as its model server sees."""

    history: list[dict[str, str]] = field(
        default_factory=lambda: [{"role": "user", "content": json.dumps({"user_message": TASK})}]
    )

    def messages(self, step: int) -> list[dict[str, str]]:
        """The history, and behind the newest message what is written anew at each step."""
        tail = f'\n\n[EXTRAS]\n{{"current_datetime": "2026-01-05 12:{step:02d}:00", "memories": []}}'
        *before, newest = self.history
        system = {"role": "system", "content": SYSTEM}
        return [system, *before, {**newest, "content": newest["content"] + tail}]

    def prompt(self, step: int) -> str:
        """As LiteLLM writes it."""
        return "".join(f"### {message['role'].title()}:\n{message['content']}\n\n" for message in self.messages(step))

    def took(self, reply: str, *, step: int) -> None:
        result = {"tool_result": {"tool": "code_execution", "text": f"page {step} of gnommoweb has {step} lines"}}
        self.history += [{"role": "assistant", "content": reply}, {"role": "user", "content": json.dumps(result)}]


def call(step: int) -> str:
    """What the model says at a step."""
    arguments = {"code": f"sed -n {step}p page-{step}.html"}
    return json.dumps({"thoughts": [f"Step {step}."], "tool_name": "code_execution", "tool_args": arguments})


async def until_it_parses(at: Stage, prompt: str) -> tuple[str, str]:
    """Ask, and leave as soon as what has come is a whole tool call; the session, and what was said until then."""
    body = {"model": "m", "prompt": prompt, "options": {"num_ctx": 32768}, "stream": True}
    said = ""
    async with at.http.post(f"{at.url}/api/generate", json=body) as answer:
        async for line in answer.content:
            said += json.loads(line)["response"]
            if _parses(said):
                break
        answer.close()
    async with asyncio.timeout(PATIENCE_S):
        await at.model.left.wait()
    at.model.left.clear()
    return answer.headers["x-festinger-session"].partition(";")[0], said


def _parses(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def without_blocks(prompt: str) -> str:
    """A prompt with every block cut out."""
    while (start := prompt.find(OPENING)) >= 0:
        end = prompt.index(CLOSING, start) + len(CLOSING)
        prompt = prompt[:start] + prompt[end:]
    return prompt


@pytest.mark.requirement("P-19", "P-24", "P-34", "P-35")
async def test_thirty_steps_are_one_session_with_notes_from_the_second_on(database_url: str, tmp_path: Path):
    agent, sessions, prompts = Agent(), set(), []
    async with stage(database_url, tmp_path) as at:
        for step in range(1, STEPS + 1):
            at.model.says(Turn(text=call(step), stalls=True))
            prompts.append(agent.prompt(step))
            session, said = await until_it_parses(at, prompts[-1])
            sessions.add(session)
            agent.took(said, step=step)
            await at.until_known("gnommoweb")
        forwarded = [sent.body["prompt"] for sent in at.model.heard]

    assert len(sessions) == 1
    assert [without_blocks(prompt) for prompt in forwarded] == prompts
    assert [NOTE in prompt for prompt in forwarded] == [False] + [True] * (STEPS - 1)
    assert {prompt.count(NOTE) for prompt in forwarded[1:]} == {1}
    for before, after in pairwise(forwarded):
        assert after.startswith(before.partition("\n\n[EXTRAS]")[0])


@pytest.mark.requirement("P-15", "P-34")
async def test_the_text_that_litellm_delivers_is_what_the_model_said(guest: Guest, database_url: str, tmp_path: Path):
    agent, delivered = Agent(), []
    async with stage(database_url, tmp_path) as at:
        at.model.says(*(call(step) for step in range(1, 6)))
        for step in range(1, 6):
            pieces = await guest.ask("litellm-ollama", "stream", at.url, agent.messages(step))
            delivered.append("".join(pieces))
            agent.took(delivered[-1], step=step)
            await at.until_known("gnommoweb")
        forwarded = [sent.body["prompt"] for sent in at.model.heard]

    assert delivered == [call(step) for step in range(1, 6)]
    assert [NOTE in prompt for prompt in forwarded] == [False, True, True, True, True]
    assert without_blocks(forwarded[0]) == Agent().prompt(1), "LiteLLM flattens as this story does"
