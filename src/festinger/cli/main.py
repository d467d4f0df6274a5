"""The command `festinger`, with all command families.

A family is a module with a `register` function. It is imported when one of its commands is called, because
together they load every package, which takes seconds. The help page and completion read only the table.
"""

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

# Read when numpy loads, and inherited by the worker. Its own threads wait for the next product by spinning: on two cores
# every product of a recall kept one of them busy for 100 ms, and none of ours is large enough to gain from a second core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

FAMILIES = {
    "serve": ("serve", "Run the proxy, the pages and a worker process, until stopped."),
    "chat": ("chat", "Talk with an agent that remembers."),
    "mcp": ("mcp", "Serve an MCP client on stdin and stdout."),
    "worker": ("serve", "Do background work beside a running server, until stopped."),
    "status": ("status", "What waits, what died, what it cost, how long it has lived."),
    "doctor": ("status", "Check every part and say what to do."),
    "recall": ("recall", "What comes to mind for a cue, the best first; or nothing."),
    "observe": ("recall", "Say what became of recalled memories."),
    "brief": ("recall", "What is known of a topic, from rows alone."),
    "learn": ("memory", "Learn a statement, or a file of them."),
    "import": ("transfer", "Learn from notes, mem0, ChatGPT or an export."),
    "export": ("transfer", "Write memories to a file, as JSON lines or notes."),
    "memories": ("memory", "What is remembered."),
    "why": ("memory", "On what a memory rests."),
    "history": ("memory", "What a memory replaced, and all that was done to it."),
    "changes": ("memory", "What was done to memories, newest first."),
    "undo": ("memory", "Take a change back."),
    "judgements": ("memory", "What judges said of two statements."),
    "iknowthat": ("world", "State a fact of the shared world."),
    "concept": ("world", "All that is known of a word, and why."),
    "graph": ("world", "What stands around a word, as a table or a picture."),
    "conflicts": ("world", "Facts that cannot both stand: see and decide them."),
    "forget": ("forget", "Erase memories, what derives from them, and their words."),
    "repair": ("forget", "Take back all that came from one source, and what it did."),
    "refusals": ("forget", "What was not learnt, and why."),
    "reembed": ("forget", "Have every memory embedded again by the present model."),
    "resolve": ("world", "Resolve conflicts now."),
    "consolidate": ("nights", "Run a night now: insights and promotions."),
    "nights": ("nights", "What nights did; read one, or take it back."),
    "outcomes": ("outcomes", "What became of memories that were brought to mind."),
    "inbox": ("inbox", "What waits for a person: proposals, pairs and tasks."),
    "approve": ("verdicts", "Say yes."),
    "reject": ("verdicts", "Say no."),
    "defer": ("verdicts", "Put off; it comes back by itself."),
    "deepen": ("verdicts", "Ask for more thought, twice at most."),
    "duplicate": ("verdicts", "Say that a proposal is another one in other words."),
    "reviewer": ("verdicts", "People whose verdict counts."),
    "episodes": ("episodes", "What was talked about, and what came of it."),
    "censor": ("censors", "Rules that warn of what must not be said, or stop it."),
    "censors": ("censors", "Rules that warn of what must not be said, or stop it."),
    "connect": ("connect", "Connect a coding agent: hooks, the MCP server and a skill."),
    "disconnect": ("connect", "Take Festinger out of a coding agent's configuration."),
    "login": ("status", "Print a one-time link to the console."),
    "settings": ("settings", "See, change and reset settings."),
    "models": ("models", "Language models with their keys: add, list, try out, remove."),
    "keys": ("keys", "Who may use this server: make, list and revoke keys."),
    "spaces": ("spaces", "Isolated shared worlds: make, rename and delete them."),
    "jobs": ("jobs", "Background work: see it, run it now, retry or drop what died."),
    "events": ("events", "What happened, the oldest first."),
    "migrate": ("database", "Apply what the database still needs."),
    "backup": ("database", "Save everything to a file, while Festinger runs."),
    "restore": ("database", "Bring a backup back."),
    "secrets": ("database", "The master key that seals stored secrets."),
    "calibrate": ("calibrate", "Propose thresholds from pairs of texts."),
    "bench": ("bench", "Measure quality, speed and memory on a throw-away store."),
    "demo": ("demo", "Show what happens and why, on a store that is thrown away."),
    "version": ("version", "Say which version this is."),
}
"""The module and help summary of each command, in the order of the help page."""

HIDDEN = frozenset({"censors"})
"""Aliases of commands that the help page lists already."""


class LazyCommands(MutableMapping[str, Any]):
    """Every command by name, created on access."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            family = typer.Typer(rich_markup_mode=None if self._plain else "rich")
            # A callback makes it a group, however few commands the family has.
            family.callback()(lambda: None)
            import_module(f"festinger.cli.commands.{FAMILIES[name][0]}").register(family)
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


class FestingerGroup(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands(plain=self.rich_markup_mode is None)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names alone: the base class would create every command to name it."""
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._with_summaries_only():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        with self._with_summaries_only():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _with_summaries_only(self) -> Iterator[None]:
        """Show commands by their summaries, without loading their modules."""
        whole = self.commands
        self.commands = {
            name: TyperCommand(name, help=summary, hidden=name in HIDDEN) for name, (_, summary) in FAMILIES.items()
        }
        try:
            yield
        finally:
            self.commands = whole


def command_line(*, plain: bool = True) -> typer.Typer:
    """Build the whole command line. `plain`: help and errors without colors and frames, for non-terminals."""
    app = typer.Typer(
        name="festinger",
        cls=FestingerGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if plain else "rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def show_version(asked: bool) -> None:
        if asked:
            from festinger import __version__

            typer.echo(f"festinger {__version__}")
            raise typer.Exit

    @app.callback()
    def festinger(
        version: Annotated[
            bool, typer.Option("--version", is_eager=True, callback=show_version, help="Say which version this is.")
        ] = False,
    ) -> None:
        """One memory for LLM agents that keeps itself true.

        Example: festinger serve --upstream http://127.0.0.1:11434
        """

    return app


def main() -> None:
    command_line(plain=not (sys.stdout.isatty() and sys.stderr.isatty()))(prog_name="festinger")
