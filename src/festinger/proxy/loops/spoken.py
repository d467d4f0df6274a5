"""Does an agent speak its tool calls as JSON in plain text?

Agent Zero and its kin answer with one object that holds thoughts, `tool_name` and `tool_args`. Thoughts differ
each time; what is done is the tool and its arguments.
"""

import re
from typing import Any

import orjson

from festinger.proxy.loops.message import Call

LONGEST = 200_000

_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


def spoken_call(text: str) -> Call | None:
    """The call that a reply consists of, if it is one."""
    found = spoken_object(text)
    if found is None:
        return None
    return Call(name=found["tool_name"], arguments=orjson.dumps(found.get("tool_args", {})).decode())


def spoken_object(text: str) -> dict[str, Any] | None:
    if '"tool_name"' not in text or len(text) > LONGEST:
        return None
    fenced = _FENCE.match(text)
    bare = fenced.group(1) if fenced else text
    start, end = bare.find("{"), bare.rfind("}")
    try:
        found = orjson.loads(bare[start : end + 1])
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("tool_name"), str) else None
