"""Decides whether a tool may be called: by what it changes, who asked for it, and how sure the agent is.

Only a person's own words ask for something; what a tool or a document says never does. What cannot be undone needs a yes
of the person to exactly this call, and so does anything outside that nobody asked for, unless the agent is trusted.
"""

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256

from festinger.agent.goals import shares_half_the_words
from festinger.agent.tools import ToolEffect
from festinger.llm.model import ModelToolCall

INNER_ASKED, INNER_OWN = 0.3, 0.5
OUTSIDE_ASKED, OUTSIDE_OWN = 0.5, 0.8
"""How sure the agent must be, where a person asked and where it is its own idea."""
TRUSTED = 3
"""Trust level from which it may do what can be undone without asking."""
SHORT_WORDS = 8
"""Longer arguments are what the model words itself; names, places and amounts are short."""
LAST_SAID = 3
"""Messages of the person among which a wish is looked for."""
SHOWN_CHARS = 2_000
ASKED, AGREED, OWN = "asked", "agreed", "own"
"""How a cycle names a call by its key: the person is asked about it, agreed to it, or it was done of its own accord."""
UNSURE = "Refused: you are not sure enough of this. Ask the person."
NOT_ASKED = (
    "Refused for now: the person is shown this call and asked. Tell them why; call it again, just so, after a yes."
)

_YES = re.compile(
    r"\s*(?:yes|yep|yeah|sure|ok(?:ay)?|go ahead|do (?:it|that)|please do)\b(?!.{0,40}\b(?:not|don't|but)\b)",
    re.IGNORECASE,
)


class ActionVerdict(StrEnum):
    GO = "go"
    UNSURE = "unsure"
    ASK = "ask"


def judge_action(effect: ToolEffect, *, asked: bool, confidence: float, trust: int) -> ActionVerdict:
    """Whether a call goes ahead, is refused, or needs a yes of the person."""
    if effect is ToolEffect.NOTHING:
        return ActionVerdict.GO
    if effect is ToolEffect.INNER:
        return ActionVerdict.GO if confidence >= (INNER_ASKED if asked else INNER_OWN) else ActionVerdict.UNSURE
    if effect is ToolEffect.OUTSIDE:
        is_sure = confidence >= (OUTSIDE_ASKED if asked else OUTSIDE_OWN)
        return ActionVerdict.GO if is_sure and (asked or trust >= TRUSTED) else ActionVerdict.ASK
    return ActionVerdict.ASK


def is_asked_for(call: ModelToolCall, said: Sequence[str]) -> bool:
    """Whether the person asked for a call: the tool's name and every short argument stand in their last words."""
    words = " ".join(said[-LAST_SAID:])
    short = [str(each) for each in call.arguments.values() if len(str(each).split()) <= SHORT_WORDS]
    return all(shares_half_the_words(each, words) for each in (call.name.replace("_", " "), *short))


def is_yes(message: str) -> bool:
    """Whether a message agrees with what was asked before."""
    return _YES.match(message) is not None


def call_key(call: ModelToolCall) -> str:
    """Identifies a call with its arguments, without showing them."""
    given = json.dumps(dict(call.arguments), sort_keys=True, default=str)
    return f"{call.name} {sha256(given.encode()).hexdigest()[:16]}"


def format_permission_request(call: ModelToolCall) -> str:
    """A call as the person reads it; these are our words, not the model's."""
    given = ", ".join(f"{name}: {value}" for name, value in call.arguments.items())
    hidden = len(given) - SHOWN_CHARS
    more = f" … and {hidden} more characters, not shown" if hidden > 0 else ""
    return f"I want to call `{call.name}` ({given[:SHOWN_CHARS]}{more}). Say yes, and I do it."


def asked_call_keys(calls: Sequence[str]) -> list[str]:
    """The keys of the calls that a cycle asked about."""
    return [each.removeprefix(f"{ASKED} ") for each in calls if each.startswith(f"{ASKED} ")]
