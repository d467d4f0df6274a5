import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider
from tests.cli.shell import Shell
from tests.cli.test_client import served
from tests.integrations.conftest import CUE, HARBOUR, TOLD

from festinger.integrations import hermes


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The adapter as Hermes finds it: a file of its own in the folder of plugins."""
    home = tmp_path / "hermes"
    (home / "plugins" / "festinger").mkdir(parents=True)
    shutil.copy(hermes.__file__, home / "plugins" / "festinger" / "__init__.py")
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.setenv("FESTINGER_KEY", "none")
    return load_memory_provider("festinger")


@pytest.mark.requirement("I-30")
def test_hermes_gets_notes_and_tools_and_is_learned_from(provider: Any, shell: Shell, monkeypatch: pytest.MonkeyPatch):
    shell("learn", HARBOUR)
    key = shell("keys", "make", "hermes", "--role", "reviewer").out.strip()
    manager = MemoryManager()
    manager.add_provider(provider)
    with served(shell) as (_, url):
        monkeypatch.setenv("HERMES_FESTINGER_URL", url)
        monkeypatch.setenv("FESTINGER_KEY", key)
        # Loading takes longest at first; a prompt waits for notes only so long.
        monkeypatch.setattr(sys.modules[type(provider).__module__], "NOTES_SECONDS", 30.0)
        manager.initialize_all("s1", hermes_home="", platform="cli")
        notes = manager.prefetch_all(CUE)
        again = manager.prefetch_all(CUE)
        provider.sync_turn(TOLD, "Noted.", session_id="s1")
        learned = json.loads(manager.handle_tool_call("festinger_learn", {"text": "The build takes nine minutes."}))
        known = json.loads(manager.handle_tool_call("festinger_recall", {"cue": "staging database port"}))
        talks = shell("episodes", "--json").json

    assert provider.is_available()
    assert HARBOUR in notes
    assert HARBOUR not in again
    assert learned["memory"]["origin"] == "model"
    assert "5433" in known["items"][0]["text"]
    assert [(each["session_id"], each["turns"]) for each in talks] == [("s1", 2)]
    assert "recollection" in manager.build_system_prompt()


@pytest.mark.requirement("I-30")
def test_hermes_goes_on_where_no_server_answers(provider: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HERMES_FESTINGER_URL", "http://127.0.0.1:1")
    provider.initialize("s1", agent_context="cron")

    provider.sync_turn(TOLD, "Noted.")

    assert provider.prefetch(CUE) == ""
    assert "error" in json.loads(provider.handle_tool_call("festinger_recall", {"cue": CUE}))
    monkeypatch.delenv("FESTINGER_KEY")
    assert not provider.is_available()
