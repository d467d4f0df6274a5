"""What does an answer say, whichever protocol it came in?

Text, thinking and tool calls are kept apart. `Heard` is the whole as far as it came; a `Delta` is what one frame
added, for those who watch while it streams.

How is the answer of each protocol read?

One ear a protocol, for streamed and whole answers alike. Arguments of tool calls that come in pieces are joined.
Where several choices are streamed, the first one is heard.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from festinger.proxy.loops.keys import Call
from festinger.proxy.protocols.messages import Kind
from festinger.proxy.transport.streams import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    text: str = ""
    thinking: str = ""
    arguments: str = ""


NOTHING = Delta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    """Why it ended, in the protocol's own word; empty if it did not say."""
    tokens_read: int | None = None
    tokens_written: int | None = None
    errors: tuple[str, ...] = ()
    id: str = ""
    model: str = ""


class Ear(Protocol):
    """Hears the frames of one answer."""

    def hear(self, frame: Frame) -> Delta:
        """What this frame adds. A frame of another shape than the protocol's adds nothing."""

    def heard(self) -> Heard:
        """All so far."""


class CallParts:
    """Tool calls whose arguments come in pieces, in the order in which they began."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._pieces: dict[str, list[str]] = {}

    def begin(self, which: Any, *, name: str = "", call_id: str = "") -> None:
        """`which` is the index that the protocol gives a call; a broken one may be anything."""
        key = repr(which)
        self._pieces.setdefault(key, [])
        self._names[key] = self._names.get(key) or name
        self._ids[key] = self._ids.get(key) or call_id

    def add(self, which: Any, piece: str) -> None:
        self.begin(which)
        self._pieces[repr(which)].append(piece)

    def all(self) -> tuple[Call, ...]:
        return tuple(
            Call(name=self._names[key], arguments="".join(pieces), id=self._ids[key])
            for key, pieces in self._pieces.items()
        )


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> Iterable[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def error_of(value: Any) -> str:
    """The message of an error, which is a text or an object that holds one."""
    if isinstance(value, dict):
        return text_of(value.get("message")) or orjson.dumps(value).decode()
    return text_of(value)


class _Ear:
    """What all of them keep."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = CallParts()
        self._finish = ""
        self._read: int | None = None
        self._written: int | None = None
        self._errors: list[str] = []
        self._id = ""
        self._model = ""

    def heard(self) -> Heard:
        return Heard(
            text="".join(self._text),
            thinking="".join(self._thinking),
            calls=self._calls.all(),
            finish=self._finish,
            tokens_read=self._read,
            tokens_written=self._written,
            errors=tuple(self._errors),
            id=self._id,
            model=self._model,
        )

    def _add(self, *, text: Any = "", thinking: Any = "", arguments: str = "") -> Delta:
        delta = Delta(text=text_of(text), thinking=text_of(thinking), arguments=arguments)
        self._text += [delta.text] if delta.text else []
        self._thinking += [delta.thinking] if delta.thinking else []
        return delta

    def _head(self, data: dict[str, Any]) -> None:
        self._id = self._id or text_of(data.get("id"))
        self._model = self._model or text_of(data.get("model"))
        if data.get("error"):
            self._errors.append(error_of(data["error"]))

    def _count(self, read: Any, written: Any) -> None:
        self._read = self._read if number_of(read) is None else read
        self._written = self._written if number_of(written) is None else written


class NativeEar(_Ear):
    """Ollama's own: each line is an object; tool calls come whole."""

    def hear(self, frame: Frame) -> Delta:
        data = object_of(frame.data)
        self._head(data)
        self._finish = text_of(data.get("done_reason")) or self._finish
        self._count(data.get("prompt_eval_count"), data.get("eval_count"))
        message = object_of(data.get("message"))
        arguments = ""
        for call in objects_of(message.get("tool_calls")):
            function = object_of(call.get("function"))
            whole = orjson.dumps(function.get("arguments", {})).decode()
            key = len(self._calls.all())
            self._calls.begin(key, name=text_of(function.get("name")), call_id=text_of(call.get("id")))
            self._calls.add(key, whole)
            arguments += whole
        text = text_of(data.get("response")) + text_of(message.get("content"))
        thinking = text_of(data.get("thinking")) + text_of(message.get("thinking"))
        return self._add(text=text, thinking=thinking, arguments=arguments)


class CompletionsEar(_Ear):
    """OpenAI's chat and text completions: pieces in `delta`, a whole in `message`."""

    def hear(self, frame: Frame) -> Delta:
        data = object_of(frame.data)
        self._head(data)
        usage = object_of(data.get("usage"))
        self._count(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        for choice in objects_of(data.get("choices")):
            if choice.get("index", 0) == 0:
                return self._choice(choice)
        return NOTHING

    def _choice(self, choice: dict[str, Any]) -> Delta:
        self._finish = text_of(choice.get("finish_reason")) or self._finish
        said = object_of(choice.get("delta")) or object_of(choice.get("message"))
        arguments = ""
        for position, call in enumerate(objects_of(said.get("tool_calls"))):
            function, key = object_of(call.get("function")), call.get("index", position)
            self._calls.begin(key, name=text_of(function.get("name")), call_id=text_of(call.get("id")))
            self._calls.add(key, text_of(function.get("arguments")))
            arguments += text_of(function.get("arguments"))
        thinking = text_of(said.get("reasoning_content")) or text_of(said.get("reasoning"))
        text = text_of(said.get("content")) + text_of(choice.get("text"))
        return self._add(text=text, thinking=thinking, arguments=arguments)


class MessagesEar(_Ear):
    """Anthropic's: blocks that begin, grow and end."""

    def hear(self, frame: Frame) -> Delta:
        data = object_of(frame.data)
        match data.get("type"):
            case "message":
                return self._whole(data)
            case "message_start":
                message = object_of(data.get("message"))
                self._head(message)
                self._usage(message)
            case "content_block_start":
                return self._block(data.get("index"), object_of(data.get("content_block")))
            case "content_block_delta":
                return self._grow(data.get("index"), object_of(data.get("delta")))
            case "message_delta":
                self._finish = text_of(object_of(data.get("delta")).get("stop_reason")) or self._finish
                self._usage(data)
            case "error":
                self._errors.append(error_of(data.get("error")))
        return NOTHING

    def _whole(self, message: dict[str, Any]) -> Delta:
        self._head(message)
        self._usage(message)
        self._finish = text_of(message.get("stop_reason"))
        parts = [self._block(at, block) for at, block in enumerate(objects_of(message.get("content")))]
        return Delta(
            text="".join(part.text for part in parts),
            thinking="".join(part.thinking for part in parts),
            arguments="".join(part.arguments for part in parts),
        )

    def _usage(self, holder: dict[str, Any]) -> None:
        usage = object_of(holder.get("usage"))
        self._count(usage.get("input_tokens"), usage.get("output_tokens"))

    def _block(self, key: Any, block: dict[str, Any]) -> Delta:
        if block.get("type") != "tool_use":
            return self._add(text=block.get("text"), thinking=block.get("thinking"))
        self._calls.begin(key, name=text_of(block.get("name")), call_id=text_of(block.get("id")))
        # While it streams, the input begins empty and comes in pieces.
        whole = orjson.dumps(block["input"]).decode() if block.get("input") else ""
        self._calls.add(key, whole)
        return Delta(arguments=whole)

    def _grow(self, key: Any, delta: dict[str, Any]) -> Delta:
        if delta.get("type") == "input_json_delta":
            piece = text_of(delta.get("partial_json"))
            self._calls.add(key, piece)
            return Delta(arguments=piece)
        return self._add(text=delta.get("text"), thinking=delta.get("thinking"))


class ResponsesEar(_Ear):
    """OpenAI's responses: events that name what grows, and an object that holds it all."""

    def hear(self, frame: Frame) -> Delta:
        data = object_of(frame.data)
        match data.get("type"):
            case "response.output_text.delta":
                return self._add(text=data.get("delta"))
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                return self._add(thinking=data.get("delta"))
            case "response.output_item.added":
                self._item(data.get("output_index"), object_of(data.get("item")))
            case "response.function_call_arguments.delta":
                piece = text_of(data.get("delta"))
                self._calls.add(data.get("output_index"), piece)
                return Delta(arguments=piece)
            case "error":
                self._errors.append(error_of(data))
            case "response.created" | "response.in_progress":
                self._head(object_of(data.get("response")))
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(object_of(data.get("response")))
            case _ if data.get("object") == "response":
                return self._whole(data)
            case None:
                self._head(data)
        return NOTHING

    def _end(self, response: dict[str, Any]) -> None:
        self._head(response)
        usage = object_of(response.get("usage"))
        self._count(usage.get("input_tokens"), usage.get("output_tokens"))
        why = object_of(response.get("incomplete_details")).get("reason")
        self._finish = text_of(why) or text_of(response.get("status"))

    def _whole(self, response: dict[str, Any]) -> Delta:
        self._end(response)
        for at, item in enumerate(objects_of(response.get("output"))):
            self._item(at, item)
            for part in objects_of(item.get("content")):
                if item.get("type") == "reasoning":
                    self._add(thinking=part.get("text"))
                else:
                    self._add(text=part.get("text"))
            for part in objects_of(item.get("summary")):
                self._add(thinking=part.get("text"))
        whole = self.heard()
        return Delta(
            text=whole.text,
            thinking=whole.thinking,
            arguments="".join(call.arguments for call in whole.calls),
        )

    def _item(self, key: Any, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            self._calls.begin(key, name=text_of(item.get("name")), call_id=text_of(item.get("call_id")))
            self._calls.add(key, text_of(item.get("arguments")))


_EARS: dict[Kind, type[NativeEar | CompletionsEar | MessagesEar | ResponsesEar]] = {
    Kind.CHAT: NativeEar,
    Kind.GENERATE: NativeEar,
    Kind.COMPLETIONS: CompletionsEar,
    Kind.TEXT: CompletionsEar,
    Kind.MESSAGES: MessagesEar,
    Kind.RESPONSES: ResponsesEar,
}


def ear_for(kind: Kind) -> Ear:
    return _EARS[kind]()
