"""Ports for asking a model: `Model` for callers and `Provider` for servers, with their values.

A `Provider` makes one raw exchange with one server, without checks, guards or cost accounting. Both ports
have a shipped fake in `providers.scripted`. Nothing here does I/O.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from festinger.llm.endpoint import Endpoint


class ModelPurpose(StrEnum):
    """What a model is asked for; each purpose may have its own model."""

    WRITE = "write"
    RESOLVE = "resolve"
    JUDGE = "judge"
    CHAT = "chat"
    SYSTEM2 = "system2"


class MessageRole(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class FinishReason(StrEnum):
    """Why a model stopped."""

    DONE = "done"
    LENGTH = "length"
    FILTERED = "filtered"
    UNKNOWN = "unknown"


class AnswerSchema(BaseModel):
    """Base of structured answers. The reasoning comes first: a verdict written before its reasons is a guess
    with an excuse."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    reasoning: str = Field(description="The reasons, step by step, before anything is concluded.")


T = TypeVar("T", bound=AnswerSchema)
T_co = TypeVar("T_co", bound=AnswerSchema, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool that a model may call, with the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelToolCall:
    """A call that a model makes; its id names the result."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    role: MessageRole
    text: str
    calls: tuple[ModelToolCall, ...] = ()
    """Calls in a message of the model; in a message of a tool, the one call that it answers."""
    prompt_hash: str | None = None
    """Identifies the prompt file that it was made from; stored with everything produced from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A provider's reply in one exchange. Usage is none if the provider did not report it."""

    text: str
    finish: FinishReason
    usage: Usage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyChunk:
    """A piece of a streamed answer. The last one has no text; it says how the answer ended and which tools it calls."""

    text: str = ""
    finish: FinishReason | None = None
    usage: Usage | None = None
    calls: tuple[ModelToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer(Generic[T_co]):
    """A complete, valid answer, with what must be stored beside whatever is made from it."""

    value: T_co
    model: str
    prompt_hash: str | None
    usage: Usage | None
    cost_usd: Decimal | None
    """Total cost of its calls; none if the price of any of them is unknown."""
    calls: int
    """2 if the first answer had to be repaired."""


class Model(Protocol):
    """A model that a package may ask. It keeps no state between calls."""

    @property
    def name(self) -> str:
        """`provider:model`."""

    async def answer(self, messages: Sequence[PromptMessage], shape: type[T]) -> ModelAnswer[T]:
        """Return a valid answer in this shape or raise; never half an answer, never a default."""

    def chat(self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()) -> AsyncIterator[ReplyChunk]:
        """Stream the answer as it is being written; it may call tools, unless the model takes none."""


class Provider(Protocol):
    """One exchange with one server."""

    @property
    def endpoint(self) -> Endpoint: ...

    async def complete(self, messages: Sequence[PromptMessage], shape: type[AnswerSchema] | None) -> ModelReply: ...

    def stream(
        self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()
    ) -> AsyncIterator[ReplyChunk]: ...

    async def close(self) -> None: ...


def prompt_hash(messages: Sequence[PromptMessage]) -> str | None:
    return next((message.prompt_hash for message in messages if message.prompt_hash), None)
