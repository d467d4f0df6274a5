"""Finds a person's request to forget something, in plain words.

Such a message states nothing: learning it would keep the very words that are to be erased.
"""

import re

_LEAD = (
    r"(?:(?:please|ok(?:ay)?|actually|hey|just|now)[\s,]+|(?:can|could|would|will)\s+you\s+"
    r"|i(?:'d|\s+would)?\s+(?:like|want|need)\s+you\s+to\s+)*"
)
_KNOWN = r"(?:that\s+)?(?:i(?:'ve)?\s+(?:just\s+)?(?:said|told\s+you)|you\s+(?:know|remember|have\s+learned))"
_REQUEST = re.compile(
    rf"\s*{_LEAD}(?:"
    r"forget\s+(?:(?:that|the\s+fact\s+that|about)\s+|(?=(?:my|our)\s)"
    rf"|(?:everything|anything|all|whatever|what)\s+(?:{_KNOWN}\s*)?(?:(?:about|regarding)\s+|$))(?P<forget>.*)"
    rf"|(?:erase|delete|remove|wipe)\s+(?:(?:everything|all|what)\s+{_KNOWN}\s+about\s+(?P<known>.+)"
    r"|(?P<stored>.+?)\s+from\s+(?:your\s+)?memory)"
    r")",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"[\s,.;!–—-]{1,4}(?:please|thanks|thank\s+you|(?:it|that)(?:'s|\s+is|\s+was)\s+(?:too\s+)?(?:private|personal|secret|wrong))$",
    re.IGNORECASE,
)
_POINTING = frozenset({"it", "that", "this", "them", "him", "her"})


def find_forget_topic(message: str) -> str | None:
    """What a person asks to forget; empty for what they said last, none where they ask for no such thing.

    A message that goes on after the request ("forget about 5433, it is 5434 now") says more than that.
    """
    said = _ENDING.sub("", message.strip().rstrip(".!? "))
    found = _REQUEST.fullmatch(said)
    if found is None or re.search(r"[,;:.!?]\s|\n", said[found.start(found.lastgroup or 0) :]):
        return None
    topic = next(filter(None, found.groupdict().values()), "")
    return None if topic.casefold() in _POINTING else topic
