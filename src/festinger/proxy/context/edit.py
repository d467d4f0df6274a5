"""Inserts blocks into request bodies, and looks up the system texts of models.

Blocks go back to their anchors, at most one new one is added, and echoes of our blocks in assistant messages
are removed. If nothing changes, or a position is uncertain, the original bytes are forwarded. A new block
goes into the newest user turn by default, which keeps the cached prefix, or into the system text; a second
system message is never added. A system text that we add hides the one of the model's file, so that one must
be known first: it is fetched in the background, once per digest, and until then blocks go into the turn.

Builds, sanitizes and tracks the blocks of notes that are injected into requests.

A block has tags, a label and one line per note. Notes are untrusted data: they cannot close the block, speak
in another role or hide characters. The same notes give the same bytes: no scores, counts, times or ids. A
block belongs to its anchor, the history up to and including its message, and is reinserted byte for byte
whenever that history comes again, so that the upstream's prompt cache stays valid. New blocks only go into
messages that were never forwarded. Outdated lines stay, and the next block corrects them; forgotten notes are
removed at once.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
import structlog
from cachetools import LRUCache

from festinger.clock import Stopwatch, system_stopwatch
from festinger.proxy.auth import replace_api_key
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.json_edit import Edit, ElementInsertion, MemberUpdate, TextEdit, apply_edits
from festinger.proxy.protocols.messages import ChatRequest, Path, RequestKind, RequestTurn, SkipReason
from festinger.proxy.routes import ApiProtocol
from festinger.proxy.transport.upstream import (
    UpstreamClient,
    UpstreamUnreachableError,
    find_upstream_base,
    find_upstream_key,
    iter_chunks,
)
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.services.block import ContextBlock, ContextLine, NoteRef, sanitize_label
from festinger.settings.tree import ProxySettings
from festinger.text.blocks import GAP, BlockMarker, IsOurs, find_blocks, is_never_ours


def build_block_marker(label: str, is_ours: IsOurs = is_never_ours) -> BlockMarker:
    return BlockMarker(label=sanitize_label(label), is_ours=is_ours)


def remove_notes(standing: ContextBlock, forgotten: Collection[NoteRef]) -> ContextBlock | None:
    """Remove lines that show forgotten notes; `None` if nothing is left."""
    gone = {(note.kind, note.id) for note in forgotten}
    kept = tuple(line for line in standing.lines if not any((note.kind, note.id) in gone for note in line.notes))
    return ContextBlock(label=standing.label, lines=kept) if kept else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBlock:
    turn: RequestTurn
    anchor: bytes
    block: ContextBlock


def find_placed_blocks(
    request: ChatRequest, links: tuple[bytes, ...], blocks: Mapping[bytes, ContextBlock]
) -> tuple[PlacedBlock, ...]:
    """The blocks that this history already has, each with its turn."""
    if not blocks:
        return ()
    return tuple(
        PlacedBlock(turn=turn, anchor=link, block=blocks[link])
        for turn, link in zip(request.turns, links, strict=True)
        # A turn that already contains its block needs no second one.
        if link in blocks and not turn.transient and not turn.carries and turn.role is not ChatRole.ASSISTANT
    )


def choose_block_turn(
    request: ChatRequest, links: tuple[bytes, ...], *, forwarded: Collection[bytes], tools_may_carry: bool = False
) -> tuple[RequestTurn, bytes] | SkipReason:
    """The turn that may carry a new block and its anchor, or why there is none."""
    user = request.newest_user_turn
    if user is None:
        return SkipReason.NO_USER
    turn: RequestTurn = user
    if ends_with_tool_results(request):
        if not tools_may_carry or request.turns[-1].transient:
            return SkipReason.TOOL_TURN
        turn = request.turns[-1]
    if turn.carries:
        return SkipReason.ALREADY
    anchor = links[_turn_index(request.turns, turn)]
    return SkipReason.FORWARDED if anchor in forwarded else (turn, anchor)


def _turn_index(turns: Sequence[RequestTurn], turn: RequestTurn) -> int:
    """Index of this very object; it is one of the last."""
    return next(at for at in reversed(range(len(turns))) if turns[at] is turn)


def ends_with_tool_results(request: ChatRequest) -> bool:
    last = request.turns[-1]
    return last.role is ChatRole.TOOL or (last.role is ChatRole.USER and last.has_only_results)


def lines_by_subject(blocks: Iterable[ContextBlock]) -> dict[str, ContextLine]:
    """The lines of these blocks by subject; later lines win."""
    return {line.about: line for block in blocks for line in block.lines if line.about}


def choose_system_block(
    before: ContextBlock | None, now: ContextBlock | None, *, new_person_turn: bool
) -> tuple[ContextBlock | None, bool]:
    """Choose the block of the system text; return it and whether it changed.

    It is reused until a person has spoken *and* the notes differ, because each change makes the server read
    the whole prompt again.
    """
    if before is None:
        return now, False
    if not new_person_turn or now is None or _line_texts(now) == _line_texts(before):
        return before, False
    return now, True


def _line_texts(block: ContextBlock) -> set[str]:
    return {line.text for line in block.lines}


@dataclass(frozen=True, slots=True, kw_only=True)
class LineUpdate:
    """Present state of a subject whose line is outdated."""

    line: ContextLine | None = None
    """The line to show now; `None` if there is nothing better to say."""
    forgotten: tuple[NoteRef, ...] = ()
    """Notes of the line that nobody may see anymore."""


PresentLines = Mapping[str, LineUpdate]
"""Updates by subject; missing subjects have not changed."""


def correction_lines(present: PresentLines) -> tuple[ContextLine, ...]:
    """Lines that restate what changed."""
    return tuple(state.line for state in present.values() if state.line is not None)


def remove_forgotten_notes(blocks: Mapping[bytes, ContextBlock], present: PresentLines) -> Mapping[bytes, ContextBlock]:
    """Remove forgotten notes from blocks by anchor; return the same mapping if there are none."""
    gone = forgotten_notes(present)
    if not gone:
        return blocks
    return {anchor: left for anchor, block in blocks.items() if (left := remove_notes(block, gone)) is not None}


def forgotten_notes(present: PresentLines) -> tuple[NoteRef, ...]:
    return tuple(note for state in present.values() for note in state.forgotten)


def select_new_lines(lines: Iterable[ContextLine], shown: Mapping[str, ContextLine]) -> tuple[ContextLine, ...]:
    """Lines that no visible line states in the same words, each once."""
    texts = {line.about: line.text for line in shown.values()}
    found = []
    for line in lines:
        if not line.about or texts.get(line.about) != line.text:
            found.append(line)
        if line.about:
            texts[line.about] = line.text
    return tuple(found)


class BlockPosition(StrEnum):
    TURN = "turn"
    SYSTEM_START = "system_start"
    SYSTEM_END = "system_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Modelfile:
    """The model's own system text and parameters."""

    system: str = ""
    has_messages: bool = False
    context: int | None = None
    """Context tokens that it asks for, if any."""
    temperature: float | None = None


def build_turn_edit(request: ChatRequest, turn: RequestTurn, block: str) -> Edit | None:
    """Put the block before the text of a turn; `None` if the turn has no place for it."""
    if turn.span is not None:
        return TextEdit(path=turn.path, at=turn.span.text, text=block + GAP)
    return build_content_edit(request, turn, block, at_end=False)


def build_content_edit(request: ChatRequest, turn: RequestTurn, text: str, *, at_end: bool) -> Edit | None:
    """Put the text before or after the content of a turn; `None` if it is neither a text nor a list of parts."""
    path, content = turn.path, request.at(turn.path)
    if isinstance(content, dict):
        key = "output" if "output" in content and turn.role is ChatRole.TOOL else "content"
        path, content = (*path, key), content.get(key)
    if isinstance(content, str):
        return TextEdit(path=path, at=len(content) if at_end else 0, text=GAP + text if at_end else text + GAP)
    if isinstance(content, list):
        part = {"type": "input_text" if request.kind is RequestKind.RESPONSES else "text", "text": text}
        return ElementInsertion(
            path=path, index=len(content) if at_end else _index_after_results(content), element=part
        )
    return None


def build_system_edit(
    request: ChatRequest, block: str, *, position: BlockPosition, modelfile: Modelfile | None
) -> Edit | None:
    """Put the block into the system text; `None` if it must go into the turn."""
    system = next((turn for turn in request.turns if turn.role is ChatRole.SYSTEM), None)
    at_end = position is BlockPosition.SYSTEM_END
    if system is not None and system.span is not None:
        return _build_section_edit(request, system, block, at_end=at_end)
    if system is not None:
        return build_content_edit(request, system, block, at_end=at_end)
    return _build_new_system_edit(request, block, modelfile)


def _build_section_edit(request: ChatRequest, system: RequestTurn, block: str, *, at_end: bool) -> Edit:
    assert system.span is not None
    if not at_end:
        return TextEdit(path=system.path, at=system.span.text, text=block + GAP)
    prompt: str = request.at(system.path)
    # Before the empty line that separates it from the next section.
    apart = prompt.endswith(GAP, system.span.text, system.span.end)
    return TextEdit(path=system.path, at=system.span.end - (len(GAP) if apart else 0), text=GAP + block)


def _build_new_system_edit(request: ChatRequest, block: str, modelfile: Modelfile | None) -> Edit | None:
    match request.kind:
        case RequestKind.MESSAGES | RequestKind.RESPONSES:
            name = "system" if request.kind is RequestKind.MESSAGES else "instructions"
            return MemberUpdate(path=(), members={name: block}) if name not in request.tree else None
        case RequestKind.GENERATE | RequestKind.CHAT | RequestKind.COMPLETIONS:
            if modelfile is None or modelfile.has_messages:
                return None
            return _build_modelfile_edit(request, block, modelfile.system)
    return None


def _build_modelfile_edit(request: ChatRequest, block: str, own: str) -> Edit | None:
    """A system text hides the model's own, so include that one."""
    if request.kind is not RequestKind.GENERATE:
        whole = f"{block}{GAP}{own}" if own else block
        return ElementInsertion(path=("messages",), index=0, element={"role": "system", "content": whole})
    whole = f"{own}{GAP}{block}" if own else block
    if "system" not in request.tree:
        return MemberUpdate(path=(), members={"system": whole})
    return TextEdit(path=("system",), at=0, text=whole) if request.tree["system"] == "" else None


def _index_after_results(content: list[Any]) -> int:
    results = [
        index for index, part in enumerate(content) if isinstance(part, dict) and part.get("type") == "tool_result"
    ]
    return results[-1] + 1 if results else 0


def insert_blocks(
    request: ChatRequest,
    standing: Iterable[PlacedBlock] = (),
    *,
    mark: BlockMarker,
    system: ContextBlock | None = None,
    position: BlockPosition = BlockPosition.TURN,
    modelfile: Modelfile | None = None,
) -> tuple[bytes, int]:
    """Insert blocks: `standing` into their turns, `system` into the system text; return how many were inserted.

    Raises `AmbiguousJsonError` if a position is uncertain.
    """
    edits: list[Edit] = [*build_echo_removals(request, mark)]
    echoed = len(edits)
    in_turns = [build_turn_edit(request, each.turn, each.block.text) for each in standing]
    edits += (edit for edit in in_turns if edit is not None)
    if system is not None:
        above = build_system_edit(request, system.text, position=position, modelfile=modelfile)
        edits += () if above is None else (above,)
    body = apply_edits(request.body, request.tree, edits) if edits else request.body
    return body, len(edits) - echoed


def build_echo_removals(request: ChatRequest, mark: BlockMarker) -> Iterator[TextEdit]:
    """Edits that remove our blocks from assistant messages."""
    for turn in request.turns:
        if turn.role is ChatRole.ASSISTANT and turn.carries:
            for path, text, offset in iter_turn_texts(request, turn):
                for start, end in find_blocks(text, mark):
                    yield TextEdit(path=path, at=offset + start, until=offset + end, text="")


def find_block_lines_of_earlier_proxy(request: ChatRequest, mark: BlockMarker) -> frozenset[str]:
    """Lines of our blocks that a proxy before this one put into messages other than the assistant's."""
    return frozenset(
        line
        for turn in request.turns
        if turn.carries and turn.role is not ChatRole.ASSISTANT
        for _, text, _ in iter_turn_texts(request, turn)
        for start, end in find_blocks(text, mark)
        for line in text[start:end].splitlines()
    )


def iter_turn_texts(request: ChatRequest, turn: RequestTurn) -> Iterator[tuple[Path, str, int]]:
    """The strings of a turn's text, each with its path and offset."""
    value: Any = request.at(turn.path)
    if turn.span is not None:
        yield turn.path, value[turn.span.text : turn.span.end].rstrip(), turn.span.text
        return
    if isinstance(value, str):
        yield turn.path, value, 0
        return
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, str):
        yield (*turn.path, "content"), content, 0
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield (*turn.path, "content", index, "text"), part["text"], 0


log = structlog.get_logger(room="proxy")

AGAIN_SECONDS = 60.0
"""How often the digest of a model name is looked up again."""
MODELS = 256
ANSWER_BYTES = 8 * 2**20
OK = 200

_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")

FindModelfile = Callable[[str, ApiProtocol, ProxySettings], Modelfile | None]
"""Returns the model's own file; `None` while it is unknown."""


def find_no_modelfile(_model: str, _protocol: ApiProtocol, _settings: ProxySettings) -> None:
    return None


@dataclass(slots=True, kw_only=True)
class _CachedModelfile:
    asked: float
    """Stopwatch reading of the last lookup."""
    digest: str = ""
    modelfile: Modelfile | None = None


class ModelfileCache:
    """Cache of what the upstreams' model files contain."""

    def __init__(
        self, upstream: UpstreamClient, *, background: BackgroundTasks, stopwatch: Stopwatch = system_stopwatch
    ) -> None:
        self._upstream = upstream
        self._background = background
        self._stopwatch = stopwatch
        self._known: LRUCache[tuple[str, str], _CachedModelfile] = LRUCache(MODELS)

    def find(self, model: str, protocol: ApiProtocol, settings: ProxySettings) -> Modelfile | None:
        """Return what is known now; look it up in the background if it is missing or old."""
        base, now = find_upstream_base(protocol, settings), self._stopwatch()
        known = self._known.get((base, model))
        if known is None or now - known.asked > AGAIN_SECONDS:
            known = known or _CachedModelfile(asked=now)
            known.asked = now
            self._known[base, model] = known
            self._background.start(self._look_up(model, known, base=base, key=find_upstream_key(base, settings)))
        return known.modelfile

    async def _look_up(self, model: str, known: _CachedModelfile, *, base: str, key: str | None) -> None:
        try:
            digest = find_model_digest(await self._answer("GET", "/api/tags", base=base, key=key), model)
            if digest and digest != known.digest:
                shown = await self._answer("POST", "/api/show", base=base, key=key, body={"model": model})
                known.digest, known.modelfile = digest, parse_modelfile(shown)
        except UpstreamUnreachableError as error:
            log.info("model not looked up", model=model, upstream=base, kind=error.kind)

    async def _answer(
        self, method: str, target: str, *, base: str, key: str | None, body: dict[str, str] | None = None
    ) -> Any:
        """The upstream's JSON response; `None` if it has none."""
        sent = None if body is None else orjson.dumps(body)
        headers = [(b"accept", b"application/json"), (b"accept-encoding", b"identity")]
        if sent is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(sent))]
        headers = replace_api_key(headers, protocol=ApiProtocol.NATIVE, upstream_key=key)
        answer, read = await self._upstream.send(method, base, target.encode(), headers=headers, body=sent), b""
        try:
            async for chunk in iter_chunks(answer):
                read += chunk
                if len(read) > ANSWER_BYTES:
                    return None
        finally:
            answer.close()
        try:
            return orjson.loads(read) if answer.status == OK else None
        except orjson.JSONDecodeError:
            return None


def find_model_digest(tags: Any, model: str) -> str:
    """Find the digest of a model name in a model list; empty if missing."""
    listed = tags.get("models") if isinstance(tags, dict) else None
    names = (model, model if ":" in model else f"{model}:latest")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and (each.get("model") in names or each.get("name") in names):
            digest = each.get("digest")
            return digest if isinstance(digest, str) else ""
    return ""


def parse_modelfile(shown: Any) -> Modelfile | None:
    """Parse the upstream's description of a model; `None` if it is not understood."""
    if not isinstance(shown, dict) or not isinstance(system := shown.get("system", ""), str):
        return None
    parameters = shown.get("parameters")
    context = _parse_parameter(parameters, "num_ctx")
    return Modelfile(
        system=system,
        has_messages=bool(shown.get("messages")),
        context=int(context) if context else None,
        temperature=_parse_parameter(parameters, "temperature"),
    )


def _parse_parameter(parameters: Any, name: str) -> float | None:
    """A numeric parameter of the model's file, if set."""
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        match line.split():
            case [given, number] if given == name and _NUMBER.fullmatch(number):
                return float(number)
    return None
