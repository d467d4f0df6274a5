"""A scripted model for the suite `said`: it reads every turn as its author labeled it.

Replaces a user's own good model: the product asks it in the background what a turn states, with its own
prompt for that, and it answers with the facts of the item, the notes that they make unnecessary, and the
notes that should not have been taken.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_MESSAGE = re.compile(r"^MESSAGE\n(.*)\nEND OF MESSAGE$", re.MULTILINE)
_TAKEN = re.compile(r"^NOTES TAKEN FROM THIS MESSAGE\n(.*?)\nEND OF NOTES$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"^(\d+)\. (\".*\")$", re.MULTILINE)

Item = Mapping[str, Any]


def reading_asked(body: Mapping[str, Any]) -> str | None:
    """The prompt with which the product asks what a turn states, if a request is that."""
    content = str(body["messages"][-1]["content"])
    return content if _MESSAGE.search(content) else None


def read_as_labeled(prompt: str, items: Sequence[Item], *, is_about: Callable[[str, Item], bool]) -> dict[str, Any]:
    """The answer of a model that reads as the author of the items does."""
    message = _MESSAGE.search(prompt)
    text = json.loads(message[1]) if message else ""
    item = next((each for each in items if text in each["turns"]), None)
    taken = _TAKEN.search(prompt)
    of_turn = [int(number) for number, _ in _NOTE.findall(taken[1])] if taken else []
    if item is None or "question" not in item:
        return {"reasoning": "Nothing lasts.", "facts": [], "wrong": of_turn if item else []}
    if text != item["turns"][-1]:
        return {"reasoning": "More may follow.", "facts": [], "wrong": []}
    notes = {int(number): json.loads(quoted) for number, quoted in _NOTE.findall(prompt)}
    replaced = [
        number for number, note in notes.items() if number in of_turn or is_about(note, item) or _is_stale(note, item)
    ]
    facts = [{"content": fact, "replaces": replaced} for fact in item["facts"]]
    return {"reasoning": "It is stated.", "facts": facts, "wrong": []}


def _is_stale(note: str, item: Item) -> bool:
    return any(old.casefold() in note.casefold() for old in item.get("stale", ()))


def completion(body: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """An answer in the requested form: a tool call where there is a tool, else text."""
    text = json.dumps(said)
    if not (tools := body.get("tools")):
        return chat_completion({"content": text})
    called = {"name": tools[0]["function"]["name"], "arguments": text}
    calls = [{"id": "call", "type": "function", "function": called}]
    return chat_completion({"content": None, "tool_calls": calls}, finish="tool_calls")


def chat_completion(message: Mapping[str, Any], *, finish: str = "stop") -> dict[str, Any]:
    """The response of a server with OpenAI's interface."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
