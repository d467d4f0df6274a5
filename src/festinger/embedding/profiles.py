"""How is a purpose written for a model, and where do its thresholds lie?

Cosines of different models cannot be compared, so no threshold stands in code: each model has a profile, and a
profile says for every number on which data and when it was measured, or that it was carried over from the
reference. A model without thresholds is uncalibrated: every threshold is then `None`, which means *do not
decide by vector alone*. Measuring is `calibrate`'s matter; the numbers themselves stand in `profiles.toml`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from festinger.errors import BadSetting

REFERENCE = "reference"
"""The profile that holds the numbers this design started from; no model of that name exists."""


class Purpose(StrEnum):
    """Why a text is embedded. Some models give another vector for each."""

    STORE = "store"
    QUERY = "query"
    COMPARE = "compare"
    CLUSTER = "cluster"


class Threshold(StrEnum):
    """Every similarity that some room holds against a number."""

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
    OPPOSING = "opposing"
    CORE = "core"
    PERIPHERAL = "peripheral"


CurvePoint = tuple[float, float, float, float]
"""A cosine, and what taking everything from it upwards as the same would give: precision, recall, false merges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One threshold and where it comes from. No value: measured, and no value reached the bar."""

    value: float | None
    data: str
    at: date | None = None
    how: str = ""
    carried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    name: str
    dimensions: int | None = None
    max_tokens: int | None = None
    prefixes: Mapping[Purpose, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    task_types: Mapping[Purpose, str] = field(default_factory=dict)
    readings: Mapping[Threshold, Reading] = field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    """What `same` and `check` were read from, where they were measured on this installation."""
    direction: tuple[float, ...] = ()
    """Along which statements and their negations differ, where that was learnt and is not turned off."""

    @property
    def calibrated(self) -> bool:
        return bool(self.readings)

    def threshold(self, name: Threshold) -> float | None:
        """The cosine from which `name` holds; `None` where vectors alone may not decide it."""
        reading = self.readings.get(name)
        return reading.value if reading else None

    def written(self, text: str, purpose: Purpose, *, kind: str = "") -> str:
        """`text` as this model wants to read it. The kind of a memory is said only where it is stored."""
        said_kind = self.kinds.get(kind, "") if purpose is Purpose.STORE else ""
        return f"{self.prefixes.get(purpose, '')}{said_kind}{text}"


def profile_of(name: str, profiles: Mapping[str, Profile]) -> Profile:
    """The profile of the model `name`: its own, else its provider's (`gemini:*`), else a blank one."""
    provider = name.partition(":")[0]
    for known in (name, name.removesuffix(":latest"), f"{provider}:*"):
        if known in profiles:
            return replace(profiles[known], name=name)
    return Profile(name=name)


@cache
def bundled_profiles() -> Mapping[str, Profile]:
    """The profiles that come with Festinger, by the name of their model."""
    text = files("festinger.embedding").joinpath("profiles.toml").read_text(encoding="utf-8")
    return read_profiles(text, source="profiles.toml")


def installed_profiles(path: Path) -> Mapping[str, Profile]:
    """The bundled profiles, and over them those that were measured on this installation."""
    if not path.exists():
        return bundled_profiles()
    measured = read_profiles(path.read_text(encoding="utf-8"), source=str(path))
    bundled = bundled_profiles()
    return {**bundled, **{name: _over(profile_of(name, bundled), own) for name, own in measured.items()}}


def _over(bundled: Profile, own: Profile) -> Profile:
    """`own`, and what it does not say as it comes with Festinger."""
    return replace(
        own,
        dimensions=own.dimensions or bundled.dimensions,
        max_tokens=own.max_tokens or bundled.max_tokens,
        prefixes={**bundled.prefixes, **own.prefixes},
        kinds={**bundled.kinds, **own.kinds},
        task_types={**bundled.task_types, **own.task_types},
        readings={**bundled.readings, **own.readings},
        direction=own.direction if Threshold.OPPOSITION in own.readings else bundled.direction,
    )


def read_profiles(text: str, *, source: str) -> Mapping[str, Profile]:
    """Profiles from TOML. An unknown key or threshold is refused: it would silently change nothing."""
    try:
        sheet = _Sheet.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadSetting(
            f"`{source}` is not a list of embedder profiles: {error}",
            hint="Mend the file, or write it again with `festinger calibrate --save`.",
        ) from error
    return {name: _profile(name, entry, sheet) for name, entry in sheet.models.items()}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Reading(_Strict):
    value: float | None = Field(None, ge=-1, le=1)
    data: str
    at: date | None = None
    how: str = ""


class _Entry(_Strict):
    dimensions: int | None = Field(None, ge=1, le=16_000)
    max_tokens: int | None = Field(None, ge=1)
    carries: str = ""
    prefixes: dict[Purpose, str] = {}
    kinds: dict[str, str] = {}
    task_types: dict[Purpose, str] = {}
    thresholds: dict[Threshold, _Reading] = {}
    curve: tuple[CurvePoint, ...] = ()
    direction: tuple[float, ...] = ()


class _Sheet(_Strict):
    models: dict[str, _Entry] = {}


def _profile(name: str, entry: _Entry, sheet: _Sheet) -> Profile:
    return Profile(
        name=name,
        dimensions=entry.dimensions,
        max_tokens=entry.max_tokens,
        prefixes=entry.prefixes,
        kinds=entry.kinds,
        task_types=entry.task_types,
        readings={**_carried(entry.carries, sheet), **_own(entry)},
        curve=entry.curve,
        direction=entry.direction,
    )


def _own(entry: _Entry) -> dict[Threshold, Reading]:
    return {threshold: Reading(**reading.model_dump()) for threshold, reading in entry.thresholds.items()}


def _carried(source: str, sheet: _Sheet) -> dict[Threshold, Reading]:
    """What was never measured for this model stands with the values of `source`, and says so."""
    if not source:
        return {}
    if source not in sheet.models:
        raise BadSetting(f"A profile carries thresholds from `{source}`, which is not there.")
    return {name: replace(reading, carried=True) for name, reading in _own(sheet.models[source]).items()}
