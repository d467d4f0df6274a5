"""How do we answer in the place of a model?

In the client's protocol, streamed or whole as it asked, so that its library takes the answer for legal: something
is said, then the end is said, with the reason and the counts. An answer that was cut while it streamed gets the
same kind of end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from festinger.proxy.replies.heard import Heard
from festinger.proxy.replies.responding import responses_end, responses_streamed, responses_whole
from festinger.proxy.replies.saying import Finish, Saying, as_line
from festinger.proxy.replies.wording import (
    completions_end,
    completions_streamed,
    completions_whole,
    messages_end,
    messages_streamed,
    messages_whole,
    native_end,
    native_streamed,
)
from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.turn import Request

NDJSON = b"application/x-ndjson"
SSE = b"text/event-stream"
JSON = b"application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAnswer:
    content_type: bytes
    chunks: tuple[bytes, ...]
    """As they are sent, one after the other."""


def own_answer(request: Request, text: str, *, finish: Finish, answer_id: str, at: datetime) -> OwnAnswer:
    """A whole answer of our own to this request."""
    saying = Saying(
        text=text,
        finish=finish,
        model=request.model,
        id=answer_id,
        at=at,
        with_usage=request.wants_usage,
    )
    streamed, whole = _WRITERS[request.kind]
    if not request.streams:
        return OwnAnswer(content_type=JSON, chunks=(orjson.dumps(whole(saying)),))
    kind = NDJSON if request.kind.is_native else SSE
    return OwnAnswer(content_type=kind, chunks=tuple(streamed(saying)))


def cut_ending(
    kind: Kind, heard: Heard, *, at: datetime, open_block: int | None = 0, with_usage: bool = False
) -> tuple[bytes, ...]:
    """The legal end of an answer that is cut here, after what was heard of it.

    `open_block` is the block of an Anthropic answer that has begun and not ended, or the next sequence number of a
    Responses one.
    """
    saying = Saying(
        text=heard.text, finish=Finish.LENGTH, model=heard.model, id=heard.id, at=at, with_usage=with_usage
    )
    match kind:
        case Kind.CHAT | Kind.GENERATE:
            return (as_line(native_end(saying, chat=kind is Kind.CHAT)),)
        case Kind.COMPLETIONS | Kind.TEXT:
            return tuple(completions_end(saying, chat=kind is Kind.COMPLETIONS))
        case Kind.MESSAGES:
            return tuple(messages_end(saying, index=open_block))
        case Kind.RESPONSES:
            return (responses_end(saying, number=open_block or 0),)


Streamed = Callable[[Saying], Iterator[bytes]]
Whole = Callable[[Saying], dict[str, Any]]

_WRITERS: dict[Kind, tuple[Streamed, Whole]] = {
    Kind.CHAT: (
        lambda saying: native_streamed(saying, chat=True),
        lambda saying: native_end(saying, chat=True, text=saying.text),
    ),
    Kind.GENERATE: (
        lambda saying: native_streamed(saying, chat=False),
        lambda saying: native_end(saying, chat=False, text=saying.text),
    ),
    Kind.COMPLETIONS: (
        lambda saying: completions_streamed(saying, chat=True),
        lambda saying: completions_whole(saying, chat=True),
    ),
    Kind.TEXT: (
        lambda saying: completions_streamed(saying, chat=False),
        lambda saying: completions_whole(saying, chat=False),
    ),
    Kind.MESSAGES: (messages_streamed, messages_whole),
    Kind.RESPONSES: (responses_streamed, responses_whole),
}
