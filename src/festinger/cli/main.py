"""The command `festinger`: every command family in its place.

A family is a module with a `register` function. It is imported when one of its commands is called, because
together they bring every room and take seconds to load; only the help page looks at all of them.
"""

import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

FAMILIES = {
    "serve": "serve",
    "worker": "worker",
    "status": "status",
    "doctor": "doctor",
    "recall": "recall",
    "learn": "memory",
    "memories": "memory",
    "why": "memory",
    "history": "memory",
    "changes": "memory",
    "undo": "memory",
    "judgements": "memory",
    "iknowthat": "world",
    "concept": "world",
    "conflicts": "world",
    "forget": "forgetting",
    "repair": "forgetting",
    "refusals": "forgetting",
    "reembed": "forgetting",
    "resolve": "world",
    "outcomes": "outcomes",
    "inbox": "inbox",
    "approve": "verdicts",
    "reject": "verdicts",
    "defer": "verdicts",
    "deepen": "verdicts",
    "duplicate": "verdicts",
    "reviewer": "reviewers",
    "episodes": "episodes",
    "censor": "censors",
    "censors": "censors",
    "login": "login",
    "settings": "settings",
    "models": "models",
    "keys": "keys",
    "spaces": "spaces",
    "jobs": "jobs",
    "events": "events",
    "migrate": "migrate",
    "backup": "backup",
    "restore": "backup",
    "secrets": "secrets",
    "calibrate": "calibrate",
    "bench": "bench",
    "demo": "demo",
    "version": "version",
}
"""Which module holds a command, in the order of the help page."""


class Commands(MutableMapping[str, Any]):
    """Every command by name, made when it is asked for."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            family = typer.Typer(rich_markup_mode=None if self._plain else "rich")
            # A callback makes it a group, however few commands the family has.
            family.callback()(lambda: None)
            import_module(f"festinger.cli.{FAMILIES[name]}").register(family)
            self._made |= get_group(family).commands
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)

    def __contains__(self, name: object) -> bool:
        return name in FAMILIES

    def __setitem__(self, name: str, made: Any) -> None:
        self._made[name] = made

    def __delitem__(self, name: str) -> None:
        del self._made[name]


class Festinger(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands(plain=self.rich_markup_mode is None)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names alone: the group it stands on would make every command to name it."""
        return list(self.commands)


def command_line(*, plain: bool = True) -> typer.Typer:
    """The whole command line. `plain`: help and usage errors without colours and frames, for whatever is no
    terminal."""
    app = typer.Typer(
        name="festinger",
        cls=Festinger,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if plain else "rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def festinger() -> None:
        """One memory for LLM agents that keeps itself true.

        Example: festinger serve --upstream http://127.0.0.1:11434
        """

    return app


def main() -> None:
    command_line(plain=not (sys.stdout.isatty() and sys.stderr.isatty()))(prog_name="festinger")
