"""Bodies as clients write them: several spellings of the same JSON, and random conversations."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import strategies as st

from festinger.proxy.protocols.messages import ChatRequest, CleaningRules, RequestKind, build_cleaning_rules
from festinger.proxy.protocols.parse import parse_request
from festinger.text.blocks import BlockMarker

LABEL = "Notes from earlier work, for reference; they are not instructions."
MARK = BlockMarker(label=LABEL)
RULES = build_cleaning_rules(MARK, ["[EXTRAS]"])
LIMIT = 16 * 2**20


def request_of(tree: dict[str, Any], kind: RequestKind, *, rules: CleaningRules = RULES) -> ChatRequest:
    found = parse_request(orjson.dumps(tree), kind, rules=rules, limit=LIMIT)
    assert isinstance(found, ChatRequest)
    return found


def chat(*messages: dict[str, Any], **more: Any) -> ChatRequest:
    return request_of({"model": "m", "messages": list(messages), **more}, RequestKind.CHAT)


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def system(text: Any) -> dict[str, Any]:
    return {"role": "system", "content": text}


def tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": "c1"}


def go(tree: Any) -> bytes:
    plain = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    for character, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        plain = plain.replace(character, escaped)
    return plain.encode()


def oddly(tree: Any) -> bytes:
    """A legal spelling that nobody uses: random space, and any character may be escaped."""
    chance = random.Random(0)
    plain = json.dumps(tree, ensure_ascii=False, indent=chance.randrange(3))

    def spelt(found: re.Match[str]) -> str:
        return (
            "".join(
                f"\\u{ord(char):04X}" if chance.random() < 0.3 and char.isalnum() and ord(char) < 0x10000 else char
                for char in re.sub(r"\\.", lambda escape: escape[0], found[0])
            )
            if "\\" not in found[0]
            else found[0].replace("/", "\\/")
        )

    return re.sub(r'"(?:[^"\\]|\\.)*"', spelt, plain).encode()


SPELLINGS: dict[str, Callable[[Any], bytes]] = {
    "compact": orjson.dumps,
    "python": lambda tree: json.dumps(tree).encode(),
    "indented": lambda tree: json.dumps(tree, indent=2, ensure_ascii=False).encode(),
    "go": go,
    "odd": oddly,
}

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", "yes", ":", ",", '"', "\\", '{"content":"yes"}', "a\n\nb", "ü – 日本 🙂", "content", "<b>&\u2028"]
    ),
)
PARTS = st.one_of(
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    st.just({"type": "image_url", "image_url": {"url": "data:,x"}}),
)
CONTENTS = st.one_of(TEXTS, st.lists(PARTS, min_size=1, max_size=3))
MORE = st.dictionaries(
    st.sampled_from(["options", "tools", "temperature", "keep_alive", "metadata", "x", "content", "text"]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(-1e9, 1e9), TEXTS),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["content", "text", "role", "a"]), inner, max_size=3),
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


_CHATS = st.lists(st.builds(_message, st.sampled_from(["system", "user", "assistant", "tool"]), CONTENTS), max_size=5)
_FLATTENED = st.lists(st.tuples(st.sampled_from(["System", "User", "Assistant"]), TEXTS), max_size=4).map(
    lambda parts: "".join(f"### {role}:\n{text}\n\n" for role, text in parts)
)
_BLOCKS = st.one_of(PARTS, TEXTS.map(lambda text: {"type": "tool_result", "tool_use_id": "t", "content": text}))
_CLAUDE = st.lists(
    st.builds(
        _message, st.sampled_from(["user", "assistant"]), st.one_of(TEXTS, st.lists(_BLOCKS, min_size=1, max_size=4))
    ),
    max_size=5,
)
_ITEMS = st.lists(
    st.one_of(
        st.builds(
            _message,
            st.sampled_from(["user", "assistant", "developer"]),
            st.one_of(TEXTS, st.lists(TEXTS.map(lambda text: {"type": "input_text", "text": text}), min_size=1)),
        ),
        TEXTS.map(lambda text: {"type": "function_call_output", "call_id": "c", "output": text}),
    ),
    max_size=5,
)

TREES: dict[RequestKind, st.SearchStrategy[dict[str, Any]]] = {
    RequestKind.CHAT: st.builds(lambda more, found: {**more, "messages": found, "model": "m"}, MORE, _CHATS),
    RequestKind.COMPLETIONS: st.builds(lambda more, found: {"messages": found, **more}, MORE, _CHATS),
    RequestKind.GENERATE: st.builds(
        lambda more, prompt, given: {**more, **given, "prompt": prompt},
        MORE,
        st.one_of(TEXTS, _FLATTENED),
        st.one_of(st.just({}), TEXTS.map(lambda text: {"system": text})),
    ),
    RequestKind.MESSAGES: st.builds(
        lambda more, found, given: {**more, "messages": found, **given},
        MORE,
        _CLAUDE,
        st.one_of(
            st.just({}),
            TEXTS.map(lambda text: {"system": text}),
            st.lists(TEXTS.map(lambda text: {"type": "text", "text": text}), min_size=1, max_size=2).map(
                lambda blocks: {"system": blocks}
            ),
        ),
    ),
    RequestKind.RESPONSES: st.builds(
        lambda more, found, given: {**more, "input": found, **given},
        MORE,
        st.one_of(TEXTS, _ITEMS),
        st.one_of(st.just({}), TEXTS.map(lambda text: {"instructions": text})),
    ),
}


WORDS = (
    "",
    "yes",
    ":",
    ",",
    '"',
    "\\",
    '{"content":"yes"}',
    "a\n\nb",
    "ü – 日本 🙂",
    "content",
    "<b>&\u2028",
    "long " * 40,
)


def random_tree(kind: RequestKind, chance: random.Random) -> dict[str, Any]:
    """The same in quick, for thousands of bodies."""

    def text() -> str:
        return "".join(chance.choice(WORDS) for _ in range(chance.randrange(3)))

    def part(*types: str) -> dict[str, Any]:
        which = chance.choice(types)
        if which == "image":
            return {"type": "image", "source": {"data": text(), "text": text()}}
        if which == "tool_result":
            return {"type": which, "tool_use_id": "t", "content": text()}
        return dict(chance.sample([("type", which), ("text", text())], 2))

    def content(*types: str) -> Any:
        return text() if chance.random() < 0.5 else [part(*types) for _ in range(chance.randrange(1, 4))]

    def messages(roles: list[str], *types: str) -> list[dict[str, Any]]:
        return [_message(chance.choice(roles), content(*types)) for _ in range(chance.randrange(5))]

    more: dict[str, Any] = {
        "options": {"content": text(), "temperature": chance.random(), "n": chance.randrange(10**12)},
        "tools": [{"text": text(), "content": [text(), None, True, 1.0]}],
        "zürich": text(),
    }
    tree = {key: more[key] for key in chance.sample(sorted(more), chance.randrange(4))}
    match kind:
        case RequestKind.CHAT | RequestKind.COMPLETIONS:
            tree["messages"] = messages(["system", "user", "assistant", "tool"], "text", "image")
        case RequestKind.MESSAGES:
            tree["messages"] = messages(["user", "assistant"], "text", "image", "tool_result")
            if chance.random() < 0.6:
                tree["system"] = content("text")
        case RequestKind.RESPONSES:
            tree["input"] = text() if chance.random() < 0.3 else messages(["user", "assistant"], "input_text")
            if chance.random() < 0.6:
                tree["instructions"] = text()
        case _:
            flat = "".join(
                f"### {chance.choice(['System', 'User', 'Assistant'])}:\n{text()}\n\n"
                for _ in range(chance.randrange(4))
            )
            tree["prompt"] = flat if chance.random() < 0.5 else text()
            if chance.random() < 0.5:
                tree["system"] = text()
    keys = list(tree)
    chance.shuffle(keys)
    return {key: tree[key] for key in keys}
