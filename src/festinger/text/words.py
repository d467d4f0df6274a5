"""Which English words stand in a list of ours?

The lists are plain text files in `lists/`: words between blanks, and comment lines that say what a list is for.
They hold what any grammar would, and no word because it stands in a test. How common a word is, and what a list
is used for, is left to others.
"""

from functools import cache
from pathlib import Path

LISTS = Path(__file__).parent / "lists"


@cache
def words(name: str) -> frozenset[str]:
    """The words of one list."""
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


FUNCTION_WORDS = words("function_words")
