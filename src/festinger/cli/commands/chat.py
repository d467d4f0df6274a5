"""`festinger chat`: talk with the agent, with a model or from memory alone.

What is written is kept, learned from at once, and answered with what is remembered. On a terminal the reply
streams; with a pipe, a script or `--once` each line is a message. Ctrl-C stops a reply, and a second one ends
the chat. Commands that begin with `/` are answered without a model.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID, escape_line, escape_text
from festinger.errors import BadInput, FestingerError, NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from festinger.agent.cycle import AgentCycle, HearResult
    from festinger.agent.mind import Agent
    from festinger.client.memory import Memory
    from festinger.runtime.app import App

SHOWN_CHARS = 100
LOOK_SECONDS = 5.0
"""How often it is looked whether a reminder is due while the person is at the prompt."""
LONGEST_NUMBER = 3
"""Digits that count notes; what is longer is an id."""
LAST_SAID = 100
"""Turns of the last conversation whose words the arrow keys bring back."""
MOST_COUNTED = 1_000_000
NIGHT_LINES = 3
"""Lines of the last night's report that the first screen has; `festinger nights` has all."""
BARE_COMMANDS = frozenset({"help", "quit", "exit"})
"""What people type at any prompt, without a slash."""
SET_MODEL = "`festinger settings set llm.chat ollama:llama3.2` names one."


def register(app: typer.Typer) -> None:
    command(app, "chat")(chat)


async def chat(
    context: CommandContext,
    new: Annotated[bool, typer.Option("--new", help="Start a new conversation, not the last one again.")] = False,
    once: Annotated[str | None, typer.Option("--once", help="Say this, print the answer, and end.")] = None,
    script: Annotated[Path | None, typer.Option("--script", help="File with a message on each line.")] = None,
    start: Annotated[
        Path | None, typer.Option("--start", help="File with `boundaries`, `values` and `goals` to learn once.")
    ] = None,
    show_thoughts: Annotated[
        bool, typer.Option("--show-thoughts", help="Show first what it thought while nobody talked with it.")
    ] = False,
) -> None:
    """Talk with an agent that remembers.

    It learns from what you write and answers with what it remembers, with a model (`llm.chat`) or without one.
    `/help` lists what can be asked without a model.

    Example: festinger chat --once 'where do I live?'
    """
    from festinger.runtime.app import StartOptions

    if once is not None and script is not None:
        raise BadInput("Give `--once` or `--script`, not both.")
    if once is not None and not once.strip():
        raise BadInput("There is nothing to say.", hint="Give `--once` a message.")
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(
            context.with_flags({}, door="chat").app(start=StartOptions(providers=True, workers=True))
        )
        talk = await _open(stack, context, app, new=new, closes=once is None)
        talk.is_single = once is not None
        if start is not None:
            from festinger.agent.start import learn_start_file

            await learn_start_file(app.memory.deps, talk.mind.scope, "\n".join(_read_lines(start)))
        if show_thoughts:
            await _show_idle_thoughts(talk, "")
        is_live = once is None and script is None and sys.stdin.isatty() and not context.as_json
        if is_live:
            context.say("\n".join(await _build_welcome_lines(talk)))
            talk.has_named_model = True
            app.background.start(_print_due_reminders(talk))
        async for line in _lines(once, script, said=await _last_said(talk) if is_live else None):
            if line.strip() and not await talk.answer(line.strip()):
                break
        if is_live and talk.has_model:
            context.say("Summing up this conversation; Ctrl-C skips that.")


async def _open(
    stack: AsyncExitStack, context: CommandContext, app: "App", *, new: bool, closes: bool
) -> "ChatTerminal":
    """Open the agent's mind; a chat `closes` its conversation, single messages go on with it."""
    from festinger.cli.agent_tools import build_agent_tools
    from festinger.client.memory import Memory
    from festinger.ids import AgentId
    from festinger.services.agent import choose_chat_scope, open_mind

    scope = await choose_chat_scope(app, context.resolve_space_option(app), AgentId(context.agent), new=new)
    app.agent_tools = build_agent_tools
    mind = await stack.enter_async_context(open_mind(app, scope, closes=closes))
    memory = Memory(space=scope.space, agent=scope.agent, session=scope.session, _app=app)
    return ChatTerminal(context=context, app=app, mind=mind, memory=memory)


async def _lines(once: str | None, script: Path | None, *, said: list[str] | None) -> AsyncIterator[str]:
    """The messages: one, those of a file, those of a pipe, or what a person types, who `said` this before."""
    if once is not None:
        yield once
    elif script is not None:
        for line in _read_lines(script):
            yield line
    elif said is None:
        while line := await asyncio.to_thread(sys.stdin.readline):
            yield line
    else:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.patch_stdout import patch_stdout

        commands = WordCompleter([f"/{name}" for name in COMMANDS], sentence=True)
        session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(said), completer=commands, complete_while_typing=False
        )
        while True:
            try:
                with patch_stdout():  # what is told meanwhile goes above the prompt
                    line = await session.prompt_async("> ")
                yield line
            except KeyboardInterrupt:
                if not session.default_buffer.text:  # the first one only throws away what was typed
                    return
            except EOFError:
                return


async def _last_said(talk: "ChatTerminal") -> list[str]:
    """What the person said last, oldest first; nothing is kept outside the memory, where it can be forgotten."""
    from festinger.services.agent import load_last_turns

    turns = await load_last_turns(talk.app, talk.mind.scope, limit=LAST_SAID)
    return [turn["content"] for turn in turns if turn["role"] == "user" and "\n" not in turn["content"]]


def _read_lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NotFound(f"`{file}` cannot be read.", hint="Give a file that is there.") from error


@dataclass(slots=True, kw_only=True)
class ChatTerminal:
    """A conversation on a terminal."""

    context: CommandContext
    app: "App"
    mind: "Agent"
    memory: "Memory"
    shown: tuple[str, ...] = field(default=())
    """Notes of the last reply or list, for `/why` and `/forget`."""
    is_answering: bool = False
    has_named_model: bool = False
    """Whether the person was told which model answers."""
    has_model: bool = False
    is_single: bool = False
    """Whether this is the only message, so that an error ends the command."""

    async def answer(self, line: str) -> bool:
        """Answer a line; false where the person ends the chat."""
        self.is_answering = True
        try:
            if line.startswith("/") or line in BARE_COMMANDS:
                return await self._run_slash_command(line)
            await self._say(line)
        except FestingerError as error:
            if self.is_single:
                raise
            self.context.tell(error)
        finally:
            self.is_answering = False
        return True

    async def _say(self, text: str) -> None:
        heard = await self.mind.hear(text)
        for due in heard.due:
            self.print_piece(f"Reminder of {due}\n")
        has_begun = False

        def print_reply(piece: str) -> None:
            nonlocal has_begun
            has_begun = has_begun or bool(piece.strip())
            self.print_piece(piece)

        try:
            cycle = await self._await_interruptible(self.mind.step(print_reply))
        except FestingerError:  # while the model is away, the memory answers
            from festinger.agent.cycle import format_notes_as_answer

            told = format_notes_as_answer(text, self.mind.notes, has_learned=bool(heard.learned))
            self.print_piece("…\n" if has_begun else f"{told}\n")
            raise
        if cycle is None:
            return
        self.shown = tuple(cycle.injected)
        if self.context.as_json:
            from festinger.services.agent import reply_json

            self.context.line(reply_json(text, cycle, heard), "")
            return
        self.print_piece("\n")
        if told := await self._format_summary_line(cycle, heard):
            self.context.say(told)

    def print_piece(self, piece: str) -> None:
        if not self.context.as_json:
            sys.stdout.write(escape_text(piece))
            sys.stdout.flush()

    async def _await_interruptible(self, reply: Awaitable["AgentCycle | None"]) -> "AgentCycle | None":
        """Wait for a reply; Ctrl-C stops it and not the chat."""
        import signal

        task, loop = asyncio.ensure_future(reply), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if (current := asyncio.current_task()) is not None and current.cancelling():
                raise
            self.context.say("\nStopped.")
            return None
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _format_summary_line(self, cycle: "AgentCycle", heard: "HearResult") -> str:
        """What a reply used and what was learned, in one line."""
        told = []
        if count := len(cycle.injected):
            disputed = cycle.notes.count("(disputed)")
            told.append(f"{_count(count, 'note')}{f', {disputed} disputed' if disputed else ''}: /why 1")
        goals = {step.memory.id for step in heard.goals}
        stored = [
            each
            for each in heard.learned
            if each.memory is not None and each.action not in ("confirmed", "echoed") and each.memory.id not in goals
        ]
        if stored:
            said = "; ".join(escape_line(each.memory.content[:SHOWN_CHARS]) for each in stored if each.memory)
            told.append(f"learned: {said}")
        told += [f"goal {step.state}: {escape_line(step.memory.content[:SHOWN_CHARS])}" for step in heard.goals]
        told += [f"reminder set: {escape_line(str(each)[:SHOWN_CHARS])}" for each in heard.reminders]
        if used := [each for each in cycle.tools if " " not in each]:
            told.append(f"used {', '.join(dict.fromkeys(used))}")
        if cycle.degraded:
            told.append(f"without {', '.join(cycle.degraded)}; `festinger doctor` may say why")
        if cycle.action == "remembered" and self.mind.cycles == 1 and not self.has_named_model:
            told.append(f"no model answers; {SET_MODEL}")
        return f"  ({' · '.join(told)})" if told else ""

    async def _run_slash_command(self, line: str) -> bool:
        name, _, rest = line.removeprefix("/").partition(" ")
        if name in ("quit", "exit", "bye"):
            return False
        known = COMMANDS.get(name)
        if known is None:
            raise BadInput(f"There is no command `/{name[:40]}`.", hint="`/help` lists them.")
        await known[1](self, rest.strip())
        return True

    def print_rows(self, headers: tuple[str, ...], rows: list[tuple[Any, ...]], *, nothing: str) -> None:
        self.context.show(
            [dict(zip(headers, row, strict=True)) for row in rows],
            table=self.context.table(headers, rows),
            text=nothing,
        )

    def memory_id(self, given: str) -> str:
        """A memory by its number in the last reply or list, or by its id."""
        if not given:
            raise BadInput("Which memory?", hint="Give a number of the last reply or list, such as `/why 1`, or an id.")
        if not given.isdigit() or len(given) > LONGEST_NUMBER:
            return given
        if not 1 <= int(given) <= len(self.shown):
            had = _count(len(self.shown), "note") if self.shown else "no notes"
            raise BadInput(f"The last reply had {had}.", hint="`/mind` and `/recall …` list others by number.")
        return self.shown[int(given) - 1]


async def _show_help(talk: ChatTerminal, _rest: str) -> None:
    talk.print_rows(("command", "does"), [(f"/{name}", about) for name, (about, _) in COMMANDS.items()], nothing="")


async def _show_why_of_memory(talk: ChatTerminal, rest: str) -> None:
    found = await talk.memory.why(talk.memory_id(rest))
    rows: list[tuple[Any, ...]] = [("claim", found.claim, found.origin, found.memory.created_at.date())]
    rows += [("said", each.wording, each.origin, each.day) for each in found.said]
    rows += [("from", each.content, each.origin, each.created_at.date()) for each in found.derives_from]
    rows += [("replaced", each.content, each.origin, each.created_at.date()) for each in found.supersedes]
    talk.print_rows(("", "what", "who", "day"), rows, nothing="Nothing is known of it.")


async def _recall(talk: ChatTerminal, rest: str) -> None:
    from festinger.text.hygiene import is_question

    found = await talk.memory.recall(rest)
    notes = [item for item in found.items if item.type == "memory"]
    talk.shown = tuple(str(item.id) for item in notes)
    rows: list[tuple[Any, ...]] = [
        (number, item.origin, item.text[:SHOWN_CHARS]) for number, item in enumerate(notes, start=1)
    ]
    known = {item.text.casefold() for item in notes}
    # What was said stands below without a number: it is no note that could be explained or forgotten alone.
    rows += [
        ("", f"{item.origin}, said", item.text[:SHOWN_CHARS])
        for item in found.items
        if item not in notes and not is_question(item.text) and item.text.casefold() not in known
    ]
    talk.print_rows(("", "who", "text"), rows, nothing=found.sentence)


async def _forget(talk: ChatTerminal, rest: str) -> None:
    named = talk.memory_id(rest)
    plan = await talk.memory.forget(named, reason="asked for in a chat", dry_run=True)
    found = [await talk.memory.get(each) for each in (*plan.erased, *plan.derived)]
    if not found:
        raise NotFound("Nothing is left of that memory.")
    lines = [f"- {each.content[:SHOWN_CHARS]}" for each in found]
    count = _count(len(lines), "memory", "memories")
    talk.context.confirm(
        "forget", "\n".join([f"{count} will be erased for good, with the words that said so:", *lines])
    )
    await talk.memory.forget(named, reason="asked for in a chat")
    talk.context.say("Forgotten.")


async def _show_open_proposals(talk: ChatTerminal, _rest: str) -> None:
    rows = [(str(each.id)[:SHORT_ID], each.what[:SHOWN_CHARS]) for each in await talk.memory.inbox()]
    talk.print_rows(("id", "proposal"), rows, nothing="Nothing waits for you.")


async def _conflicts(talk: ChatTerminal, _rest: str) -> None:
    from festinger.services.conflicts import conflict_json
    from festinger.world.conflicts import load_conflicts

    app, space = talk.app, talk.memory.space
    waiting = await load_conflicts(app.world.deps, space, statuses=["pending"])
    shown = [await conflict_json(app, space, each) for each in waiting]
    rows = [(str(each["id"])[:SHORT_ID], *(_side(each[side]) for side in ("existing", "incoming"))) for each in shown]
    talk.print_rows(("id", "one says", "the other says"), rows, nothing="Nothing is in conflict.")


async def _show_model_costs(talk: ChatTerminal, _rest: str) -> None:
    from festinger.store.repositories.models import last_day_costs, lifetime_costs, session_costs

    store, space = talk.app.store, talk.memory.space
    spans = {
        "this chat": await session_costs(store, space=space, session=talk.mind.scope.session),
        "24 h": await last_day_costs(store, space=space, now=talk.app.tools.clock()),
        "ever": await lifetime_costs(store, space=space),
    }
    rows = [
        (span, purpose, spent.calls, spent.tokens_in, spent.tokens_out, f"{spent.cost_usd:.4f}", spent.unpriced)
        for span, costs in spans.items()
        for purpose, spent in costs.by_purpose.items()
    ]
    headers = ("span", "for", "calls", "tokens in", "tokens out", "usd", "unpriced")
    talk.print_rows(headers, rows, nothing="No model was asked.")


async def _show_topic_brief(talk: ChatTerminal, rest: str) -> None:
    found = await talk.memory.brief(rest or None)
    talk.shown = tuple(each.id for each in found.notes)
    rows: list[tuple[Any, ...]] = [
        (number, each.section, each.day, each.origin, each.text[:SHOWN_CHARS])
        for number, each in enumerate(found.notes, start=1)
    ]
    if not rest:
        from festinger.agent.reminders import list_reminders

        waiting = await list_reminders(talk.mind.deps.memory, talk.mind.scope)
        rows += [("", "reminder", each.when, each.origin, each.text[:SHOWN_CHARS]) for each in waiting]
    talk.print_rows(("", "about", "day", "who", "text"), rows, nothing="Nothing is known yet.")


async def _list_or_change_goals(talk: ChatTerminal, rest: str) -> None:
    """List the open goals, or add, reach or drop one."""
    from festinger.agent.goals import GoalState, add_goal, list_open, settle_goal

    deps, scope = talk.mind.deps.memory, talk.mind.scope
    goals = await list_open(deps, scope)
    do, _, what = rest.partition(" ")
    settled = {"done": GoalState.ACHIEVED, "drop": GoalState.DROPPED}.get(do)
    if do == "add":
        await add_goal(deps, scope, what, by=scope.session)
    elif settled is not None and what.isdigit() and 1 <= int(what) <= len(goals):
        await settle_goal(deps, scope, goals[int(what) - 1].id, settled, by=scope.session)
    elif do:
        raise BadInput("Which goal?", hint="`/goals` lists them; `/goals done 1`, `/goals drop 1`, `/goals add …`.")
    left = await list_open(deps, scope) if do else goals
    rows = [(number, each.created_at.date(), each.content[:SHOWN_CHARS]) for number, each in enumerate(left, start=1)]
    talk.print_rows(("", "since", "goal"), rows, nothing="No goal is open. `/goals add …` sets one.")


async def _list_or_change_reminders(talk: ChatTerminal, rest: str) -> None:
    """List the reminders that wait, or set or cancel one."""
    from festinger.agent.reminders import add_reminder, cancel_reminder, list_reminders
    from festinger.ids import Origin

    deps, scope = talk.mind.deps.memory, talk.mind.scope
    waiting = await list_reminders(deps, scope)
    do, _, what = rest.partition(" ")
    if do == "cancel":
        if not what.isdigit() or not 1 <= int(what) <= len(waiting):
            raise BadInput("Which reminder?", hint="`/remind` lists them; `/remind cancel 1` cancels one.")
        await cancel_reminder(deps, scope, waiting[int(what) - 1].id)
    elif rest:
        await add_reminder(deps, scope, rest, origin=Origin.PERSON)
    left = await list_reminders(deps, scope) if rest else waiting
    rows = [(number, each.when, each.text[:SHOWN_CHARS]) for number, each in enumerate(left, start=1)]
    talk.print_rows(("", "due", "reminder"), rows, nothing="Nothing waits. `/remind tomorrow 9:00 call Ada` sets one.")


async def _show_idle_thoughts(talk: ChatTerminal, _rest: str) -> None:
    """List what the agent thought while nobody talked with it."""
    from festinger.agent.idle import MOST_ALONE, load_thoughts

    found = await load_thoughts(talk.app.memory.deps, talk.mind.scope, limit=MOST_ALONE)
    rows = [(f"{each['at'].astimezone():%d %b %H:%M}", each["channel"], each["content"]) for each in found]
    talk.print_rows(("when", "about", "thought"), rows, nothing="It had no thoughts of its own yet.")


async def _show_milestones(talk: ChatTerminal, rest: str) -> None:
    """List the milestones, or verify one by its number."""
    from festinger.agent.readiness import MILESTONES, load_milestones, verify_milestone

    store, scope, (do, _, what) = talk.app.store, talk.mind.scope, rest.partition(" ")
    if do and (do not in ("verify", "doubt") or not what.isdigit() or not 1 <= int(what) <= len(MILESTONES)):
        raise BadInput("Which milestone?", hint="`/readiness` lists them; `/readiness verify 1`, `/readiness doubt 1`.")
    if do:
        name, clock = list(MILESTONES)[int(what) - 1], talk.app.tools.clock
        await verify_milestone(store, scope, name, by=scope.session, clock=clock, verified=do == "verify")
    rows = [
        (number, each["what"], str(each["reached_at"] or "Not yet.")[:10], str(each["verified_at"] or "")[:10])
        for number, each in enumerate(await load_milestones(store, scope), start=1)
    ]
    talk.print_rows(("", "milestone", "reached", "verified"), rows, nothing="")


COMMANDS: dict[str, tuple[str, Callable[[ChatTerminal, str], Awaitable[None]]]] = {
    "why": ("On what a note of the last reply or list rests: /why 1.", _show_why_of_memory),
    "recall": ("What comes to mind: /recall the build server.", _recall),
    "mind": ("What is known, of a topic or at all: /mind Lisbon.", _show_topic_brief),
    "goals": ("What you want to reach: /goals, /goals add …, /goals done 1, /goals drop 1.", _list_or_change_goals),
    "remind": ("What comes up: /remind, /remind tomorrow 9:00 call Ada, /remind cancel 1.", _list_or_change_reminders),
    "forget": ("Erase a note of the last reply or list: /forget 1.", _forget),
    "conflicts": ("What cannot both be true.", _conflicts),
    "inbox": ("What waits for you.", _show_open_proposals),
    "cost": ("What the models cost.", _show_model_costs),
    "thoughts": ("What the agent thought while nobody talked with it.", _show_idle_thoughts),
    "readiness": (
        "How far the agent has come: /readiness; /readiness verify 1 confirms a milestone.",
        _show_milestones,
    ),
    "help": ("This list; /quit ends the chat.", _show_help),
}
"""What can be asked without a model."""


async def _build_welcome_lines(talk: ChatTerminal) -> list[str]:
    """What is due, who it is, what it knows and thought, what was left open, and which model answers; a line for each."""
    from festinger.agent.cycle import count_known_memories
    from festinger.agent.goals import list_open
    from festinger.agent.reminders import deliver_due_reminders
    from festinger.llm.model import ModelPurpose
    from festinger.memory.episodes.store import load_page_of_episodes
    from festinger.services.agent import last_chat_session
    from festinger.world.conflicts import load_conflicts

    app, space, scope = talk.app, talk.memory.space, talk.mind.scope
    model = await talk.mind.deps.model(ModelPurpose.CHAT, scope)
    count = await count_known_memories(app.store, scope, limit=MOST_COUNTED)
    known = f"remembers {_count(count, 'thing')} about you and your work" if count else "knows nothing about you yet"
    before = await last_chat_session(app, scope)
    episodes = (
        await load_page_of_episodes(app.memory.deps, space, agent=scope.agent, session=before, limit=1)
        if before
        else []
    )
    waiting = len(await talk.memory.inbox()), len(await load_conflicts(app.world.deps, space, statuses=["pending"]))
    due = [f"Reminder of {escape_line(str(each))}" for each in await deliver_due_reminders(app.memory.deps, scope)]
    who = f"{scope.agent} {known}. What you write is kept; thoughts are logged."
    lines = [*due, who]
    if episodes and episodes[0].title:
        lines.append(f"Last time: {escape_line(episodes[0].title)}")
    lines += await _format_last_night(talk, since=episodes[0].last_at if episodes else None)
    if thought := await talk.mind.tell_thought():
        lines.append(f"{escape_line(thought)} (/thoughts)")
    if goals := await list_open(app.memory.deps, scope):
        lines.append(f"Open: {escape_line('; '.join(each.content for each in goals)[:SHOWN_CHARS])} (/goals)")
    if any(waiting):
        lines.append(
            f"Waiting for you: {_count(waiting[0], 'proposal')} (/inbox), {_count(waiting[1], 'conflict')} (/conflicts)"
        )
    talk.has_model = model is not None
    lines.append(f"{model.name} answers." if model else f"No model answers, so I speak from memory alone. {SET_MODEL}")
    return lines


async def _print_due_reminders(talk: ChatTerminal) -> None:
    """Tell reminders when they are due while the person is at the prompt; while it talks, its replies tell them."""
    from festinger.agent.reminders import deliver_due_reminders

    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if talk.is_answering:
            continue
        with suppress(FestingerError):  # a store that is away is looked at again
            for due in await deliver_due_reminders(talk.app.memory.deps, talk.mind.scope):
                talk.print_piece(f"Reminder of {due}\n")


async def _format_last_night(talk: ChatTerminal, *, since: "datetime | None") -> list[str]:
    """What the last night did, if nobody talked since."""
    from festinger.services.nights import get_night, list_nights

    space = talk.memory.space
    for night in await list_nights(talk.app, space=space, limit=1):
        if night.finished_at is not None and (since is None or night.finished_at > since):
            told = await get_night(talk.app, space=space, id=night.id)
            return [f"Last night: {escape_line(line)}" for line in told.lines[:NIGHT_LINES]] if told.items else []
    return []


def _side(side: dict[str, Any] | None) -> str:
    return str((side or {}).get("content") or (side or {}).get("parent") or "")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
