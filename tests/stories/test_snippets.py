"""The examples of the how-to pages run as they stand; only the port is the test's."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.stories.model import REPLY
from tests.stories.stage import PATIENCE_S, stage

ROOT = Path(__file__).parent.parent.parent
HOWTO = ROOT / "docs" / "howto"
PAGE = HOWTO / "use-your-client.md"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}], "stream": False}
EXAMPLE = re.compile(r"^## (?P<library>\w+)\n\n```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:11435"

EXAMPLES = {found["library"]: found["code"] for found in EXAMPLE.finditer(PAGE.read_text())}


def run(code: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)


def test_every_library_that_we_drive_has_its_example():
    assert list(EXAMPLES) == ["openai", "ollama", "anthropic", "LangChain", "LiteLLM"]


@pytest.mark.parametrize("library", EXAMPLES)
async def test_an_example_gets_its_answer_through_the_server(library: str, database_url: str, tmp_path: Path):
    code = EXAMPLES[library]
    async with stage(database_url, tmp_path) as at:
        said = await asyncio.to_thread(run, code.replace(ADDRESS, at.url))

    assert code.count(ADDRESS) == 1, "nothing but the address is ours"
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip() == REPLY
    assert at.model.heard[-1].newest == "Say hello."


@pytest.mark.requirement("P-96")
@pytest.mark.parametrize("page", ["agent-zero.md", "open-webui.md"])
async def test_a_container_beside_ours_reaches_it_by_the_name_that_the_page_says(
    page: str, database_url: str, tmp_path: Path
):
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    hosts = json.loads(services["festinger"]["environment"]["FESTINGER_SERVER__HOSTS"])
    named = re.findall(r"http://(\w+):11435", (HOWTO / page).read_text())
    async with stage(database_url, tmp_path, server__hosts=hosts) as at:
        known = await at.post("/api/chat", ASKED, host="festinger:11435")
        stranger = await at.post("/api/chat", ASKED, host="openwebui:11435")

    assert set(named) == {"festinger"}
    assert hosts == ["festinger"]
    assert (known.status, stranger.status) == (200, 403)
