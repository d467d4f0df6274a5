"""What do the tools of a request say of themselves?

Every vendor writes tools in a shape of its own, but all call what they tell the model a `description`, of a tool as of
its parameters. What stands there was written for the model like a system text, and is nobody's statement.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from festinger.proxy.requests.essence import short_sha256

KEYS = ("tools", "functions")
"""Where tools stand in a body; the second is OpenAI's old name."""
SAYS = "description"
MOST_CHARS = 20_000
"""What is read of all descriptions together."""
MOST_VALUES = 5_000
"""Values that are looked at; a client may send whatever it likes."""


def descriptions(tree: Mapping[str, Any]) -> str:
    """All that the tools of a body say of themselves, one line each; empty if there are none."""
    listed = [tree[key] for key in KEYS if isinstance(tree.get(key), list)]
    if not any(listed):
        return ""
    said = dict.fromkeys(text for tools in listed for text in _said(tools))
    return "\n".join(said)[:MOST_CHARS]


def described_by(said: str) -> bytes:
    """By what the same descriptions are known again."""
    return short_sha256(said.encode())


def _said(tools: list[Any]) -> Iterator[str]:
    """In the order in which they stand."""
    waiting: list[Any] = [tools]
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if type(value) is dict:
            # A parameter may itself be called so, and is then no text.
            if type(text := value.get(SAYS)) is str and text.strip():
                yield text.strip()
            waiting.extend(reversed(value.values()))
        elif type(value) is list:
            waiting.extend(reversed(value))
