"""What does the body of a request say?

Reads it once and gives its turns, or the reason why it is left alone. A body that one server would read otherwise
than another is left alone: keys in other letters, keys that stand twice. Unknown fields are nobody's business.
"""

import re
from typing import Any

import orjson

from festinger.proxy.requests import anthropic, chats, prompts, responses
from festinger.proxy.requests.cleaning import Cleaning
from festinger.proxy.requests.depth import is_too_deep
from festinger.proxy.requests.exact import NotPlain, members
from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.turn import Request, Turn
from festinger.proxy.requests.untouched import Untouched

MAIN_KEYS = {
    Kind.CHAT: "messages",
    Kind.GENERATE: "prompt",
    Kind.COMPLETIONS: "messages",
    Kind.MESSAGES: "messages",
    Kind.RESPONSES: "input",
    Kind.TEXT: "prompt",
}
"""The key under which the conversation stands."""

MOST_PARTS = 20_000
"""Messages and parts of messages; more of them would hold up everybody else's requests."""

_NAMED = frozenset(
    {"messages", "prompt", "input", "system", "instructions", "model", "stream", "raw", "suffix"}
)
_READERS = {
    Kind.CHAT: chats.turns,
    Kind.GENERATE: prompts.turns,
    Kind.COMPLETIONS: chats.turns,
    Kind.MESSAGES: anthropic.turns,
    Kind.RESPONSES: responses.turns,
    Kind.TEXT: prompts.completion_turns,
}


def read(body: bytes, kind: Kind, *, rules: Cleaning, limit: int) -> Request | Untouched:
    """The request that a body holds; `limit` is the largest body that is read."""
    if len(body) > limit:
        return Untouched.TOO_LARGE
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Untouched.UNREADABLE
    if not isinstance(tree, dict):
        return Untouched.SHAPE
    if is_too_deep(tree):
        return Untouched.TOO_DEEP
    if any(key not in _NAMED and key.lower() in _NAMED for key in tree):
        return Untouched.KEY_CASE
    if _stands_twice(body, MAIN_KEYS[kind]):
        return Untouched.DUPLICATE_KEY
    if _has_too_many_parts(tree.get(MAIN_KEYS[kind])):
        return Untouched.TOO_LARGE
    return _request(body, tree, kind, rules)


def _request(body: bytes, tree: dict[str, Any], kind: Kind, rules: Cleaning) -> Request | Untouched:
    found: tuple[Turn, ...] | None = _READERS[kind](tree, rules)
    if found is None:
        return Untouched.SHAPE
    flattened = any(turn.span is not None for turn in found)
    return Request(kind=kind, body=body, tree=tree, turns=found, flattened=flattened)


def _has_too_many_parts(listed: Any) -> bool:
    if not isinstance(listed, list):
        return False
    if len(listed) > MOST_PARTS:
        return True
    contents = [each.get("content") for each in listed if type(each) is dict]
    inner = sum([len(content) for content in contents if type(content) is list])
    return len(listed) + inner > MOST_PARTS


def _stands_twice(body: bytes, key: str) -> bool:
    """Whether the key may stand twice at the top. Walking there is slow, so first the bytes are asked."""
    token = b'"%s"' % key.encode()
    if body.find(token) == body.rfind(token) or len(re.findall(re.escape(token) + rb"\s*:", body)) <= 1:
        return False
    try:
        members(body.decode(), 0)
    except NotPlain:
        return True
    return False
