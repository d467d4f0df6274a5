"""What is said once a phrase is taken off that only leads up to it?

`By the way, the shop is closed` says that the shop is closed. Such phrases come from a list and end with a comma or a
colon. What the rest says is left to others.
"""

import re
from functools import cache

from festinger.text.words import LISTS


def without_lead_in(text: str) -> str:
    """The statement alone; a text that is nothing but a lead-in stays as it is."""
    rest = _lead_in().sub("", text)
    return rest if rest.strip() else text


@cache
def _lead_in() -> re.Pattern[str]:
    lines = (LISTS / "lead_ins.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    phrases = "|".join(
        re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(listed, key=len, reverse=True)
    )
    return re.compile(rf"^\s*(?:(?:and|so|but|oh|well)\s+)?(?:(?:{phrases})\s*[,:]\s*)+", re.IGNORECASE)
