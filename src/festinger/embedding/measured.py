"""Where are the profiles kept that were measured on this installation?

In one TOML file in the home, beside the bundled ones and over them. It is written beside and renamed, so that a
reader sees the old file or the new one, and holds only what was measured: the rest of a profile keeps coming
with Festinger. Which thresholds are right is `calibrate`'s matter.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from festinger.embedding.profiles import Profile, Reading, read_profiles
from festinger.errors import CannotStart

FILE = "profiles.toml"
PRIVATE = 0o600


def measured_profiles(path: Path) -> Mapping[str, Profile]:
    """The profiles in this file alone; none if there is no file yet."""
    return read_profiles(path.read_text(encoding="utf-8"), source=str(path)) if path.exists() else {}


def keep_profile(path: Path, profile: Profile) -> None:
    """Put one profile into the file; those of other models stay."""
    text = written({**measured_profiles(path), profile.name: profile}.values())
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
            f"`{path}` cannot be written: {error.strerror or error}.",
            hint="Make its folder writable for this user.",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def written(profiles: Iterable[Profile]) -> str:
    """Profiles as TOML that `read_profiles` reads back. What was carried over is left out: it was not measured."""
    head = (
        "# Measured on this installation by `festinger calibrate --save`; over the profiles of Festinger.\n"
    )
    return head + "".join(
        line for profile in sorted(profiles, key=lambda one: one.name) for line in _entry(profile)
    )


def _entry(profile: Profile) -> Iterator[str]:
    yield f"\n[models.{_quoted(profile.name)}]\n"
    for name, number in (("dimensions", profile.dimensions), ("max_tokens", profile.max_tokens)):
        if number is not None:
            yield f"{name} = {number}\n"
    if profile.curve:
        yield f"curve = {[list(point) for point in profile.curve]}\n"
    if profile.direction:
        yield f"direction = {list(profile.direction)}\n"
    for name, texts in (
        ("prefixes", profile.prefixes),
        ("kinds", profile.kinds),
        ("task_types", profile.task_types),
    ):
        for key, text in texts.items():
            yield f"{name}.{_quoted(key)} = {_quoted(text)}\n"
    for threshold, reading in profile.readings.items():
        if not reading.carried:
            yield f"thresholds.{threshold} = {_reading(reading)}\n"


def _reading(reading: Reading) -> str:
    parts = [f"data = {_quoted(reading.data)}"]
    if reading.value is not None:
        parts.append(f"value = {reading.value!r}")
    if reading.at is not None:
        parts.append(f"at = {reading.at.isoformat()}")
    if reading.how:
        parts.append(f"how = {_quoted(reading.how)}")
    return f"{{ {', '.join(parts)} }}"


def _quoted(text: str) -> str:
    # A JSON string is a TOML string, but for one character that TOML wants escaped too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
