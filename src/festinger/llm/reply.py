"""Parses a model's reply into its shape, or finds the flaw that prevents it.

Flaws: cut off by length, empty, not JSON, wrong shape, implausibly long, or withheld by the provider. Nothing
is guessed and nothing is filled in; `CheckedModel` decides what to do about a flaw.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from festinger.llm.model import AnswerSchema, FinishReason, MessageRole, ModelReply, PromptMessage, T
from festinger.llm.prompts import load_prompt

LONGEST_CHARS = 2_000_000
"""Beyond the longest output of any current model (128,000 tokens are about 600,000 characters)."""

ECHO_CHARS = 4_000
"""How much of a flawed answer goes back to the model that wrote it."""

_FENCE = re.compile(r"\A```[a-z]*\s*\n(.*)\n```\Z", re.DOTALL)


class FlawKind(StrEnum):
    CUT_OFF = "cut off"
    EMPTY = "empty"
    NOT_JSON = "not json"
    WRONG_SHAPE = "wrong shape"
    TOO_LONG = "too long"
    FILTERED = "filtered"


REPAIRABLE = frozenset({FlawKind.CUT_OFF, FlawKind.EMPTY, FlawKind.NOT_JSON, FlawKind.WRONG_SHAPE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    kind: FlawKind
    says: str
    """What is wrong, in words for the model."""
    text: str = ""

    @property
    def repairable(self) -> bool:
        return self.kind in REPAIRABLE


def parse_reply(reply: ModelReply, shape: type[T]) -> T | Flaw:
    """Return the answer in its shape, or its first flaw."""
    if flaw := find_flaw(reply):
        return flaw
    text = _unfenced(reply.text)
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        return _misshapen(error, reply.text)


def find_flaw(reply: ModelReply) -> Flaw | None:
    """Return what is wrong with a reply whatever its shape should be."""
    text = reply.text.strip()
    if len(text) > LONGEST_CHARS:
        return Flaw(kind=FlawKind.TOO_LONG, says=f"it has {len(text)} characters.")
    if reply.finish is FinishReason.FILTERED:
        return Flaw(kind=FlawKind.FILTERED, says="it was held back.")
    # A text that was cut off may still parse; it is not what the model wanted to say.
    if reply.finish is FinishReason.LENGTH:
        return Flaw(kind=FlawKind.CUT_OFF, says="it was cut off before its end; be shorter.", text=text)
    if not text:
        return Flaw(kind=FlawKind.EMPTY, says="it is empty.")
    return None


def build_repair_messages(
    messages: Sequence[PromptMessage], flaw: Flaw, shape: type[AnswerSchema]
) -> list[PromptMessage]:
    """Repeat the question, with the flawed answer and what is wrong with it."""
    schema = json.dumps(shape.model_json_schema(), ensure_ascii=False)
    ask = load_prompt("festinger.llm", "repair").message(flaw=flaw.says, schema=schema)
    spoken = [PromptMessage(role=MessageRole.ASSISTANT, text=flaw.text[:ECHO_CHARS])] if flaw.text else []
    return [*messages, *spoken, PromptMessage(role=MessageRole.USER, text=ask.text)]


def _unfenced(text: str) -> str:
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    return fenced[1] if fenced else stripped


def _misshapen(error: ValidationError, text: str) -> Flaw:
    # Only the first few, and without the values: they are in the answer itself.
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return Flaw(kind=FlawKind.NOT_JSON, says="it is not one JSON object.", text=text.strip())
    said = "; ".join(f"`{'.'.join(map(str, item['loc']))}`: {item['msg']}" for item in found[:5])
    return Flaw(kind=FlawKind.WRONG_SHAPE, says=f"it has another shape: {said}.", text=text.strip())
