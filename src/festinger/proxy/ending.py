"""Did an answer end as its protocol says, or how else?

An answer is whole when its end mark came: `done`, `[DONE]`, `message_stop`, or the end of a JSON document.
What only stops has ended abruptly. An error that comes after the head of a good answer is an error. A
client that leaves has its reasons: agents close as soon as a tool call can be read. An answer that went round in
circles was cut by us.
"""

from enum import StrEnum

from festinger.proxy.framing import DONE, Frame


class Ended(StrEnum):
    WHOLE = "whole"
    ABRUPT = "abrupt"
    ERROR = "error"
    CLIENT = "client"
    CUT = "cut"


WHOLE_EVENTS = frozenset({"message_stop", "response.completed", "response.incomplete"})
ERROR_EVENTS = frozenset({"error", "response.failed"})


def mark_in(frame: Frame, *, streamed: bool) -> Ended | None:
    """What this frame says of the end, if anything. A document that is not streamed ends with itself."""
    data = frame.data
    if data == DONE:
        return Ended.WHOLE
    if not isinstance(data, dict):
        return None if streamed else Ended.WHOLE
    event = frame.event or data.get("type")
    if data.get("error") or (isinstance(event, str) and event in ERROR_EVENTS):
        return Ended.ERROR
    if not streamed or data.get("done") is True or (isinstance(event, str) and event in WHOLE_EVENTS):
        return Ended.WHOLE
    return None
