"""Loads prompts from files and fills their slots.

Prompts are Markdown files in a package's `prompts/` folder, with `{{ names }}` as slots. The first 12 hex
digits of the file's SHA-256 are stored with everything it produced, so an answer can be traced to the exact
prompt.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from festinger.llm.model import MessageRole, PromptMessage

HASH_CHARS = 12
_SLOT = re.compile(r"\{\{ *([a-z][a-z0-9_]*) *\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    name: str
    text: str
    hash: str

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(_SLOT.findall(self.text))

    def message(self, role: MessageRole = MessageRole.USER, /, **values: str) -> PromptMessage:
        """Build a message with the values in their slots; slots and values must match exactly.

        Substitution is not recursive: a value that looks like a slot stays as it is.
        """
        if values.keys() != self.slots:
            wrong = sorted(values.keys() ^ self.slots)
            raise TypeError(f"prompt `{self.name}` and its values differ in {', '.join(wrong)}")
        text = _SLOT.sub(lambda slot: values[slot[1]], self.text)
        return PromptMessage(role=role, text=text.strip(), prompt_hash=self.hash)


@cache
def load_prompt(package: str, name: str) -> Prompt:
    """Load the prompt `prompts/<name>.md` of a package (`festinger.judge`)."""
    content = files(package).joinpath("prompts", f"{name}.md").read_bytes()
    return Prompt(name=name, text=content.decode("utf-8"), hash=hashlib.sha256(content).hexdigest()[:HASH_CHARS])
