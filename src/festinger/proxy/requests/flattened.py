"""Is a prompt a conversation that was written as one text, and where do its parts stand?

Agent Zero's provider writes `### System:`, `### User:` and `### Assistant:` before each message. A prompt that
begins so is cut at such lines after an empty line. The sections, one after the other, are the prompt: nothing is
ever put together anew. A text that holds such a line itself shifts a cut, never a character.
"""

import re
from dataclasses import dataclass

from festinger.proxy.loops.message import Role
from festinger.proxy.requests.turn import Span

MOST_SECTIONS = 2000
"""A prompt with more than these is no conversation, but a text about them."""

_HEADER = re.compile(r"### (System|User|Assistant|Tool):\n")
_NEXT = re.compile(r"\n\n(?=### (?:System|User|Assistant|Tool):\n)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    role: Role
    span: Span

    def text_in(self, prompt: str) -> str:
        return prompt[self.span.text : self.span.end]


def sections(prompt: str) -> tuple[Section, ...]:
    """The sections of a flattened prompt; none if it is a plain one."""
    if _HEADER.match(prompt) is None or prompt.count("\n\n### ") >= MOST_SECTIONS:
        return ()
    starts = [0, *(found.end() for found in _NEXT.finditer(prompt))]
    ends = [*starts[1:], len(prompt)]
    return tuple(_section(prompt, start, end) for start, end in zip(starts, ends, strict=True))


def _section(prompt: str, start: int, end: int) -> Section:
    header = _HEADER.match(prompt, start)
    assert header is not None  # every start was found by this very pattern
    return Section(role=Role(header[1].lower()), span=Span(start=start, text=header.end(), end=end))
