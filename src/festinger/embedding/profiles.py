"""Profiles of embedding models: text prefixes, limits and calibrated thresholds.

Cosines of different models cannot be compared, so no threshold is in code: a profile says for every number on
which data and when it was measured, or that it was carried over from the reference. Thresholds of an
uncalibrated model are `None`, which means *do not decide by vector alone*. Profiles measured on this
installation are in one TOML file in the home, override the bundled `profiles.toml` and hold only what was
measured; the file is replaced atomically.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from festinger.errors import BadSetting, CannotStart

REFERENCE = "reference"
"""The profile with the numbers this design started from; no model has that name."""


class EmbeddingPurpose(StrEnum):
    """Why a text is embedded. Some models give a different vector for each."""

    STORE = "store"
    QUERY = "query"
    COMPARE = "compare"
    CLUSTER = "cluster"


class ThresholdName(StrEnum):
    """Every similarity that is compared with a number anywhere."""

    SAME = "same"
    CHECK = "check"
    SUBJECT = "subject"
    CONFIRMING = "confirming"
    NOVEL = "novel"
    MERGE = "merge"
    DORMANT = "dormant"
    CLUSTER = "cluster"
    PROPOSAL_SUGGEST = "proposal_suggest"
    ABSTAIN = "abstain"
    ABSTAIN_REF = "abstain_ref"
    CENSOR = "censor"
    OPPOSITION = "opposition"
    """Saved by earlier versions; nothing is compared with it."""
    OPPOSING = "opposing"
    CORE = "core"
    PERIPHERAL = "peripheral"


CurvePoint = tuple[float, float, float, float]
"""A cosine, with the precision, recall and false merges of treating everything at or above it as the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdReading:
    """One threshold and where it comes from. No value: measured, and no value met the target."""

    value: float | None
    data: str
    at: date | None = None
    how: str = ""
    carried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderProfile:
    name: str
    dimensions: int | None = None
    max_tokens: int | None = None
    prefixes: Mapping[EmbeddingPurpose, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    task_types: Mapping[EmbeddingPurpose, str] = field(default_factory=dict)
    readings: Mapping[ThresholdName, ThresholdReading] = field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    """What `same` and `check` were derived from, if measured on this installation."""

    @property
    def is_calibrated(self) -> bool:
        return bool(self.readings)

    def threshold(self, name: ThresholdName) -> float | None:
        """Return the cosine from which `name` holds; `None` if vectors alone may not decide it."""
        reading = self.readings.get(name)
        return reading.value if reading else None

    def written(self, text: str, purpose: EmbeddingPurpose, *, kind: str = "") -> str:
        """Return `text` as this model wants to read it. The kind of a memory is added only when storing."""
        said_kind = self.kinds.get(kind, "") if purpose is EmbeddingPurpose.STORE else ""
        return f"{self.prefixes.get(purpose, '')}{said_kind}{text}"


def find_profile(name: str, profiles: Mapping[str, EmbedderProfile]) -> EmbedderProfile:
    """Find the profile of a model: its own, else its provider's (`gemini:*`), else a blank one."""
    provider = name.partition(":")[0]
    for known in (name, name.removesuffix(":latest"), f"{provider}:*"):
        if known in profiles:
            return replace(profiles[known], name=name)
    return EmbedderProfile(name=name)


@cache
def load_bundled_profiles() -> Mapping[str, EmbedderProfile]:
    """Return the profiles that ship with Festinger, by model name."""
    text = files("festinger.embedding").joinpath("profiles.toml").read_text(encoding="utf-8")
    return parse_profiles(text, source="profiles.toml")


def load_all_profiles(path: Path) -> Mapping[str, EmbedderProfile]:
    """Return the bundled profiles, overridden by those measured on this installation."""
    if not path.exists():
        return load_bundled_profiles()
    measured = parse_profiles(path.read_text(encoding="utf-8"), source=str(path))
    bundled = load_bundled_profiles()
    return {**bundled, **{name: _fill_from_bundled(find_profile(name, bundled), own) for name, own in measured.items()}}


def _fill_from_bundled(bundled: EmbedderProfile, own: EmbedderProfile) -> EmbedderProfile:
    """Return `own`, with what it leaves out taken from the bundled profile."""
    return replace(
        own,
        dimensions=own.dimensions or bundled.dimensions,
        max_tokens=own.max_tokens or bundled.max_tokens,
        prefixes={**bundled.prefixes, **own.prefixes},
        kinds={**bundled.kinds, **own.kinds},
        task_types={**bundled.task_types, **own.task_types},
        readings={**bundled.readings, **own.readings},
    )


def parse_profiles(text: str, *, source: str) -> Mapping[str, EmbedderProfile]:
    """Read profiles from TOML. An unknown key or threshold is refused: it would silently do nothing."""
    try:
        sheet = _ProfilesFile.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadSetting(
            f"`{source}` is not a list of embedder profiles: {error}",
            hint="Mend the file, or write it again with `festinger calibrate --save`.",
        ) from error
    return {name: _build_profile(name, entry, sheet) for name, entry in sheet.models.items()}


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _ReadingEntry(_StrictModel):
    value: float | None = Field(None, ge=-1, le=1)
    data: str
    at: date | None = None
    how: str = ""


class _ProfileEntry(_StrictModel):
    dimensions: int | None = Field(None, ge=1, le=16_000)
    max_tokens: int | None = Field(None, ge=1)
    carries: str = ""
    prefixes: dict[EmbeddingPurpose, str] = {}
    kinds: dict[str, str] = {}
    task_types: dict[EmbeddingPurpose, str] = {}
    thresholds: dict[ThresholdName, _ReadingEntry] = {}
    curve: tuple[CurvePoint, ...] = ()
    direction: tuple[float, ...] = ()
    """Of negations, saved by earlier versions; not read."""


class _ProfilesFile(_StrictModel):
    models: dict[str, _ProfileEntry] = {}


def _build_profile(name: str, entry: _ProfileEntry, sheet: _ProfilesFile) -> EmbedderProfile:
    said: dict[str, Any] = {key: value for key, value in entry if key not in ("carries", "direction", "thresholds")}
    return EmbedderProfile(name=name, readings={**_carried_readings(entry.carries, sheet), **_own(entry)}, **said)


def _own(entry: _ProfileEntry) -> dict[ThresholdName, ThresholdReading]:
    return {threshold: ThresholdReading(**reading.model_dump()) for threshold, reading in entry.thresholds.items()}


def _carried_readings(source: str, sheet: _ProfilesFile) -> dict[ThresholdName, ThresholdReading]:
    """Return the values of `source`, marked as carried, for thresholds never measured for this model."""
    if not source:
        return {}
    if source not in sheet.models:
        raise BadSetting(f"A profile carries thresholds from `{source}`, which is not there.")
    return {name: replace(reading, carried=True) for name, reading in _own(sheet.models[source]).items()}


FILE = "profiles.toml"
PRIVATE = 0o600


def load_measured_profiles(path: Path) -> Mapping[str, EmbedderProfile]:
    """Return the profiles in this file alone; none if there is no file yet."""
    return parse_profiles(path.read_text(encoding="utf-8"), source=str(path)) if path.exists() else {}


def save_profile(path: Path, profile: EmbedderProfile) -> None:
    """Store one profile in the file; those of other models stay."""
    text = format_profiles({**load_measured_profiles(path), profile.name: profile}.values())
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        raise CannotStart(
            f"`{path}` cannot be written: {error.strerror or error}.", hint="Make its folder writable for this user."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def format_profiles(profiles: Iterable[EmbedderProfile]) -> str:
    """Format profiles as TOML for `parse_profiles`. Carried values are left out: they were not measured."""
    head = "# Measured on this installation by `festinger calibrate --save`; over the profiles of Festinger.\n"
    return head + "".join(
        line for profile in sorted(profiles, key=lambda one: one.name) for line in _format_entry(profile)
    )


def _format_entry(profile: EmbedderProfile) -> Iterator[str]:
    yield f"\n[models.{_quoted(profile.name)}]\n"
    for name, number in (("dimensions", profile.dimensions), ("max_tokens", profile.max_tokens)):
        if number is not None:
            yield f"{name} = {number}\n"
    if profile.curve:
        yield f"curve = {[list(point) for point in profile.curve]}\n"
    for name, texts in (("prefixes", profile.prefixes), ("kinds", profile.kinds), ("task_types", profile.task_types)):
        for key, text in texts.items():
            yield f"{name}.{_quoted(key)} = {_quoted(text)}\n"
    for threshold, reading in profile.readings.items():
        if not reading.carried:
            yield f"thresholds.{threshold} = {_format_reading(reading)}\n"


def _format_reading(reading: ThresholdReading) -> str:
    parts = [f"data = {_quoted(reading.data)}"]
    if reading.value is not None:
        parts.append(f"value = {reading.value!r}")
    if reading.at is not None:
        parts.append(f"at = {reading.at.isoformat()}")
    if reading.how:
        parts.append(f"how = {_quoted(reading.how)}")
    return f"{{ {', '.join(parts)} }}"


def _quoted(text: str) -> str:
    # A JSON string is a TOML string, except for one character that TOML also wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
