"""What do all embedders over HTTP have in common?

A wire, and the length of their vectors: from the profile where it has one, else learnt from one small call when
the embedder is opened. How a provider puts texts into a request and vectors into an answer is its own file.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from festinger.embedding.embedder import Rows, Supplies
from festinger.embedding.profiles import Purpose, profile_of
from festinger.embedding.wire import Wire
from festinger.errors import BadSetting, ProviderRefused

PROBE = "How long are the vectors?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How one provider speaks: where to, and the two translations."""

    path: str
    request: Callable[[Sequence[str], Purpose, str], Mapping[str, Any]]
    rows: Callable[[Mapping[str, Any]], Rows]


class RemoteEngine:
    def __init__(self, name: str, wire: Wire, protocol: Protocol, *, dimensions: int, batch: int) -> None:
        self.name = name
        self.dimensions = dimensions
        self.batch = batch
        self._wire = wire
        self._protocol = protocol

    async def rows(self, texts: Sequence[str], purpose: Purpose, *, kind: str) -> Rows:
        return await ask(self._wire, self._protocol, texts, purpose=purpose, kind=kind)

    async def close(self) -> None:
        await self._wire.close()


async def open_remote(name: str, wire: Wire, protocol: Protocol, *, supplies: Supplies) -> RemoteEngine:
    """The engine; a model without a stated length is asked once, so that no vector of another one gets in."""
    if name.endswith(":"):
        raise BadSetting(f"`{name}` names no model.", hint=f"Write it as `{name}model`.")
    async with AsyncExitStack() as undo:
        undo.push_async_callback(wire.close)
        stated = profile_of(name, supplies.profiles).dimensions
        dimensions = stated or await _learnt_dimensions(name, wire, protocol)
        undo.pop_all()
    return RemoteEngine(name, wire, protocol, dimensions=dimensions, batch=supplies.batch)


async def _learnt_dimensions(name: str, wire: Wire, protocol: Protocol) -> int:
    rows = await ask(wire, protocol, [PROBE], purpose=Purpose.COMPARE, kind="")
    try:
        return len(rows[0])
    except (IndexError, TypeError, KeyError) as error:
        raise ProviderRefused(f"`{name}` answered with no vector.") from error


async def ask(wire: Wire, protocol: Protocol, texts: Sequence[str], *, purpose: Purpose, kind: str) -> Rows:
    answer = await wire.post(protocol.path, protocol.request(texts, purpose, kind))
    try:
        return protocol.rows(answer)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ProviderRefused("The provider answered with something else than vectors.") from error
