"""Is a body nested deeper than anybody means?"""

from typing import Any

DEEPEST = 200


def is_too_deep(tree: Any, *, deepest: int = DEEPEST) -> bool:
    """Looks at the tree level by level, so that its depth costs no stack."""
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
