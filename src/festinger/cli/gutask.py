"""The command `gutask iknowthat`: state a fact at the running server.

The name by which agents know it. Unlike `festinger iknowthat` it asks the server of this machine first,
because its callers run next to one, and opens the store only if no server answers. What it states at the
server without a key is the agent's word, not a person's.
"""

import sys
from dataclasses import replace

import typer

from festinger.cli.command import command
from festinger.cli.commands.world import UNREACHABLE_EXIT, Fact, facts_from_argument_or_stdin, post_facts, report_facts
from festinger.cli.context import CommandContext
from festinger.errors import ServerAway

HERE = "http://127.0.0.1:11435"


async def iknowthat(context: CommandContext, fact: Fact) -> int:
    """State a fact of the shared world. Exit 3 if it collides.

    Example: gutask iknowthat 'gnommoweb -isa repo in context of tech'
    """
    facts = facts_from_argument_or_stdin(fact)
    try:
        said = await post_facts(replace(context, server=context.server or HERE), facts)
    except ServerAway as error:
        if context.server is not None:
            context.tell(error)
            return UNREACHABLE_EXIT
        said = await post_facts(context, facts)
    return report_facts(context, said, many=fact == "-")


def command_line(*, plain: bool = True) -> typer.Typer:
    """Build the command line: one command."""
    app = typer.Typer(
        name="gutask",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if plain else "rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def gutask() -> None:
        """State facts of the shared world.

        Example: gutask iknowthat 'gnommoweb -isa repo'
        """

    command(app, "iknowthat", may_ask_server=True)(iknowthat)
    return app


def main() -> None:
    command_line(plain=not (sys.stdout.isatty() and sys.stderr.isatty()))(prog_name="gutask")
