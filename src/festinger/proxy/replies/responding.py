"""How do OpenAI's responses word an answer, event by event and whole?"""

from collections.abc import Iterator
from typing import Any

from festinger.proxy.replies.saying import Finish, Saying, as_event

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


def responses_whole(saying: Saying) -> dict[str, Any]:
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


def responses_streamed(saying: Saying) -> Iterator[bytes]:
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
        yield as_event({**event, "sequence_number": number})
    yield responses_end(saying, number=len(events))


def responses_end(saying: Saying, *, number: int) -> bytes:
    name = f"response.{_STATUSES[saying.finish]}"
    return as_event({"type": name, "response": responses_whole(saying), "sequence_number": number})
