"""What can become of a memory that was brought to mind, and who says so?

Five outcomes, told in four ways: on purpose by an application or a person, by a model about itself, read from what
was said, or by nobody until the time was over. Labels are checked here, before anything is done with any of them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from festinger.errors import UnknownOutcome
from festinger.world.corroboration import Outcome

NAMES = ", ".join(f"`{outcome}`" for outcome in Outcome)
HINTS = {"echoed": "Say `used` if it was reasoned over, `dismissed` if the overlap was chance."}
SHOWN = 40


class How(StrEnum):
    """In which way an outcome became known."""

    EXPLICIT = "explicit"
    SELF = "self"
    INFERRED = "inferred"
    EXPIRED = "expired"

    @property
    def is_passive(self) -> bool:
        """Whether nobody told it on purpose from outside."""
        return self in (How.SELF, How.INFERRED)


def checked_outcomes(given: Mapping[Any, Any]) -> dict[str, Outcome]:
    """The outcomes by id; one label that is none refuses all of them."""
    return {str(id_): _checked(str(id_), label) for id_, label in given.items()}


def _checked(id_: str, label: Any) -> Outcome:
    # Outcomes are strings too, so equal strings are known; any other case or spelling is not.
    if isinstance(label, str) and label in tuple(Outcome):
        return Outcome(label)
    shown = str(label)[:SHOWN]
    raise UnknownOutcome(
        f"`{shown}` (for `{id_[:SHOWN]}`) is no outcome; they are {NAMES}.",
        hint=HINTS.get(shown),
        id=id_[:SHOWN],
        label=shown,
    )
