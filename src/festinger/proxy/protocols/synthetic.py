"""Writes replies in place of a model, in the client's protocol, streamed or whole.

They are valid for the client's library: content, then an end with a finish reason and counts. A response that
was cut while streaming gets the same kind of end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from festinger.proxy.errors import JSON, LocalResponse
from festinger.proxy.headers import NOT_BUFFERED
from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.proxy.protocols.replies import ReplyContent
from festinger.text.budget import estimate_tokens


class SyntheticFinish(StrEnum):
    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticReply:
    """The reply to write: `id` is unique, `at` is the current time."""

    text: str
    finish: SyntheticFinish
    model: str
    id: str
    at: datetime
    with_usage: bool = False
    """Whether an OpenAI client asked for a usage chunk."""

    @property
    def seconds(self) -> int:
        return int(self.at.timestamp())

    @property
    def tokens(self) -> int:
        return max(1, estimate_tokens(self.text))


DONE = b"data: [DONE]\n\n"


def format_ndjson(data: dict[str, Any]) -> bytes:
    return orjson.dumps(data) + b"\n"


def format_sse_data(data: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def format_sse_event(data: dict[str, Any]) -> bytes:
    name: str = data["type"]
    return b"event: " + name.encode() + b"\n" + format_sse_data(data)


_STATUSES = {SyntheticFinish.STOP: "completed", SyntheticFinish.LENGTH: "incomplete"}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _item(saying: SyntheticReply, *, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": f"msg_{saying.id}", "type": "message", "role": "assistant", "status": status, "content": content}


def build_responses_body(saying: SyntheticReply) -> dict[str, Any]:
    status = _STATUSES[saying.finish]
    cut = {"reason": "max_output_tokens"} if saying.finish is SyntheticFinish.LENGTH else None
    return {
        **_response(saying, status=status, output=[_item(saying, status=status, content=[_text_part(saying.text)])]),
        "incomplete_details": cut,
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": saying.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": saying.tokens,
        },
    }


def _response(saying: SyntheticReply, *, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
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


def stream_responses(saying: SyntheticReply) -> Iterator[bytes]:
    begun = _response(saying, status="in_progress", output=[])
    whole = _text_part(saying.text)
    position = {"item_id": f"msg_{saying.id}", "output_index": 0, "content_index": 0}
    started = _item(saying, status="in_progress", content=[])
    ended = _item(saying, status=_STATUSES[saying.finish], content=[whole])
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": started},
        {"type": "response.content_part.added", **position, "part": _text_part("")},
        {"type": "response.output_text.delta", **position, "delta": saying.text, "logprobs": []},
        {"type": "response.output_text.done", **position, "text": saying.text, "logprobs": []},
        {"type": "response.content_part.done", **position, "part": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": ended},
    ]
    for number, event in enumerate(events):
        yield format_sse_event({**event, "sequence_number": number})
    yield responses_end(saying, number=len(events))


def responses_end(saying: SyntheticReply, *, number: int) -> bytes:
    name = f"response.{_STATUSES[saying.finish]}"
    return format_sse_event({"type": name, "response": build_responses_body(saying), "sequence_number": number})


def native_common_fields(saying: SyntheticReply) -> dict[str, Any]:
    return {"model": saying.model, "created_at": saying.at.isoformat().replace("+00:00", "Z")}


def native_text_fields(text: str, *, chat: bool) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}} if chat else {"response": text}


def native_end(saying: SyntheticReply, *, chat: bool, text: str = "") -> dict[str, Any]:
    return {
        **native_common_fields(saying),
        **native_text_fields(text, chat=chat),
        "done": True,
        "done_reason": saying.finish.value,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": 0,
        "prompt_eval_duration": 0,
        "eval_count": saying.tokens,
        "eval_duration": 0,
    }


def stream_native(saying: SyntheticReply, *, chat: bool) -> Iterator[bytes]:
    # LiteLLM drops the text of a line with `done`, so the end is a separate line.
    yield format_ndjson({**native_common_fields(saying), **native_text_fields(saying.text, chat=chat), "done": False})
    yield format_ndjson(native_end(saying, chat=chat))


def completions_usage(saying: SyntheticReply) -> dict[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": saying.tokens, "total_tokens": saying.tokens}


def completions_chunk(
    saying: SyntheticReply, delta: dict[str, Any], *, finish: str | None = None, chat: bool = True
) -> dict[str, Any]:
    said = {"delta": delta} if chat else {"text": delta.get("content", "")}
    return {
        "id": saying.id,
        "object": "chat.completion.chunk" if chat else "text_completion",
        "created": saying.seconds,
        "model": saying.model,
        "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": finish}],
    }


def stream_completions(saying: SyntheticReply, *, chat: bool) -> Iterator[bytes]:
    if chat:
        yield format_sse_data(completions_chunk(saying, {"role": "assistant", "content": ""}))
    yield format_sse_data(completions_chunk(saying, {"content": saying.text}, chat=chat))
    yield from completions_end(saying, chat=chat)


def completions_end(saying: SyntheticReply, *, chat: bool) -> Iterator[bytes]:
    yield format_sse_data(completions_chunk(saying, {}, finish=saying.finish.value, chat=chat))
    if saying.with_usage:
        yield format_sse_data(
            {**completions_chunk(saying, {}, chat=chat), "choices": [], "usage": completions_usage(saying)}
        )
    yield DONE


def build_completions_body(saying: SyntheticReply, *, chat: bool) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": saying.text}} if chat else {"text": saying.text}
    return {
        "id": saying.id,
        "object": "chat.completion" if chat else "text_completion",
        "created": saying.seconds,
        "model": saying.model,
        "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": saying.finish.value}],
        "usage": completions_usage(saying),
    }


_STOP_REASONS = {SyntheticFinish.STOP: "end_turn", SyntheticFinish.LENGTH: "max_tokens"}


def build_messages_body(saying: SyntheticReply) -> dict[str, Any]:
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


def stream_messages(saying: SyntheticReply) -> Iterator[bytes]:
    begun = {**build_messages_body(saying), "content": [], "stop_reason": None}
    begun["usage"] = {"input_tokens": 0, "output_tokens": 0}
    yield format_sse_event({"type": "message_start", "message": begun})
    yield format_sse_event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    delta = {"type": "text_delta", "text": saying.text}
    yield format_sse_event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield from messages_end(saying, index=0)


def messages_end(saying: SyntheticReply, *, index: int | None) -> Iterator[bytes]:
    """End a message; `index` is the block that is still open, if any."""
    if index is not None:
        yield format_sse_event({"type": "content_block_stop", "index": index})
    yield format_sse_event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": _STOP_REASONS[saying.finish], "stop_sequence": None},
            "usage": {"output_tokens": saying.tokens},
        }
    )
    yield format_sse_event({"type": "message_stop"})


NDJSON = b"application/x-ndjson"
SSE = b"text/event-stream"
OK = 200


def build_synthetic_response(
    request: ChatRequest, text: str, *, finish: SyntheticFinish, answer_id: str, at: datetime
) -> LocalResponse:
    saying = SyntheticReply(
        text=text, finish=finish, model=request.model, id=answer_id, at=at, with_usage=request.wants_usage
    )
    streamed, whole = _WRITERS[request.kind]
    if not request.streams:
        body = LocalResponse(status=OK, headers=(JSON,), chunks=(orjson.dumps(whole(saying)),))
        return replace(body, headers=(JSON, body.content_length))
    kind = NDJSON if request.kind.is_native else SSE
    return LocalResponse(status=OK, headers=((b"content-type", kind), NOT_BUFFERED), chunks=tuple(streamed(saying)))


def build_cut_ending(
    kind: RequestKind, reply: ReplyContent, *, at: datetime, open_block: int | None = 0, with_usage: bool = False
) -> tuple[bytes, ...]:
    """Build the valid end of a response that is cut here, after what was heard of it.

    `open_block` is the open block of an Anthropic response, or the next sequence number of a Responses one.
    """
    saying = SyntheticReply(
        text=reply.text, finish=SyntheticFinish.LENGTH, model=reply.model, id=reply.id, at=at, with_usage=with_usage
    )
    match kind:
        case RequestKind.CHAT | RequestKind.GENERATE:
            return (format_ndjson(native_end(saying, chat=kind is RequestKind.CHAT)),)
        case RequestKind.COMPLETIONS | RequestKind.TEXT:
            return tuple(completions_end(saying, chat=kind is RequestKind.COMPLETIONS))
        case RequestKind.MESSAGES:
            return tuple(messages_end(saying, index=open_block))
        case RequestKind.RESPONSES:
            return (responses_end(saying, number=open_block or 0),)


Streamed = Callable[[SyntheticReply], Iterator[bytes]]
Whole = Callable[[SyntheticReply], dict[str, Any]]

_WRITERS: dict[RequestKind, tuple[Streamed, Whole]] = {
    RequestKind.CHAT: (
        lambda saying: stream_native(saying, chat=True),
        lambda saying: native_end(saying, chat=True, text=saying.text),
    ),
    RequestKind.GENERATE: (
        lambda saying: stream_native(saying, chat=False),
        lambda saying: native_end(saying, chat=False, text=saying.text),
    ),
    RequestKind.COMPLETIONS: (
        lambda saying: stream_completions(saying, chat=True),
        lambda saying: build_completions_body(saying, chat=True),
    ),
    RequestKind.TEXT: (
        lambda saying: stream_completions(saying, chat=False),
        lambda saying: build_completions_body(saying, chat=False),
    ),
    RequestKind.MESSAGES: (stream_messages, build_messages_body),
    RequestKind.RESPONSES: (stream_responses, build_responses_body),
}
