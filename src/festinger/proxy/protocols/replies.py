"""Parses replies of every protocol, streamed or whole.

Text, thinking and tool calls are kept apart. `ReplyContent` is the whole reply so far; a `ReplyDelta` is what
one frame added. Tool call arguments that come in pieces are joined. Of several choices, the first one is
read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from festinger.proxy.loops.keys import ToolCall
from festinger.proxy.protocols.messages import RequestKind
from festinger.proxy.transport.streams import StreamFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDelta:
    text: str = ""
    thinking: str = ""
    arguments: str = ""


NOTHING = ReplyDelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyContent:
    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = ""
    """Finish reason in the protocol's own word; empty if there was none."""
    tokens_read: int | None = None
    tokens_written: int | None = None
    errors: tuple[str, ...] = ()
    id: str = ""
    model: str = ""


def str_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def int_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def iter_dicts(value: Any) -> Iterable[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def error_message(value: Any) -> str:
    """The message of an error, which is a text or an object."""
    if isinstance(value, dict):
        return str_or_empty(value.get("message")) or orjson.dumps(value).decode()
    return str_or_empty(value)


class ReplyParser(ABC):
    """Reads the frames of one reply."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._call_parts: dict[str, tuple[str, str, list[str]]] = {}
        """Name, id and pieces of the arguments of each tool call, in starting order."""
        self._finish = ""
        self._read: int | None = None
        self._written: int | None = None
        self._errors: list[str] = []
        self._id = ""
        self._model = ""

    @abstractmethod
    def feed(self, frame: StreamFrame) -> ReplyDelta:
        """Read a frame and return what it adds; frames of unknown shape add nothing."""

    def content(self) -> ReplyContent:
        """Everything so far."""
        return ReplyContent(
            text="".join(self._text),
            thinking="".join(self._thinking),
            calls=tuple(
                ToolCall(name=name, arguments="".join(pieces), id=call_id)
                for name, call_id, pieces in self._call_parts.values()
            ),
            finish=self._finish,
            tokens_read=self._read,
            tokens_written=self._written,
            errors=tuple(self._errors),
            id=self._id,
            model=self._model,
        )

    def _add_call(self, which: Any, arguments: str, *, name: Any = "", call_id: Any = "") -> None:
        """Begin or continue a call. `which` is the protocol's index of it; a broken client may send anything."""
        known_name, known_id, pieces = self._call_parts.get(repr(which), ("", "", []))
        pieces.append(arguments)
        self._call_parts[repr(which)] = (known_name or str_or_empty(name), known_id or str_or_empty(call_id), pieces)

    def _add(self, *, text: Any = "", thinking: Any = "", arguments: str = "") -> ReplyDelta:
        delta = ReplyDelta(text=str_or_empty(text), thinking=str_or_empty(thinking), arguments=arguments)
        self._text += [delta.text] if delta.text else []
        self._thinking += [delta.thinking] if delta.thinking else []
        return delta

    def _head(self, data: dict[str, Any]) -> None:
        self._id = self._id or str_or_empty(data.get("id"))
        self._model = self._model or str_or_empty(data.get("model"))
        if data.get("error"):
            self._errors.append(error_message(data["error"]))

    def _count(self, read: Any, written: Any) -> None:
        self._read = self._read if int_or_none(read) is None else read
        self._written = self._written if int_or_none(written) is None else written


class NativeReplyParser(ReplyParser):
    """Ollama's native protocol: each line is an object; tool calls come whole."""

    def feed(self, frame: StreamFrame) -> ReplyDelta:
        data = dict_or_empty(frame.data)
        self._head(data)
        self._finish = str_or_empty(data.get("done_reason")) or self._finish
        self._count(data.get("prompt_eval_count"), data.get("eval_count"))
        message = dict_or_empty(data.get("message"))
        arguments = ""
        for call in iter_dicts(message.get("tool_calls")):
            function = dict_or_empty(call.get("function"))
            whole = orjson.dumps(function.get("arguments", {})).decode()
            self._add_call(len(self._call_parts), whole, name=function.get("name"), call_id=call.get("id"))
            arguments += whole
        text = str_or_empty(data.get("response")) + str_or_empty(message.get("content"))
        thinking = str_or_empty(data.get("thinking")) + str_or_empty(message.get("thinking"))
        return self._add(text=text, thinking=thinking, arguments=arguments)


class CompletionsReplyParser(ReplyParser):
    """OpenAI's chat and text completions: pieces in `delta`, whole replies in `message`."""

    def feed(self, frame: StreamFrame) -> ReplyDelta:
        data = dict_or_empty(frame.data)
        self._head(data)
        usage = dict_or_empty(data.get("usage"))
        self._count(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        for choice in iter_dicts(data.get("choices")):
            if choice.get("index", 0) == 0:
                return self._choice(choice)
        return NOTHING

    def _choice(self, choice: dict[str, Any]) -> ReplyDelta:
        self._finish = str_or_empty(choice.get("finish_reason")) or self._finish
        said = dict_or_empty(choice.get("delta")) or dict_or_empty(choice.get("message"))
        arguments = ""
        for position, call in enumerate(iter_dicts(said.get("tool_calls"))):
            function = dict_or_empty(call.get("function"))
            piece = str_or_empty(function.get("arguments"))
            self._add_call(call.get("index", position), piece, name=function.get("name"), call_id=call.get("id"))
            arguments += piece
        thinking = str_or_empty(said.get("reasoning_content")) or str_or_empty(said.get("reasoning"))
        text = str_or_empty(said.get("content")) + str_or_empty(choice.get("text"))
        return self._add(text=text, thinking=thinking, arguments=arguments)


class MessagesReplyParser(ReplyParser):
    """Anthropic's messages: content blocks that start, grow and stop."""

    def feed(self, frame: StreamFrame) -> ReplyDelta:
        data = dict_or_empty(frame.data)
        match data.get("type"):
            case "message":
                return self._whole(data)
            case "message_start":
                message = dict_or_empty(data.get("message"))
                self._head(message)
                self._usage(message)
            case "content_block_start":
                return self._block(data.get("index"), dict_or_empty(data.get("content_block")))
            case "content_block_delta":
                return self._grow(data.get("index"), dict_or_empty(data.get("delta")))
            case "message_delta":
                self._finish = str_or_empty(dict_or_empty(data.get("delta")).get("stop_reason")) or self._finish
                self._usage(data)
            case "error":
                self._errors.append(error_message(data.get("error")))
        return NOTHING

    def _whole(self, message: dict[str, Any]) -> ReplyDelta:
        self._head(message)
        self._usage(message)
        self._finish = str_or_empty(message.get("stop_reason"))
        parts = [self._block(at, block) for at, block in enumerate(iter_dicts(message.get("content")))]
        return ReplyDelta(
            text="".join(part.text for part in parts),
            thinking="".join(part.thinking for part in parts),
            arguments="".join(part.arguments for part in parts),
        )

    def _usage(self, holder: dict[str, Any]) -> None:
        usage = dict_or_empty(holder.get("usage"))
        self._count(usage.get("input_tokens"), usage.get("output_tokens"))

    def _block(self, key: Any, block: dict[str, Any]) -> ReplyDelta:
        if block.get("type") != "tool_use":
            return self._add(text=block.get("text"), thinking=block.get("thinking"))
        # In a stream the input starts empty and comes in pieces.
        whole = orjson.dumps(block["input"]).decode() if block.get("input") else ""
        self._add_call(key, whole, name=block.get("name"), call_id=block.get("id"))
        return ReplyDelta(arguments=whole)

    def _grow(self, key: Any, delta: dict[str, Any]) -> ReplyDelta:
        if delta.get("type") == "input_json_delta":
            piece = str_or_empty(delta.get("partial_json"))
            self._add_call(key, piece)
            return ReplyDelta(arguments=piece)
        return self._add(text=delta.get("text"), thinking=delta.get("thinking"))


class ResponsesReplyParser(ReplyParser):
    """OpenAI's responses: events for each part, and an object with everything."""

    def feed(self, frame: StreamFrame) -> ReplyDelta:
        data = dict_or_empty(frame.data)
        match data.get("type"):
            case "response.output_text.delta":
                return self._add(text=data.get("delta"))
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                return self._add(thinking=data.get("delta"))
            case "response.output_item.added":
                self._item(data.get("output_index"), dict_or_empty(data.get("item")))
            case "response.function_call_arguments.delta":
                piece = str_or_empty(data.get("delta"))
                self._add_call(data.get("output_index"), piece)
                return ReplyDelta(arguments=piece)
            case "error":
                self._errors.append(error_message(data))
            case "response.created" | "response.in_progress":
                self._head(dict_or_empty(data.get("response")))
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(dict_or_empty(data.get("response")))
            case _ if data.get("object") == "response":
                return self._whole(data)
            case None:
                self._head(data)
        return NOTHING

    def _end(self, response: dict[str, Any]) -> None:
        self._head(response)
        usage = dict_or_empty(response.get("usage"))
        self._count(usage.get("input_tokens"), usage.get("output_tokens"))
        why = dict_or_empty(response.get("incomplete_details")).get("reason")
        self._finish = str_or_empty(why) or str_or_empty(response.get("status"))

    def _whole(self, response: dict[str, Any]) -> ReplyDelta:
        self._end(response)
        for at, item in enumerate(iter_dicts(response.get("output"))):
            self._item(at, item)
            for part in iter_dicts(item.get("content")):
                if item.get("type") == "reasoning":
                    self._add(thinking=part.get("text"))
                else:
                    self._add(text=part.get("text"))
            for part in iter_dicts(item.get("summary")):
                self._add(thinking=part.get("text"))
        whole = self.content()
        return ReplyDelta(
            text=whole.text, thinking=whole.thinking, arguments="".join(call.arguments for call in whole.calls)
        )

    def _item(self, key: Any, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            arguments = str_or_empty(item.get("arguments"))
            self._add_call(key, arguments, name=item.get("name"), call_id=item.get("call_id"))


_PARSERS: dict[RequestKind, type[ReplyParser]] = {
    RequestKind.CHAT: NativeReplyParser,
    RequestKind.GENERATE: NativeReplyParser,
    RequestKind.COMPLETIONS: CompletionsReplyParser,
    RequestKind.TEXT: CompletionsReplyParser,
    RequestKind.MESSAGES: MessagesReplyParser,
    RequestKind.RESPONSES: ResponsesReplyParser,
}


def build_reply_parser(kind: RequestKind) -> ReplyParser:
    return _PARSERS[kind]()
