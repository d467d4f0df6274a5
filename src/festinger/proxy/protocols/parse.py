"""Parses request bodies into turns, or returns the reason to leave them alone.

Bodies that servers may read differently (other key case, duplicate keys) are left alone; unknown fields are
ignored. Also parses chat message lists of Ollama and OpenAI, and prompts. Agent Zero's provider flattens
conversations into one prompt with `### System:`, `### User:` and `### Assistant:` lines: such a prompt is
split at these lines after an empty line. The sections together are exactly the prompt, so a text that
contains such a line moves a split, never a character.
"""

import re
from dataclasses import dataclass
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import ChatRole, ToolCall
from festinger.proxy.protocols import anthropic, responses
from festinger.proxy.protocols.content import ROLES, build_turn, read_cached_turn, read_content, to_text
from festinger.proxy.protocols.json_edit import AmbiguousJsonError, member_spans
from festinger.proxy.protocols.messages import (
    AttributedText,
    ChatRequest,
    CleaningRules,
    RequestKind,
    RequestTurn,
    SectionSpan,
    SkipReason,
    clean_text,
)
from festinger.proxy.transport.body import is_too_deep


def parse_chat_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    """The turns of a request; `None` if it has another shape."""
    listed = tree.get("messages", [])
    if listed is None:
        return ()
    if not isinstance(listed, list):
        return None
    found = [
        read_cached_turn(message, index, rules, listed="chat", read=_parse_turn) if isinstance(message, dict) else None
        for index, message in enumerate(listed)
    ]
    read = tuple(turn for turn in found if turn is not None)
    return read if len(read) == len(found) else None


def _parse_turn(message: dict[str, Any], index: int, rules: CleaningRules) -> RequestTurn | None:
    role = ROLES.get(role) if isinstance(role := message.get("role"), str) else None
    content = read_content(message.get("content"), rules)
    if role is None or content is None:
        return None
    stable, others = content
    pictures = message.get("images")
    return build_turn(
        role,
        stable,
        path=("messages", index),
        calls=_parse_calls(message.get("tool_calls")) if role is ChatRole.ASSISTANT else (),
        answers=to_text(message.get("tool_call_id")),
        others=others + to_text(pictures).encode() if pictures else others,
    )


def _parse_calls(listed: Any) -> tuple[ToolCall, ...]:
    if not isinstance(listed, list):
        return ()
    found = ((call, call.get("function")) for call in listed if isinstance(call, dict))
    return tuple(
        ToolCall(
            name=to_text(function.get("name")), arguments=to_text(function.get("arguments")), id=to_text(call.get("id"))
        )
        for call, function in found
        if isinstance(function, dict)
    )


MOST_SECTIONS = 2000
"""A prompt with more sections is not a conversation, but a text about them."""

_HEADER = re.compile(r"### (System|User|Assistant|Tool):\n")
_NEXT = re.compile(r"\n\n(?=### (?:System|User|Assistant|Tool):\n)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSection:
    role: ChatRole
    span: SectionSpan

    def text_in(self, prompt: str) -> str:
        return prompt[self.span.text : self.span.end]


def split_sections(prompt: str) -> tuple[PromptSection, ...]:
    """The sections of a flattened prompt; empty if it is a plain one."""
    if _HEADER.match(prompt) is None or prompt.count("\n\n### ") >= MOST_SECTIONS:
        return ()
    starts = [0, *(found.end() for found in _NEXT.finditer(prompt))]
    ends = [*starts[1:], len(prompt)]
    return tuple(_build_section(prompt, start, end) for start, end in zip(starts, ends, strict=True))


def _build_section(prompt: str, start: int, end: int) -> PromptSection:
    header = _HEADER.match(prompt, start)
    assert header is not None  # every start was found by this pattern
    return PromptSection(role=ChatRole(header[1].lower()), span=SectionSpan(start=start, text=header.end(), end=end))


def parse_prompt_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    """The turns of `/api/generate`. With `raw` or `suffix`, an editor completes a file and nobody speaks."""
    found = _read_prompt(tree, rules)
    return _demote_to_document(found) if tree.get("raw") or tree.get("suffix") else found


def parse_completion_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    """The turns of `/v1/completions`, which continues a text and contains nobody's message."""
    return _demote_to_document(_read_prompt(tree, rules))


def _demote_to_document(found: tuple[RequestTurn, ...] | None) -> tuple[RequestTurn, ...] | None:
    """Mark a person's words as documents, so that they are not learned as a person's statements."""
    if found is None:
        return None
    return tuple(turn._replace(sayings=tuple(map(_demote_text, turn.sayings))) for turn in found)


def _demote_text(saying: AttributedText) -> AttributedText:
    return saying._replace(origin=Origin.DOCUMENT) if saying.origin is Origin.PERSON else saying


def _read_prompt(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    prompt, system = tree.get("prompt", ""), tree.get("system", "")
    if not isinstance(prompt, str | None) or not isinstance(system, str | None):
        return None
    found = []
    if system:
        found.append(build_turn(ChatRole.SYSTEM, clean_text(system, rules), path=("system",)))
    if prompt and (cut := split_sections(prompt)):
        found.extend(_build_section_turn(prompt, section, rules) for section in cut)
    elif prompt:
        others = to_text(images).encode() if (images := tree.get("images")) else b""
        found.append(build_turn(ChatRole.USER, clean_text(prompt, rules), path=("prompt",), others=others))
    return tuple(found)


def _build_section_turn(prompt: str, section: PromptSection, rules: CleaningRules) -> RequestTurn:
    # The empty line before the next header belongs to neither section.
    stable = clean_text(section.text_in(prompt).rstrip(), rules)
    return build_turn(section.role, stable, path=("prompt",), span=section.span)


MAIN_KEYS = {
    RequestKind.CHAT: "messages",
    RequestKind.GENERATE: "prompt",
    RequestKind.COMPLETIONS: "messages",
    RequestKind.MESSAGES: "messages",
    RequestKind.RESPONSES: "input",
    RequestKind.TEXT: "prompt",
}
"""The key of the conversation."""

MOST_PARTS = 20_000
"""Maximum messages and message parts; more would delay other requests."""

_NAMED = frozenset({"messages", "prompt", "input", "system", "instructions", "model", "stream", "raw", "suffix"})
_READERS = {
    RequestKind.CHAT: parse_chat_turns,
    RequestKind.GENERATE: parse_prompt_turns,
    RequestKind.COMPLETIONS: parse_chat_turns,
    RequestKind.MESSAGES: anthropic.parse_turns,
    RequestKind.RESPONSES: responses.parse_turns,
    RequestKind.TEXT: parse_completion_turns,
}


def parse_request(body: bytes, kind: RequestKind, *, rules: CleaningRules, limit: int) -> ChatRequest | SkipReason:
    """Parse the request in a body; `limit` is the maximum size."""
    if len(body) > limit:
        return SkipReason.TOO_LARGE
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        return SkipReason.UNREADABLE
    if not isinstance(tree, dict):
        return SkipReason.SHAPE
    if is_too_deep(tree):
        return SkipReason.TOO_DEEP
    if any(key not in _NAMED and key.lower() in _NAMED for key in tree):
        return SkipReason.KEY_CASE
    if _has_duplicate_key(body, MAIN_KEYS[kind]):
        return SkipReason.DUPLICATE_KEY
    if _has_too_many_parts(tree.get(MAIN_KEYS[kind])):
        return SkipReason.TOO_LARGE
    return _build_request(body, tree, kind, rules)


def _build_request(
    body: bytes, tree: dict[str, Any], kind: RequestKind, rules: CleaningRules
) -> ChatRequest | SkipReason:
    found: tuple[RequestTurn, ...] | None = _READERS[kind](tree, rules)
    if found is None:
        return SkipReason.SHAPE
    flattened = any(turn.span is not None for turn in found)
    return ChatRequest(kind=kind, body=body, tree=tree, turns=found, flattened=flattened)


def _has_too_many_parts(listed: Any) -> bool:
    if not isinstance(listed, list):
        return False
    if len(listed) > MOST_PARTS:
        return True
    contents = [each.get("content") for each in listed if type(each) is dict]
    inner = sum([len(content) for content in contents if type(content) is list])
    return len(listed) + inner > MOST_PARTS


def _has_duplicate_key(body: bytes, key: str) -> bool:
    """Whether the top-level key may be duplicated. Searches the bytes first, because walking is slow."""
    token = b'"%s"' % key.encode()
    if body.find(token) == body.rfind(token) or len(re.findall(re.escape(token) + rb"\s*:", body)) <= 1:
        return False
    try:
        member_spans(body.decode(), 0)
    except AmbiguousJsonError:
        return True
    return False
