"""Which constants does one handle work with?

`Defaults` shows the settings of this room under the names that constants have, and lets a program change them for
its own handle. What lies outside the hard range is refused like any setting.
"""

from typing import Any

from pydantic import ValidationError

from festinger.errors import BadSetting, UnknownSetting
from festinger.settings.outcomes import OutcomesSettings

_KEYS = {name.upper(): name for name in OutcomesSettings.model_fields}


class Defaults:
    """The settings `outcomes.…` as constants of one handle, such as `ACTED_CONFIDENCE_SIGNAL`."""

    __slots__ = ("settings",)

    settings: OutcomesSettings

    def __init__(self, settings: OutcomesSettings | None = None) -> None:
        object.__setattr__(self, "settings", settings or OutcomesSettings())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.settings, _key(name))

    def __setattr__(self, name: str, value: Any) -> None:
        changed = {**self.settings.model_dump(), _key(name): value}
        try:
            settings = OutcomesSettings(**changed)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise BadSetting(f"`outcomes.{_key(name)}` cannot be {value!r}: {fault}.") from error
        object.__setattr__(self, "settings", settings)


def _key(name: str) -> str:
    if name not in _KEYS:
        raise UnknownSetting(f"There is no constant `{name[:60]}`.")
    return _KEYS[name]
