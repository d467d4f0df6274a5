"""What stands in a request that is one prompt, plain or a conversation written as one text?"""

from typing import Any

from festinger.proxy.loops.message import Role
from festinger.proxy.requests.cleaning import Cleaning, cleaned
from festinger.proxy.requests.flattened import Section, sections
from festinger.proxy.requests.spoken import as_text, spoken
from festinger.proxy.requests.turn import Turn


def turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    prompt, system = tree.get("prompt", ""), tree.get("system", "")
    if not isinstance(prompt, str | None) or not isinstance(system, str | None):
        return None
    found = []
    if system:
        found.append(spoken(Role.SYSTEM, cleaned(system, rules), path=("system",)))
    if prompt and (cut := sections(prompt)):
        found.extend(_turn(prompt, section, rules) for section in cut)
    elif prompt:
        others = as_text(images).encode() if (images := tree.get("images")) else b""
        found.append(spoken(Role.USER, cleaned(prompt, rules), path=("prompt",), others=others))
    return tuple(found)


def _turn(prompt: str, section: Section, rules: Cleaning) -> Turn:
    # The empty line before the next header belongs to nobody.
    stable = cleaned(section.text_in(prompt).rstrip(), rules)
    return spoken(section.role, stable, path=("prompt",), span=section.span)
