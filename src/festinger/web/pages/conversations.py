"""The pages of conversations: what was said, which notes each reply had, and what was learned from it."""

from typing import Any

from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.ids import SessionId, read_id
from festinger.memory.episodes.episode import Episode, EpisodeState, parse_state
from festinger.memory.episodes.store import close_episode, get_episode, load_first_words, page_episodes
from festinger.memory.erasure.selector import Selector
from festinger.outcomes.report import observe_recall
from festinger.runtime.erasure import build_erasure
from festinger.services.conversations import load_conversation
from festinger.web.api.outcomes import reporter_of
from festinger.web.auth import AccessScope
from festinger.web.pages.memories import FORGET_WORD, check_word
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, can_see, parse_cursor, viewer_of
from festinger.world.model import NoteOutcome

ROUTES = RouteTable()
CONVERSATIONS = "/admin/conversations"
SHOWN = 30
OUTCOMES = {
    NoteOutcome.ACTED: "It helped",
    NoteOutcome.USED: "It was used",
    NoteOutcome.DISMISSED: "It did not matter",
    NoteOutcome.CONTRADICTED: "It was wrong",
}


@add_page(ROUTES, CONVERSATIONS, "conversations.html")
async def conversations_page(call: AdminCall) -> dict[str, Any]:
    """Conversations, the newest first."""
    asked = call.request.query_params
    state, session = asked.get("state", ""), asked.get("session", "")
    found = await page_episodes(
        call.app.memory.deps,
        call.space,
        agent=viewer_of(call),
        session=session or None,
        state=parse_state(state) if state else None,
        before=parse_cursor(call.request),
        limit=SHOWN,
    )
    words = await load_first_words(call.app.memory.deps, call.space, [each.id for each in found])
    return {
        "items": [each.as_json() | {"first_words": words.get(each.id, "")} for each in found],
        "next": str(found[-1].seq) if len(found) == SHOWN else None,
        "filters": {"state": state, "session": session},
        "states": [each.value for each in EpisodeState],
        "said": asked.get("said", "")[:200],
    }


@add_page(ROUTES, f"{CONVERSATIONS}/{{id}}", "conversation.html")
async def conversation_page(call: AdminCall) -> dict[str, Any]:
    """One conversation, with what the model saw before each reply."""
    await _find(call)
    found = await load_conversation(call.app, call.space, call.id)
    return {
        "item": found.episode.as_json(),
        "turns": found.turns,
        "learned": [each.as_json() for each in found.learned if can_see(call, each)],
        "outcomes": [(each.value, label) for each, label in OUTCOMES.items()],
        "forget_word": FORGET_WORD,
        "said": call.request.query_params.get("said", "")[:200],
    }


@ROUTES.add("POST", f"{CONVERSATIONS}/{{id}}/close", AccessScope.WRITE, page=True)
async def close_form(call: AdminCall) -> Response:
    """End a conversation, from the page; it is summed up afterwards."""
    await _find(call)
    await close_episode(call.app.memory.deps, call.space, call.id)
    return redirect_to(call, f"{CONVERSATIONS}/{call.id}", said="Closed. It is summed up in the background.")


@ROUTES.add("POST", f"{CONVERSATIONS}/{{id}}/outcome", AccessScope.REVIEW, page=True)
async def outcome_form(call: AdminCall) -> Response:
    """Say what became of a note, from the page."""
    form, episode = await call.form(), await _find(call)
    if form.get("outcome") not in tuple(OUTCOMES):
        raise BadInput("No outcome was chosen.")
    await observe_recall(
        call.app.outcomes.deps,
        reporter_of(call, session=episode.session_id),
        {form.get("memory", ""): form["outcome"]},
        recall=read_id(form["recall"]) if form.get("recall") else None,
    )
    return redirect_to(call, f"{CONVERSATIONS}/{call.id}", said="Noted. Another report takes its place.")


@ROUTES.add("POST", f"{CONVERSATIONS}/{{id}}/forget", AccessScope.REVIEW, page=True)
async def forget_conversation_form(call: AdminCall) -> Response:
    """Forget what a conversation taught, from the page, after the typed word."""
    check_word(await call.form())
    episode = await _find(call)
    selector = Selector(session=SessionId(episode.session_id), agent=episode.agent_id)
    done = await build_erasure(call.app).forget(call.space, selector, reason="asked in the console", by=call.by)
    said = f"Forgotten for good: {len(done.erased)} memories, with the sentences they came from."
    return redirect_to(call, CONVERSATIONS, said=said)


async def _find(call: AdminCall) -> Episode:
    """The named conversation; that of another agent counts as not found."""
    found = await get_episode(call.app.memory.deps, call.space, call.id)
    if viewer_of(call) not in (None, found.agent_id):
        raise NotFound(f"There is no conversation `{call.id}`.")
    return found
