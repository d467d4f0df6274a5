"""`festinger episodes`: stretches of conversation, read and closed."""

from typing import Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import format_time
from festinger.ids import read_id
from festinger.memory.episodes.episode import EpisodeState, parse_state
from festinger.memory.episodes.lessons import summarize_episode_within
from festinger.memory.episodes.store import close_episode, load_episode_details, load_page_of_episodes

Id = Annotated[str, typer.Argument(help="Id of the episode.")]
AGENTS = Annotated[str | None, typer.Option("--of", help="Episodes of this agent only.")]
STATE = Annotated[str | None, typer.Option("--state", help="`open`, `closed` or `summarised`.")]
LIMIT = Annotated[int, typer.Option("--limit", min=1, max=200, help="How many to list.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="What was talked about, and what came of it.\n\nExample: festinger episodes")
    app.add_typer(group, name="episodes")
    register_list_command(group)(show_episodes)
    command(group, "show")(show)
    command(group, "close")(close)


async def show_episodes(context: CommandContext, of: AGENTS = None, state: STATE = None, limit: LIMIT = 50) -> None:
    """Episodes, the newest first.

    Example: festinger episodes list --state summarised
    """
    wanted = parse_state(state) if state else None
    async with context.app() as app:
        space = context.resolve_space_option(app)
        found = await load_page_of_episodes(app.memory.deps, space, agent=of, state=wanted, limit=limit)
    rows = (
        (each.id, each.session_id, each.state.value, each.turns, format_time(each.last_at), each.title)
        for each in found
    )
    context.show(
        [each.as_json() for each in found],
        table=context.table(("id", "session", "state", "turns", "last", "title"), rows),
        text="No conversation was kept yet. `festinger serve` keeps those that pass through it.",
    )


async def show(context: CommandContext, episode: Id) -> None:
    """One episode: its summary, what was said and what came of it.

    Example: festinger episodes show 018f3a5e-7b21-7000-8000-000000000001
    """
    async with context.app() as app:
        told = await load_episode_details(app.memory.deps, context.resolve_space_option(app), read_id(episode))
    found = told.episode
    lines = [
        found.title or "(no title)",
        found.summary or f"({found.skipped or 'no summary yet'})",
        *(["The words were cut: they had been kept long enough."] if found.raw_cut_at else []),
        "",
        *(f"{turn.seq:>4} {turn.role.value}: {turn.content}" for turn in told.turns),
        *(f"{tie.relation} {tie.target} {tie.target_id}" for tie in told.ties),
    ]
    context.show(told.as_json(), text="\n".join(lines))


async def close(context: CommandContext, episode: Id) -> None:
    """End an episode and sum it up.

    Example: festinger episodes close 018f3a5e-7b21-7000-8000-000000000001
    """
    async with context.app() as app:
        space, id_ = context.resolve_space_option(app), read_id(episode)
        closed = await close_episode(app.memory.deps, space, id_)
        if closed.state is EpisodeState.CLOSED:
            wait = app.settings.for_space(space).episodes.model_wait_s
            closed = await summarize_episode_within(app.memory.deps, space, id_, seconds=wait)
    context.show(closed.as_json(), text=closed.title or f"Closed ({closed.skipped or 'no summary yet'}).")
