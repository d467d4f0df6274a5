"""Is a body nested deeper than anybody means?"""

from typing import Any

DEEPEST = 200


def is_too_deep(body: bytes, tree: Any, *, deepest: int = DEEPEST) -> bool:
    # Each level needs an opening bracket, so a body with few of them needs no look at its tree.
    if body.count(b"{") + body.count(b"[") <= deepest:
        return False
    level = [tree]
    for _ in range(deepest):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True
