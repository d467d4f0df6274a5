"""Captures the environment, command-line options and config file locations of the process.

The only module of this package that asks the operating system for them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "FESTINGER_"

CONFIG_VARIABLE = "FESTINGER_CONFIG"
SECRET_KEY_VARIABLE = "FESTINGER_SECRET_KEY"  # noqa: S105 - the name of a variable, not a secret
NO_BROWSER_VARIABLE = "FESTINGER_NO_BROWSER"
KEY_VARIABLE = "FESTINGER_KEY"
HOOK_VARIABLE = "FESTINGER_HOOK_SECONDS"
OUTSIDE_THE_TREE = frozenset({CONFIG_VARIABLE, SECRET_KEY_VARIABLE, NO_BROWSER_VARIABLE, KEY_VARIABLE, HOOK_VARIABLE})
"""Variables that are no settings: the config file, the master key, a client key, the browser switch, and how long
hooks wait, which import no settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a process was started with: every source of settings except the config table."""

    environment: Mapping[str, str]
    folder: Path
    config_folder: Path
    config: Path | None = None
    command_line: Mapping[str, object] = field(default_factory=dict)

    def file(self) -> Path | None:
        """Return the settings file in use, even if a named one is missing, so that this is reported."""
        named = self.named_file()
        return named or next((path for path in self.candidates() if path.exists()), None)

    def named_file(self) -> Path | None:
        if self.config:
            return self.config.expanduser()
        named = self.environment.get(CONFIG_VARIABLE, "").strip()
        return Path(named).expanduser() if named else None

    def candidates(self) -> tuple[Path, ...]:
        """Return where a settings file may be; the first that exists is used."""
        named = self.named_file()
        return (named,) if named else (self.folder / "festinger.yaml", self.config_folder / "config.yaml")


def capture_deployment(
    *, config: Path | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
) -> Deployment:
    return Deployment(
        environment=dict(os.environ if environ is None else environ),
        folder=Path.cwd(),
        config_folder=Path.home() / ".config" / "festinger",
        config=config,
        command_line=dict(flags or {}),
    )
