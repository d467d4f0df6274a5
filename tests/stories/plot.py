"""The one plot that every front end plays: a fact is said, asked for, contradicted, and decided over night."""

from collections.abc import Awaitable, Callable

from tests.stories.stage import Stage

Ask = Callable[[str], Awaitable[object]]
"""A new conversation of a front end that begins with this text."""

FACT = "gnommoweb is a website."
CONTRADICTION = "gnommoweb is a wiki."

KNOWN = "gnommoweb: [type] website"
PENDING = "gnommoweb: [type?] website — conflict pending\nwiki: [type] website"
DECIDED = "gnommoweb: [type] wiki"


async def played(at: Stage, ask: Ask) -> list[str]:
    """Play it; the newest message of the user in each of the four conversations, as the model server got it."""
    await at.post("/iknowthat", {"fact": "wiki -isa website"})
    await ask(FACT)
    said = at.model.heard[-1].newest
    await at.until_known("gnommoweb")
    await ask("Where does gnommoweb stand?")
    asked = at.model.heard[-1].newest
    await ask(CONTRADICTION)
    contradicted = at.model.heard[-1].newest
    await at.until(at.pending)
    # A wiki is a website, so the newer statement is merely the more precise one: a rule decides, no model is asked.
    assert (await at.night())["resolved"] == 1
    await ask("Where does gnommoweb stand now?")
    return [said, asked, contradicted, at.model.heard[-1].newest]


def note_in(text: str) -> str:
    """The lines of the block in a text, without its label; empty if it has none."""
    if "<recollection>" not in text:
        return ""
    block = text.partition("<recollection>\n")[2].partition("\n</recollection>")[0]
    return block.partition("\n")[2]
