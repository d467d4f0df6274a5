"""Builds the lines of the request log.

A line has the session, notes, loop status, how the response ended and the overhead; texts only if a setting
says so.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from festinger.proxy.capture.exchange import MOST_CALLS, SHOWN_CHARS, session_name
from festinger.proxy.context.block import ContextLine
from festinger.proxy.request import RequestContext
from festinger.store.repositories.request_log import LoggedRequest


def begin_log(ctx: RequestContext) -> None:
    """Note the details of a request that is forwarded."""
    session, status = ctx.session, ctx.memory_status
    lines = ctx.block.lines if ctx.block is not None else ()
    ctx.log_details = {
        "how": ctx.match.value,
        "parent_session": session_name(session.parent) if session.parent else None,
        "recollection": status.recollection or None if status else None,
        "notes": [note | {"why": line.why.value} for line in lines for note in _note_payloads(line)],
        "cut": [note for line in ctx.dropped_lines for note in _note_payloads(line)],
        "late": list(ctx.late),
        "recall": ctx.recall or None,
        "tokens": status.tokens if status else 0,
        "blocks": len(session.blocks),
    }
    if ctx.prefix_change is not None:
        ctx.log_details["moved"] = ctx.prefix_change.value


def log_reply(ctx: RequestContext, texts: Sequence[str] = ()) -> None:
    """Note the details of the response."""
    if not ctx.log_details:
        return
    ctx.log_details |= {
        "tokens_read": ctx.reply.tokens_read,
        "tokens_written": ctx.reply.tokens_written,
        "finish": _truncate(ctx.reply.finish),
        "tool_calls": [_truncate(call.name) for call in ctx.reply.calls[:MOST_CALLS]],
        "happened": [{"name": each.name, **each.payload} for each in ctx.events],
    }
    if texts:
        ctx.log_details["words"] = list(texts)


def build_log_line(ctx: RequestContext, *, at: datetime) -> LoggedRequest:
    is_forwarded = bool(ctx.log_details)
    return LoggedRequest(
        id=ctx.request_id,
        at=at,
        agent=ctx.agent,
        session=session_name(ctx.session.id) if is_forwarded else None,
        route=ctx.route.label,
        model=_truncate(ctx.chat.model) if is_forwarded else "",
        status=ctx.status,
        memory=ctx.memory_status.result if ctx.memory_status else "",
        reason=ctx.memory_status.reason if ctx.memory_status else "",
        ended=ctx.ended.value if ctx.ended else None,
        before_ms=round(1000 * ctx.before, 3),
        after_ms=round(1000 * ctx.after, 3),
        details=ctx.log_details | ({"loop": str(ctx.loop_status)} if ctx.loop_status else {}),
    )


def _note_payloads(line: ContextLine) -> list[dict[str, Any]]:
    return [{"kind": each.kind, "id": _truncate(each.id), "version": each.version} for each in line.notes]


def _truncate(text: str) -> str:
    """Truncate a text from outside and drop characters that databases reject."""
    return text[:SHOWN_CHARS].replace("\x00", "")
