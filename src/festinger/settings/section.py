"""Defines the base of every settings section, setting fields, and shared value types."""

import re
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from croniter import croniter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

CRON_FIELDS = 5
_CHANCE = re.compile(r"(?:^|[\s,])[rh]", re.IGNORECASE)


def setting_field(
    default: Any,
    meaning: str,
    *,
    restart: bool = False,
    per_space: bool = False,
    early: bool = False,
    allowed: str = "",
    **bounds: Any,
) -> Any:
    """Declare a setting with its one-line meaning. `allowed` describes valid values if the type does not."""
    extra: dict[str, Any] = {"restart": restart or early, "per_space": per_space, "early": early, "allowed": allowed}
    return Field(default, description=meaning, json_schema_extra=extra, **bounds)


CRON_WORDS = "a cron line of five fields such as `0 2 * * *`, or empty"
URL_WORDS = "an http address such as `http://127.0.0.1:11434`, without a password or a query"
TIMEZONE_WORDS = "a time zone such as `UTC` or `Europe/Oslo`"
MODEL_WORDS = "text of the form `provider:model`"


def _validate_cron_line(line: str) -> str:
    # croniter also accepts seconds, nicknames, and random or hashed fields; a one-minute tick supports none.
    is_plain = len(line.split()) == CRON_FIELDS and line.isascii() and not _CHANCE.search(line)
    if line and not (is_plain and croniter.is_valid(line)):
        raise ValueError(f"must be {CRON_WORDS}")
    return line


def _validate_http_url(url: str) -> str:
    parts = urlsplit(url)
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    # Reading an invalid port raises ValueError.
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or not is_plain:
        raise ValueError(f"must be {URL_WORDS}")
    return url.rstrip("/")


def _validate_timezone(name: str) -> str:
    # Checked against the known names: a name that is a path would be opened as a file.
    if name not in available_timezones():
        raise ValueError(f"must be {TIMEZONE_WORDS}")
    return name


Cron = Annotated[str, AfterValidator(_validate_cron_line)]
Timezone = Annotated[str, AfterValidator(_validate_timezone)]
HttpUrl = Annotated[str, AfterValidator(_validate_http_url)]


class SettingsSection(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
