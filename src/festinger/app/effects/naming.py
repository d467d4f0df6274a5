"""Which rows does a payload mean?

Ids in payloads come from models and people; what is none is said before anything is looked up. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound
from festinger.ids import MemoryId, read_id
from festinger.memory.model import Memory
from festinger.proposals.verdicts.effects import Look


def id_in(payload: Mapping[str, Any], name: str) -> UUID:
    """The id that a payload must have."""
    return _read(payload.get(name), name)


def ids_in(payload: Mapping[str, Any], name: str) -> list[MemoryId]:
    """The ids that a payload must have, one at least."""
    given = payload.get(name)
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise BadInput(f"The payload must have a list of ids `{name}`.")
    return [MemoryId(_read(each, name)) for each in dict.fromkeys(given)]


def look_at(wanted: Iterable[UUID], found: Mapping[MemoryId, Memory], **more: Any) -> Look:
    """What is there of some memories. Only forgetting takes one away."""
    gone = tuple(named(each) for each in wanted if each not in found)
    versions = {named(id_): memory.version for id_, memory in found.items()}
    return Look(versions=versions, gone=gone, is_forgotten=bool(gone), **more)


def named(memory: UUID) -> str:
    """How a memory is called among the targets of a proposal."""
    return f"memory:{memory}"


def _read(value: object, name: str) -> UUID:
    try:
        return read_id(str(value))
    except (BadInput, NotFound) as error:
        raise BadInput(f"`{str(value)[:40]}` is no id; the payload must have one as `{name}`.") from error
