"""How do we answer in the place of a model?

In the client's protocol, streamed or whole as it asked, so that its library takes the answer for legal: something
is said, then the end is said, with the reason and the counts. An answer that was cut while it streamed gets the
same kind of end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from festinger.proxy.replies.heard import Heard
from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.turn import Request
from festinger.text.budget import count_tokens

NDJSON = b"application/x-ndjson"
SSE = b"text/event-stream"
JSON = b"application/json"


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAnswer:
    content_type: bytes
    chunks: tuple[bytes, ...]
    """As they are sent, one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What is to be said: `id` is unique, `at` the present time."""

    text: str
    finish: Finish
    model: str
    id: str
    at: datetime
    with_usage: bool = False
    """Whether an OpenAI client asked for a chunk of counts."""

    @property
    def seconds(self) -> int:
        return int(self.at.timestamp())

    @property
    def tokens(self) -> int:
        return max(1, count_tokens(self.text))


def own_answer(request: Request, text: str, *, finish: Finish, answer_id: str, at: datetime) -> OwnAnswer:
    """A whole answer of our own to this request."""
    options = request.tree.get("stream_options")
    saying = Saying(
        text=text,
        finish=finish,
        model=request.model,
        id=answer_id,
        at=at,
        with_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )
    streamed, whole = _WRITERS[request.kind]
    if not request.streams:
        return OwnAnswer(content_type=JSON, chunks=(orjson.dumps(whole(saying)),))
    kind = NDJSON if request.kind.is_native else SSE
    return OwnAnswer(content_type=kind, chunks=tuple(streamed(saying)))


def cut_ending(kind: Kind, heard: Heard, *, at: datetime, open_block: int = 0) -> tuple[bytes, ...]:
    """The legal end of an answer that is cut here, after what was heard of it.

    `open_block` is the block of an Anthropic answer, or the next sequence number of a Responses one.
    """
    saying = Saying(text=heard.text, finish=Finish.LENGTH, model=heard.model, id=heard.id, at=at)
    match kind:
        case Kind.CHAT | Kind.GENERATE:
            return (_line(_native_end(saying, chat=kind is Kind.CHAT)),)
        case Kind.COMPLETIONS | Kind.TEXT:
            return (_data(_chunk(saying, {}, finish="length", chat=kind is Kind.COMPLETIONS)), DONE)
        case Kind.MESSAGES:
            return tuple(_messages_end(saying, index=open_block))
        case Kind.RESPONSES:
            return (_responses_end(saying, number=open_block),)


DONE = b"data: [DONE]\n\n"


def _line(data: dict[str, Any]) -> bytes:
    return orjson.dumps(data) + b"\n"


def _data(data: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def _event(data: dict[str, Any]) -> bytes:
    name: str = data["type"]
    return b"event: " + name.encode() + b"\n" + _data(data)


def _native_head(saying: Saying) -> dict[str, Any]:
    return {"model": saying.model, "created_at": saying.at.isoformat().replace("+00:00", "Z")}


def _native_text(text: str, *, chat: bool) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}} if chat else {"response": text}


def _native_end(saying: Saying, *, chat: bool, text: str = "") -> dict[str, Any]:
    return {
        **_native_head(saying),
        **_native_text(text, chat=chat),
        "done": True,
        "done_reason": saying.finish.value,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": 0,
        "prompt_eval_duration": 0,
        "eval_count": saying.tokens,
        "eval_duration": 0,
    }


def _native_streamed(saying: Saying, *, chat: bool) -> Iterator[bytes]:
    # LiteLLM drops the text of a line that says `done`, so the end is a line of its own.
    yield _line({**_native_head(saying), **_native_text(saying.text, chat=chat), "done": False})
    yield _line(_native_end(saying, chat=chat))


def _usage(saying: Saying) -> dict[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": saying.tokens, "total_tokens": saying.tokens}


def _chunk(
    saying: Saying, delta: dict[str, Any], *, finish: str | None = None, chat: bool = True
) -> dict[str, Any]:
    said = {"delta": delta} if chat else {"text": delta.get("content", "")}
    return {
        "id": saying.id,
        "object": "chat.completion.chunk" if chat else "text_completion",
        "created": saying.seconds,
        "model": saying.model,
        "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": finish}],
    }


def _completions_streamed(saying: Saying, *, chat: bool) -> Iterator[bytes]:
    if chat:
        yield _data(_chunk(saying, {"role": "assistant", "content": ""}))
    yield _data(_chunk(saying, {"content": saying.text}, chat=chat))
    yield _data(_chunk(saying, {}, finish=saying.finish.value, chat=chat))
    if saying.with_usage:
        yield _data({**_chunk(saying, {}, chat=chat), "choices": [], "usage": _usage(saying)})
    yield DONE


def _completions_whole(saying: Saying, *, chat: bool) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": saying.text}} if chat else {"text": saying.text}
    return {
        "id": saying.id,
        "object": "chat.completion" if chat else "text_completion",
        "created": saying.seconds,
        "model": saying.model,
        "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": saying.finish.value}],
        "usage": _usage(saying),
    }


_STOP_REASONS = {Finish.STOP: "end_turn", Finish.LENGTH: "max_tokens"}


def _messages_whole(saying: Saying) -> dict[str, Any]:
    return {
        "id": saying.id,
        "type": "message",
        "role": "assistant",
        "model": saying.model,
        "content": [{"type": "text", "text": saying.text}],
        "stop_reason": _STOP_REASONS[saying.finish],
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": saying.tokens},
    }


def _messages_streamed(saying: Saying) -> Iterator[bytes]:
    begun = {**_messages_whole(saying), "content": [], "stop_reason": None}
    begun["usage"] = {"input_tokens": 0, "output_tokens": 0}
    yield _event({"type": "message_start", "message": begun})
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    delta = {"type": "text_delta", "text": saying.text}
    yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield from _messages_end(saying, index=0)


def _messages_end(saying: Saying, *, index: int) -> Iterator[bytes]:
    yield _event({"type": "content_block_stop", "index": index})
    yield _event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": _STOP_REASONS[saying.finish], "stop_sequence": None},
            "usage": {"output_tokens": saying.tokens},
        }
    )
    yield _event({"type": "message_stop"})


_STATUSES = {Finish.STOP: "completed", Finish.LENGTH: "incomplete"}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _item(saying: Saying, *, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"msg_{saying.id}",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _responses_whole(saying: Saying) -> dict[str, Any]:
    status = _STATUSES[saying.finish]
    cut = {"reason": "max_output_tokens"} if saying.finish is Finish.LENGTH else None
    return {
        **_response(
            saying, status=status, output=[_item(saying, status=status, content=[_text_part(saying.text)])]
        ),
        "incomplete_details": cut,
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": saying.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": saying.tokens,
        },
    }


def _response(saying: Saying, *, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": saying.id,
        "object": "response",
        "created_at": saying.seconds,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": saying.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }


def _responses_streamed(saying: Saying) -> Iterator[bytes]:
    begun = _response(saying, status="in_progress", output=[])
    whole = _text_part(saying.text)
    place = {"item_id": f"msg_{saying.id}", "output_index": 0, "content_index": 0}
    started = _item(saying, status="in_progress", content=[])
    ended = _item(saying, status=_STATUSES[saying.finish], content=[whole])
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": started},
        {"type": "response.content_part.added", **place, "part": _text_part("")},
        {"type": "response.output_text.delta", **place, "delta": saying.text, "logprobs": []},
        {"type": "response.output_text.done", **place, "text": saying.text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": ended},
    ]
    for number, event in enumerate(events):
        yield _event({**event, "sequence_number": number})
    yield _responses_end(saying, number=len(events))


def _responses_end(saying: Saying, *, number: int) -> bytes:
    name = f"response.{_STATUSES[saying.finish]}"
    return _event({"type": name, "response": _responses_whole(saying), "sequence_number": number})


Streamed = Callable[[Saying], Iterator[bytes]]
Whole = Callable[[Saying], dict[str, Any]]

_WRITERS: dict[Kind, tuple[Streamed, Whole]] = {
    Kind.CHAT: (
        lambda saying: _native_streamed(saying, chat=True),
        lambda saying: _native_end(saying, chat=True, text=saying.text),
    ),
    Kind.GENERATE: (
        lambda saying: _native_streamed(saying, chat=False),
        lambda saying: _native_end(saying, chat=False, text=saying.text),
    ),
    Kind.COMPLETIONS: (
        lambda saying: _completions_streamed(saying, chat=True),
        lambda saying: _completions_whole(saying, chat=True),
    ),
    Kind.TEXT: (
        lambda saying: _completions_streamed(saying, chat=False),
        lambda saying: _completions_whole(saying, chat=False),
    ),
    Kind.MESSAGES: (_messages_streamed, _messages_whole),
    Kind.RESPONSES: (_responses_streamed, _responses_whole),
}
