"""Where settings say `auto`, the client's own model is asked, if its server is local."""

import pytest

from festinger.runtime.providers import CALLS_PER_HOUR, LastClientModel
from festinger.settings.tree import LlmSettings


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:11434", "http://localhost:8080/v1", "http://192.168.1.20:11434", "http://[::1]:1"]
)
def test_a_model_on_a_loopback_or_private_address_is_used(address: str):
    own = LastClientModel()
    own.note(provider="ollama", model="llama3:8b", address=address)

    chosen = own.applied(LlmSettings(), "write")

    assert chosen.write == f"ollama:llama3:8b@{address}"
    assert chosen.max_calls_per_hour == CALLS_PER_HOUR


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("gpt-5", "https://api.example.com/v1"),
        ("llama3", "http://models.example.com:11434"),
        ("llama3", "http://203.0.113.7:11434"),
        ("llama3", "http://169.254.169.254"),
        ("gpt-oss:120b-cloud", "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
    ],
)
def test_a_remote_or_hosted_model_is_never_used_without_being_told_to(model: str, address: str):
    own = LastClientModel()
    own.note(provider="ollama", model=model, address=address)

    assert own.applied(LlmSettings(), "write").write == ""


def test_a_model_that_somebody_chose_stands_and_none_stays_none():
    own = LastClientModel()
    own.note(provider="ollama", model="llama3", address="http://127.0.0.1:11434")

    assert own.applied(LlmSettings(write="claude:x"), "write").write == "claude:x"
    assert own.applied(LlmSettings(write=""), "write").write == ""
    assert own.applied(LlmSettings(), "resolve").resolve == ""
