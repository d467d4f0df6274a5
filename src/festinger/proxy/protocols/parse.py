"""What does the body of a request say?

Reads it once and gives its turns, or the reason why it is left alone. A body that one server would read otherwise
than another is left alone: keys in other letters, keys that stand twice. Unknown fields are nobody's business.

What stands in the message list of Ollama's chat and of OpenAI's chat completions?

What stands in a request that is one prompt, plain or a conversation written as one text?

Is a prompt a conversation that was written as one text, and where do its parts stand?

Agent Zero's provider writes `### System:`, `### User:` and `### Assistant:` before each message. A prompt that
begins so is cut at such lines after an empty line. The sections, one after the other, are the prompt: nothing is
ever put together anew. A text that holds such a line itself shifts a cut, never a character.
"""

import re
from dataclasses import dataclass
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import Call, Role
from festinger.proxy.protocols import anthropic, responses
from festinger.proxy.protocols.content import ROLES, as_text, read_content, remembered, spoken
from festinger.proxy.protocols.json_edit import NotPlain, members
from festinger.proxy.protocols.messages import Cleaning, Kind, Request, Saying, Span, Turn, Untouched, cleaned
from festinger.proxy.transport.body import is_too_deep


def chat_turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    """The turns of a request; nothing if it is not shaped like one."""
    listed = tree.get("messages", [])
    if listed is None:
        return ()
    if not isinstance(listed, list):
        return None
    found = [
        remembered(message, index, rules, listed="chat", read=_turn) if isinstance(message, dict) else None
        for index, message in enumerate(listed)
    ]
    read = tuple(turn for turn in found if turn is not None)
    return read if len(read) == len(found) else None


def _turn(message: dict[str, Any], index: int, rules: Cleaning) -> Turn | None:
    role = ROLES.get(role) if isinstance(role := message.get("role"), str) else None
    content = read_content(message.get("content"), rules)
    if role is None or content is None:
        return None
    stable, others = content
    pictures = message.get("images")
    return spoken(
        role,
        stable,
        path=("messages", index),
        calls=_calls(message.get("tool_calls")) if role is Role.ASSISTANT else (),
        answers=as_text(message.get("tool_call_id")),
        others=others + as_text(pictures).encode() if pictures else others,
    )


def _calls(listed: Any) -> tuple[Call, ...]:
    if not isinstance(listed, list):
        return ()
    found = ((call, call.get("function")) for call in listed if isinstance(call, dict))
    return tuple(
        Call(
            name=as_text(function.get("name")),
            arguments=as_text(function.get("arguments")),
            id=as_text(call.get("id")),
        )
        for call, function in found
        if isinstance(function, dict)
    )


MOST_SECTIONS = 2000
"""A prompt with more than these is no conversation, but a text about them."""

_HEADER = re.compile(r"### (System|User|Assistant|Tool):\n")
_NEXT = re.compile(r"\n\n(?=### (?:System|User|Assistant|Tool):\n)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    role: Role
    span: Span

    def text_in(self, prompt: str) -> str:
        return prompt[self.span.text : self.span.end]


def sections(prompt: str) -> tuple[Section, ...]:
    """The sections of a flattened prompt; none if it is a plain one."""
    if _HEADER.match(prompt) is None or prompt.count("\n\n### ") >= MOST_SECTIONS:
        return ()
    starts = [0, *(found.end() for found in _NEXT.finditer(prompt))]
    ends = [*starts[1:], len(prompt)]
    return tuple(_section(prompt, start, end) for start, end in zip(starts, ends, strict=True))


def _section(prompt: str, start: int, end: int) -> Section:
    header = _HEADER.match(prompt, start)
    assert header is not None  # every start was found by this very pattern
    return Section(role=Role(header[1].lower()), span=Span(start=start, text=header.end(), end=end))


def prompt_turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    """The turns of `/api/generate`. With `raw` or `suffix` an editor completes a file: nobody speaks."""
    found = _turns(tree, rules)
    return _as_document(found) if tree.get("raw") or tree.get("suffix") else found


def completion_turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    """The turns of `/v1/completions`, which goes on with a text and holds no message of anybody."""
    return _as_document(_turns(tree, rules))


def _as_document(found: tuple[Turn, ...] | None) -> tuple[Turn, ...] | None:
    """The same turns without a person's words, so that nothing in them is learned as a person's statement."""
    if found is None:
        return None
    return tuple(turn._replace(sayings=tuple(map(_lowered, turn.sayings))) for turn in found)


def _lowered(saying: Saying) -> Saying:
    return saying._replace(origin=Origin.DOCUMENT) if saying.origin is Origin.PERSON else saying


def _turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    prompt, system = tree.get("prompt", ""), tree.get("system", "")
    if not isinstance(prompt, str | None) or not isinstance(system, str | None):
        return None
    found = []
    if system:
        found.append(spoken(Role.SYSTEM, cleaned(system, rules), path=("system",)))
    if prompt and (cut := sections(prompt)):
        found.extend(_prompt_turn(prompt, section, rules) for section in cut)
    elif prompt:
        others = as_text(images).encode() if (images := tree.get("images")) else b""
        found.append(spoken(Role.USER, cleaned(prompt, rules), path=("prompt",), others=others))
    return tuple(found)


def _prompt_turn(prompt: str, section: Section, rules: Cleaning) -> Turn:
    # The empty line before the next header belongs to nobody.
    stable = cleaned(section.text_in(prompt).rstrip(), rules)
    return spoken(section.role, stable, path=("prompt",), span=section.span)


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
    Kind.CHAT: chat_turns,
    Kind.GENERATE: prompt_turns,
    Kind.COMPLETIONS: chat_turns,
    Kind.MESSAGES: anthropic.turns,
    Kind.RESPONSES: responses.turns,
    Kind.TEXT: completion_turns,
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
