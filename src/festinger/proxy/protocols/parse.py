"""Parses request bodies into turns, or returns the reason to leave them alone.

Bodies that servers may read differently (other key case, duplicate keys) are left alone; unknown fields are
ignored. Agent Zero's provider flattens conversations into one prompt with `### System:`, `### User:` and
`### Assistant:` lines: such a prompt is split at these lines after an empty line. The sections together are
exactly the prompt, so a text that contains such a line moves a split, never a character.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.protocols.content import (
    ROLES,
    attribute_text,
    build_turn,
    has_part_type,
    is_by_person,
    is_thinking,
    join_cleaned,
    read_cached_turn,
    read_content,
    to_text,
)
from festinger.proxy.protocols.json_edit import AmbiguousJsonError, member_spans
from festinger.proxy.protocols.messages import (
    AttributedText,
    ChatRequest,
    CleanedText,
    CleaningRules,
    Path,
    RequestKind,
    RequestTurn,
    SectionSpan,
    SkipReason,
    clean_text,
    content_hash,
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

    def demote(saying: AttributedText) -> AttributedText:
        return saying._replace(origin=Origin.DOCUMENT) if saying.origin is Origin.PERSON else saying

    return tuple(turn._replace(sayings=tuple(map(demote, turn.sayings))) for turn in found)


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


def parse_messages_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    """The turns of Anthropic's Messages API.

    Tool results come in the user role beside a person's words; each result becomes a message of its own.
    """
    listed = tree.get("messages", [])
    system = read_content(tree.get("system"), rules)
    if not isinstance(listed, list) or system is None:
        return None
    found = [build_turn(ChatRole.SYSTEM, system[0], path=("system",))] if tree.get("system") else []
    for index, message in enumerate(listed):
        if not isinstance(message, dict):
            return None
        turn = read_cached_turn(message, index, rules, listed="messages", read=_parse_messages_turn)
        if turn is None:
            return None
        found.append(turn)
    return tuple(found)


def _parse_messages_turn(message: dict[str, Any], index: int, rules: CleaningRules) -> RequestTurn | None:
    if not isinstance(named := message.get("role"), str):
        return None
    role, content = ROLES.get(named), message.get("content")
    if role not in (ChatRole.USER, ChatRole.ASSISTANT):
        return None
    if isinstance(content, str):
        return build_turn(role, clean_text(content, rules), path=("messages", index))
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return None
    return _parse_blocks(role, content, index, rules)


def _parse_blocks(role: ChatRole, blocks: list[dict[str, Any]], index: int, rules: CleaningRules) -> RequestTurn:
    results = [_parse_result(block, rules) for block in blocks if block.get("type") == "tool_result"]
    texts = [clean_text(to_text(block.get("text")), rules) for block in blocks if block.get("type", "text") == "text"]
    stable, others = join_cleaned(texts), _other_blocks(blocks)
    spoken_parts = tuple(part for text in texts for part in attribute_text(role, text.text))
    own = ChatMessage(
        role=role,
        text=stable.text,
        calls=_parse_tool_uses(blocks) if role is ChatRole.ASSISTANT else (),
        by_person=role is ChatRole.USER and is_by_person(spoken_parts),
    )
    has_own = bool(own.text or own.calls or others) or not results
    messages = (*results, own) if has_own else tuple(results)
    return RequestTurn(
        role=role,
        path=("messages", index),
        messages=messages,
        content=content_hash(messages, others),
        sayings=(
            *(AttributedText(origin=Origin.TOOL, text=result.text) for result in results),
            *_attributed_document_texts(blocks),
            *spoken_parts,
        ),
        others=others,
        carries=stable.carries,
        transient=stable.transient and not results,
    )


def _parse_result(block: dict[str, Any], rules: CleaningRules) -> ChatMessage:
    read = read_content(block.get("content"), rules)
    stable = CleanedText(text=to_text(block.get("content"))) if read is None else read[0]
    return ChatMessage(
        role=ChatRole.TOOL,
        text=stable.text,
        answers=to_text(block.get("tool_use_id")),
        is_error=block.get("is_error") is True,
    )


def _attributed_document_texts(blocks: Iterable[dict[str, Any]]) -> Iterable[AttributedText]:
    for block in blocks:
        source = block.get("source")
        if block.get("type") == "document" and isinstance(source, dict) and source.get("type") == "text":
            yield AttributedText(origin=Origin.DOCUMENT, text=to_text(source.get("data")))


_READ_BLOCKS = frozenset({"text", "tool_result", "tool_use"})


def _other_blocks(blocks: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(
        orjson.dumps(block) for block in blocks if not has_part_type(block, _READ_BLOCKS) and not is_thinking(block)
    )


def _parse_tool_uses(blocks: Iterable[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(name=to_text(block.get("name")), arguments=to_text(block.get("input")), id=to_text(block.get("id")))
        for block in blocks
        if block.get("type") == "tool_use"
    )


def parse_responses_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    """The turns of OpenAI's Responses API."""
    given, instructions = tree.get("input", []), tree.get("instructions")
    if not isinstance(instructions, str | None):
        return None
    found = []
    if instructions:
        found.append(build_turn(ChatRole.SYSTEM, clean_text(instructions, rules), path=("instructions",)))
    if isinstance(given, str):
        return (*found, build_turn(ChatRole.USER, clean_text(given, rules), path=("input",))) if given else tuple(found)
    if given is None:
        return tuple(found)
    if not isinstance(given, list):
        return None
    for index, item in enumerate(given):
        if not isinstance(item, dict):
            return None
        turn = read_cached_turn(item, index, rules, listed="input", read=_parse_item)
        if turn is not None:
            found.append(turn)
    return tuple(found)


def _parse_item(item: dict[str, Any], index: int, rules: CleaningRules) -> RequestTurn | None:
    """Convert an item to a turn; `None` for items such as thinking."""
    path: Path = ("input", index)
    kind = item.get("type", "message")
    if kind == "message":
        role = ROLES.get(to_text(item.get("role")))
        content = read_content(item.get("content"), rules)
        if role is None or content is None:
            return None
        return build_turn(role, content[0], path=path, others=content[1])
    if kind == "function_call":
        call = ToolCall(
            name=to_text(item.get("name")), arguments=to_text(item.get("arguments")), id=to_text(item.get("call_id"))
        )
        return build_turn(ChatRole.ASSISTANT, CleanedText(text=""), path=path, calls=(call,))
    if kind == "function_call_output":
        read = read_content(item.get("output"), rules)
        stable = CleanedText(text=to_text(item.get("output"))) if read is None else read[0]
        return build_turn(ChatRole.TOOL, stable, path=path, answers=to_text(item.get("call_id")))
    if is_thinking(item):
        return None
    return build_turn(ChatRole.ASSISTANT, CleanedText(text=""), path=path, others=orjson.dumps(item))


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
    RequestKind.MESSAGES: parse_messages_turns,
    RequestKind.RESPONSES: parse_responses_turns,
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
