"""Is a body nested deeper than anybody means?"""

from typing import Any

DEEPEST = 200

_NESTED = frozenset({dict, list})


def is_too_deep(tree: Any, *, deepest: int = DEEPEST) -> bool:
    """Looks at the tree level by level, so that its depth costs no stack."""
    level = [tree]
    for _ in range(deepest):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            # Most values are texts, which one look at their type sorts out.
            if type(inner) in _NESTED
        ]
        if not level:
            return False
    return True
