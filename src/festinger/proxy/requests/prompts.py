"""What stands in a request that is one prompt, plain or a conversation written as one text?"""

from typing import Any

from festinger.ids import Origin
from festinger.proxy.loops.message import Role
from festinger.proxy.requests.cleaning import Cleaning, cleaned
from festinger.proxy.requests.flattened import Section, sections
from festinger.proxy.requests.spoken import as_text, spoken
from festinger.proxy.requests.turn import Saying, Turn


def turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    """The turns of `/api/generate`. With `raw` or `suffix` an editor completes a file: nobody speaks."""
    found = _turns(tree, rules)
    return _as_document(found) if tree.get("raw") or tree.get("suffix") else found


def completion_turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    """The turns of `/v1/completions`, which goes on with a text and holds no message of anybody."""
    return _as_document(_turns(tree, rules))


def _as_document(found: tuple[Turn, ...] | None) -> tuple[Turn, ...] | None:
    """The same turns without a person's words, so that nothing in them is learned as a person's statement."""
    if found is None:
        return None
    return tuple(turn._replace(sayings=tuple(map(_lowered, turn.sayings))) for turn in found)


def _lowered(saying: Saying) -> Saying:
    return saying._replace(origin=Origin.DOCUMENT) if saying.origin is Origin.PERSON else saying


def _turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
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
