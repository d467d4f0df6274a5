"""What is said in a model's place, and how are its pieces framed?"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from festinger.text.budget import count_tokens


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"


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


DONE = b"data: [DONE]\n\n"


def as_line(data: dict[str, Any]) -> bytes:
    return orjson.dumps(data) + b"\n"


def as_data(data: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def as_event(data: dict[str, Any]) -> bytes:
    name: str = data["type"]
    return b"event: " + name.encode() + b"\n" + as_data(data)
