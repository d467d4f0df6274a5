"""Is this request target one that every server reads the same way?

A path that two servers may read differently is how a request slips past a guard, so such targets are
refused before anything is forwarded. What passes is forwarded byte for byte. Queries are left alone: no
guard looks at them.
"""

import re
from urllib.parse import unquote_to_bytes

_DOUBTFUL = re.compile(
    rb"//"
    rb"|\\"
    rb"|%2f|%5c"  # an encoded slash is one segment to some servers and two to others
    rb"|%0a|%0d|%00"
    rb"|(?:/|\A)(?:\.|%2e){1,2}(?:/|\Z)",
    re.IGNORECASE,
)
_ALLOWED = re.compile(rb"[\x21-\x7e]*")


def path_and_query(target: bytes) -> tuple[bytes, bytes]:
    """The path, and the query with its question mark."""
    path, mark, query = target.partition(b"?")
    return path, mark + query


def doubt_about(target: bytes) -> str | None:
    """Why a target cannot be forwarded, if it cannot."""
    if not target.startswith(b"/"):
        return "The request target must be a path."
    if _ALLOWED.fullmatch(target) is None or b"#" in target:
        return "The request target holds characters that no target may hold."
    if _DOUBTFUL.search(path_and_query(target)[0]) is not None:
        return "The path holds `..`, `//` or an encoded slash or line break."
    return None


def decoded(path: bytes) -> str:
    """The path as a server reads it."""
    return unquote_to_bytes(path).decode("utf-8", "replace") if b"%" in path else path.decode("ascii")
