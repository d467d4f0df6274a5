"""Teaches an agent what its owner gives it to start with: boundaries, values and goals, each once."""

from hashlib import sha256

import yaml
from pydantic import BaseModel, ValidationError

from festinger.agent.goals import TAG, Q
from festinger.errors import BadInput
from festinger.ids import Scope
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import build_refused_error
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind


class StartFile(BaseModel, extra="forbid"):
    boundaries: list[str] = []
    values: list[str] = []
    goals: list[str] = []


async def learn_start_file(deps: MemoryDeps, scope: Scope, text: str) -> None:
    """Learn a start file, in YAML or JSON, as a person's words; what was learned of it before stays as it became."""
    try:
        given = StartFile.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise BadInput("This is no start file.", hint="It has lists of `boundaries`, `values` and `goals`.") from error
    for tag, texts in (("boundary", given.boundaries), ("value", given.values), (TAG, given.goals)):
        kind = Kind.PREFERENCE if tag == "value" else Kind.FACT
        for each in texts:
            source = f"start:{scope.agent}:{sha256(each.encode()).hexdigest()[:16]}"
            if await deps.store.value(Q["knows_source"], space=scope.space, source=source):
                continue
            request = LearnRequest(text=each, kind=kind, tags=(tag,), immutable=tag == "boundary", source=source)
            if (learned := await learn(deps, scope, request)).memory is None:
                raise build_refused_error(learned)
