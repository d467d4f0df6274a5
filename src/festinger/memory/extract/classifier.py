"""Scores how likely a clause states something worth remembering.

Two models that make different mistakes: a linear one over the form of the clause (`features_of`), always
available and fast, and a trained encoder that reads the clause in its message. Both are
trained on the labeled messages of `benchmarks/training`. Without the encoder the linear model decides alone.
"""

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from festinger.memory.extract.clauses import Clause, features_of, strip_clause_lead_ins

WEIGHTS = "weights.tsv"
READER = "statements.safetensors"
BIAS = "bias"
FORM_SHARE = 0.2
"""Share of the linear model's logit. Out of fold: AUC .948 alone, encoder .973, both .974."""
LEFT_CHARS, RIGHT_CHARS = 200, 160
"""Characters of the message before and after a clause that the encoder reads."""


class ClauseEncoder(Protocol):
    """A model that reads a clause in its message."""

    async def logits(self, texts: Sequence[str]) -> list[float]: ...


async def statement_probabilities(
    clauses: Sequence[Clause], message: str, *, encoder: ClauseEncoder | None
) -> list[float]:
    """Return how likely each clause of a message states something lasting."""
    form = [score_clause_form(clause, message) for clause in clauses]
    if encoder is None:
        return [_share(logit) for logit in form]
    read = await encoder.logits([build_encoder_input(clause, message) for clause in clauses])
    return [
        _share(FORM_SHARE * by_form + (1 - FORM_SHARE) * by_encoder)
        for by_form, by_encoder in zip(form, read, strict=True)
    ]


def score_clause_form(clause: Clause, message: str) -> float:
    weights = load_form_weights()
    return weights[BIAS] + sum(weights.get(feature, 0.0) for feature in features_of(clause, message))


def build_encoder_input(clause: Clause, message: str) -> str:
    """Format a clause with its context as the encoder was trained to read it; lead-ins are context."""
    bare = strip_clause_lead_ins(clause.text)
    start = clause.start + max(0, clause.text.rfind(bare))
    return f"{bare} [SEP] {message[:start][-LEFT_CHARS:]} [SEP] {message[clause.end :][:RIGHT_CHARS]}"


def reader_path() -> Path:
    return Path(str(files("festinger.memory.extract").joinpath(READER)))


@cache
def load_form_weights() -> dict[str, float]:
    text = files("festinger.memory.extract").joinpath(WEIGHTS).read_text(encoding="utf-8")
    rows = (line.rpartition("\t") for line in text.splitlines())
    return {feature: float(weight) for feature, _, weight in rows}


def _share(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))
