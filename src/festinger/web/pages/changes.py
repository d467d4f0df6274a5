"""The page at `/admin/changes`: everything that was done to memories, newest first, each with its undo.

Pages that change memories come back with the id of the change; what was done is told there in the same words.
"""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from festinger.errors import NotFound
from festinger.ids import read_id
from festinger.memory.changes import Change, MemoryChangeOp, find_change, list_changes, load_existing_memories
from festinger.memory.undo import undo
from festinger.web.auth import AccessScope
from festinger.web.render import add_page, safe_redirect_path
from festinger.web.route import (
    AdminCall,
    RouteTable,
    can_see,
    format_time_cursor,
    parse_limit,
    parse_time_cursor,
    viewer_of,
)

ROUTES = RouteTable()
CHANGES = "/admin/changes"

WORDS = {
    MemoryChangeOp.CONFIRM: "Confirmed",
    MemoryChangeOp.MERGE: "Merged with another that says the same",
    MemoryChangeOp.SPLIT: "Split into parts",
    MemoryChangeOp.SUPERSEDE: "Replaced",
    MemoryChangeOp.RESTORE: "Restored",
    MemoryChangeOp.ARCHIVE: "Archived",
    MemoryChangeOp.EDIT: "Reworded",
    MemoryChangeOp.ANNOTATE: "Marked",
    MemoryChangeOp.QUARANTINE: "Put into quarantine",
    MemoryChangeOp.RELEASE: "Let out of quarantine",
    MemoryChangeOp.WEIGHT: "Held more or less deeply",
    MemoryChangeOp.REPAIR: "Withdrawn with its source",
}


def diff_words(old: str, new: str) -> list[tuple[str, str]]:
    """Compare two texts word by word: parts that are the same, removed or added, in order."""
    before, after = old.split(), new.split()
    parts: list[tuple[str, str]] = []
    for _, start, end, other_start, other_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if before[start:end] == after[other_start:other_end]:
            parts.append(("same", " ".join(before[start:end]) + " "))
            continue
        parts += [("removed", " ".join(before[start:end])), ("same", " ")] if end > start else []
        parts += [("added", " ".join(after[other_start:other_end])), ("same", " ")] if other_end > other_start else []
    return parts


async def describe_changes(call: AdminCall, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Changes in words, with the memories they are about and, where the words changed, the difference."""
    texts = await load_visible_texts(call, {str(id_) for change in changes for id_ in change.memory_ids})
    return [_describe(change, texts) for change in changes]


async def load_visible_texts(call: AdminCall, ids: Iterable[str]) -> dict[str, str]:
    """The words of those memories that this caller may see."""
    async with call.app.store.transaction() as transaction:
        found = await load_existing_memories(transaction, call.space, map(UUID, ids))
    return {str(id_): each.content for id_, each in found.items() if can_see(call, each)}


def _describe(change: Change, texts: dict[str, str]) -> dict[str, Any]:
    subject = str(change.after.get("new") or change.memory_ids[0])
    old, new = "", texts.get(subject, "")
    words = WORDS.get(change.op, change.op.value.capitalize())
    if change.op is MemoryChangeOp.SUPERSEDE:
        old = texts.get(str(next(iter(change.after.get("old", ())), "")), "")
    elif change.op is MemoryChangeOp.EDIT and subject in texts:
        old, new = (side["memories"].get(subject, {}).get("content", "") for side in (change.before, change.after))
    return {
        "change": str(change.id),
        "op": change.op.value,
        "says": f"{words}." if change.undone_at is None else f"{words}, and undone.",
        "at": change.at,
        "by": change.by,
        "reason": change.reason,
        "memory": subject,
        "text": texts.get(subject),
        "memories": len(change.memory_ids),
        "diff": diff_words(old, new) if old and new and old != new else [],
        "undone_at": change.undone_at,
        "undone_by": change.undone_by,
    }


async def load_just_made_change(call: AdminCall) -> dict[str, Any] | None:
    """The change that a form just made, so that it can be undone at once; or what it said without a change."""
    asked = call.request.query_params
    if not (done := asked.get("done")):
        return (
            {"says": asked["said"][:200], "change": None, "diff": [], "undone_at": None} if asked.get("said") else None
        )
    async with call.app.store.transaction() as transaction:
        change = await find_change(transaction, call.space, read_id(done))
    (described,) = await describe_changes(call, [change])
    return described


@add_page(ROUTES, CHANGES, "changes.html")
async def load_changes_page(call: AdminCall) -> dict[str, Any]:
    asked, limit = call.request.query_params, parse_limit(call.request)
    found = await list_changes(
        call.app.memory.deps,
        call.space,
        agent=viewer_of(call),
        before=parse_time_cursor(asked.get("cursor")),
        limit=limit,
    )
    return {
        "items": await describe_changes(call, found),
        "next": format_time_cursor(found[-1].at, found[-1].id) if len(found) == limit else None,
        "done": await load_just_made_change(call),
    }


@ROUTES.add("POST", f"{CHANGES}/{{id}}/undo", AccessScope.REVIEW, page=True)
async def submit_undo(call: AdminCall) -> Response:
    form = await call.form()
    done = await undo(call.app.memory.deps, call.space, call.id, by=call.by)
    if not done.memories:
        raise NotFound("What this was about is forgotten.")
    path = safe_redirect_path(form.get("next", CHANGES))
    return RedirectResponse(f"{path}{'&' if '?' in path else '?'}done={done.change.id}", 303)
