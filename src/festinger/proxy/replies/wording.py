"""How do Ollama, OpenAI's completions and Anthropic word an answer, piece by piece and whole?"""

from collections.abc import Iterator
from typing import Any

from festinger.proxy.replies.saying import DONE, Finish, Saying, as_data, as_event, as_line


def native_head(saying: Saying) -> dict[str, Any]:
    return {"model": saying.model, "created_at": saying.at.isoformat().replace("+00:00", "Z")}


def native_text(text: str, *, chat: bool) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}} if chat else {"response": text}


def native_end(saying: Saying, *, chat: bool, text: str = "") -> dict[str, Any]:
    return {
        **native_head(saying),
        **native_text(text, chat=chat),
        "done": True,
        "done_reason": saying.finish.value,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": 0,
        "prompt_eval_duration": 0,
        "eval_count": saying.tokens,
        "eval_duration": 0,
    }


def native_streamed(saying: Saying, *, chat: bool) -> Iterator[bytes]:
    # LiteLLM drops the text of a line that says `done`, so the end is a line of its own.
    yield as_line({**native_head(saying), **native_text(saying.text, chat=chat), "done": False})
    yield as_line(native_end(saying, chat=chat))


def usage(saying: Saying) -> dict[str, int]:
    return {"prompt_tokens": 0, "completion_tokens": saying.tokens, "total_tokens": saying.tokens}


def chunk(
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


def completions_streamed(saying: Saying, *, chat: bool) -> Iterator[bytes]:
    if chat:
        yield as_data(chunk(saying, {"role": "assistant", "content": ""}))
    yield as_data(chunk(saying, {"content": saying.text}, chat=chat))
    yield from completions_end(saying, chat=chat)


def completions_end(saying: Saying, *, chat: bool) -> Iterator[bytes]:
    yield as_data(chunk(saying, {}, finish=saying.finish.value, chat=chat))
    if saying.with_usage:
        yield as_data({**chunk(saying, {}, chat=chat), "choices": [], "usage": usage(saying)})
    yield DONE


def completions_whole(saying: Saying, *, chat: bool) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": saying.text}} if chat else {"text": saying.text}
    return {
        "id": saying.id,
        "object": "chat.completion" if chat else "text_completion",
        "created": saying.seconds,
        "model": saying.model,
        "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": saying.finish.value}],
        "usage": usage(saying),
    }


_STOP_REASONS = {Finish.STOP: "end_turn", Finish.LENGTH: "max_tokens"}


def messages_whole(saying: Saying) -> dict[str, Any]:
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


def messages_streamed(saying: Saying) -> Iterator[bytes]:
    begun = {**messages_whole(saying), "content": [], "stop_reason": None}
    begun["usage"] = {"input_tokens": 0, "output_tokens": 0}
    yield as_event({"type": "message_start", "message": begun})
    yield as_event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    delta = {"type": "text_delta", "text": saying.text}
    yield as_event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield from messages_end(saying, index=0)


def messages_end(saying: Saying, *, index: int | None) -> Iterator[bytes]:
    """The end of a message; `index` is that of the block that is still open, if one is."""
    if index is not None:
        yield as_event({"type": "content_block_stop", "index": index})
    yield as_event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": _STOP_REASONS[saying.finish], "stop_sequence": None},
            "usage": {"output_tokens": saying.tokens},
        }
    )
    yield as_event({"type": "message_stop"})
