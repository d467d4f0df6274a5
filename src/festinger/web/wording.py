"""How do values look to a person?

Times to the second, and other people's text so that nothing in it hides: a mark that turns the direction of a line,
or a character of no width, is shown by its number. Escaping for HTML is the templates' matter.
"""

import re
from datetime import datetime

from festinger.clock import iso

_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def kept_visible(text: object) -> str:
    """A text with everything in it that a page would hide or obey shown by its number."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def moment(at: datetime | str | None) -> str:
    """A time as people read it, to the second; nothing where there is none."""
    if at is None:
        return ""
    read = datetime.fromisoformat(at) if isinstance(at, str) else at
    return iso(read.replace(microsecond=0)).replace("T", " ").replace("Z", " UTC")
