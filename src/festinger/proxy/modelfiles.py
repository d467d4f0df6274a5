"""What does a model bring along itself?

A system text that we add hides the one of the model's own file, so that one must be known first. It is asked of the
upstream beside the requests, once for each digest that a name stands for; until the answer is there nothing is
known, and nobody waits for it. A server that does not tell is asked again after a while.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import structlog

from festinger.clock import Stopwatch, system_stopwatch
from festinger.proxy.injection.places import Modelfile
from festinger.proxy.keys import without_ours
from festinger.proxy.routes import Protocol
from festinger.proxy.upstream import Asking, Upstream, UpstreamFailed, base_for, chunks, key_for
from festinger.runtime.lifecycle import Background
from festinger.settings.tree import ProxySettings

log = structlog.get_logger(room="proxy")

AGAIN_SECONDS = 60.0
"""After so long it is looked up again which digest a name stands for."""
MODELS = 256
ANSWER_BYTES = 8 * 2**20
OK = 200

_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")

FindModelfile = Callable[[str, Protocol, ProxySettings], Modelfile | None]
"""What the model of this name brings along; none while that is not known."""


def none_known(_model: str, _protocol: Protocol, _settings: ProxySettings) -> None:
    return None


@dataclass(slots=True, kw_only=True)
class _Known:
    asked: float
    """When it was looked up last, by the stopwatch."""
    digest: str = ""
    modelfile: Modelfile | None = None


class Modelfiles:
    """What is known of the models of the upstreams."""

    def __init__(
        self, upstream: Upstream, *, beside: Background, stopwatch: Stopwatch = system_stopwatch
    ) -> None:
        self._upstream = upstream
        self._beside = beside
        self._stopwatch = stopwatch
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def find(self, model: str, protocol: Protocol, settings: ProxySettings) -> Modelfile | None:
        """What is known of it now. Asks beside the request if that is nothing, or long ago."""
        base, now = base_for(protocol, settings), self._stopwatch()
        known = self._known.get((base, model))
        if known is None or now - known.asked > AGAIN_SECONDS:
            known = known or _Known(asked=now)
            known.asked = now
            self._known[base, model] = known
            while len(self._known) > MODELS:
                self._known.popitem(last=False)
            self._beside.start(self._look_up(model, known, base=base, key=key_for(base, settings)))
        return known.modelfile

    async def _look_up(self, model: str, known: _Known, *, base: str, key: str | None) -> None:
        try:
            digest = digest_in(await self._answer("GET", "/api/tags", base=base, key=key), model)
            if digest and digest != known.digest:
                shown = await self._answer("POST", "/api/show", base=base, key=key, body={"model": model})
                known.digest, known.modelfile = digest, modelfile_in(shown)
        except UpstreamFailed as error:
            log.info("model not looked up", model=model, upstream=base, kind=error.kind)

    async def _answer(
        self, method: str, target: str, *, base: str, key: str | None, body: dict[str, str] | None = None
    ) -> Any:
        """What the upstream says; nothing if it has no such answer."""
        sent = None if body is None else orjson.dumps(body)
        headers = [(b"accept", b"application/json"), (b"accept-encoding", b"identity")]
        if sent is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(sent))]
        headers = without_ours(headers, protocol=Protocol.NATIVE, upstream_key=key)
        asking = Asking(method=method, base=base, target=target.encode(), headers=headers, body=sent)
        answer, read = await self._upstream.ask(asking), b""
        try:
            async for chunk in chunks(answer):
                read += chunk
                if len(read) > ANSWER_BYTES:
                    return None
        finally:
            answer.close()
        try:
            return orjson.loads(read) if answer.status == OK else None
        except orjson.JSONDecodeError:
            return None


def digest_in(tags: Any, model: str) -> str:
    """The digest that a name stands for in a list of models; empty if it is not there."""
    listed = tags.get("models") if isinstance(tags, dict) else None
    names = (model, model if ":" in model else f"{model}:latest")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and (each.get("model") in names or each.get("name") in names):
            digest = each.get("digest")
            return digest if isinstance(digest, str) else ""
    return ""


def modelfile_in(shown: Any) -> Modelfile | None:
    """What a model brings along, from what the upstream shows of it; none if that is not understood."""
    if not isinstance(shown, dict) or not isinstance(system := shown.get("system", ""), str):
        return None
    parameters = shown.get("parameters")
    context = _parameter(parameters, "num_ctx")
    return Modelfile(
        system=system,
        has_messages=bool(shown.get("messages")),
        context=int(context) if context else None,
        temperature=_parameter(parameters, "temperature"),
    )


def _parameter(parameters: Any, name: str) -> float | None:
    """A number that the model's file gives, if it gives one."""
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        match line.split():
            case [given, number] if given == name and _NUMBER.fullmatch(number):
                return float(number)
    return None
