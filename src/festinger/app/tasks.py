"""How does an agent read what people have still to do?

As something that comes to mind, of the kind of an insight, if it has to do with what was asked; and only where a person
allowed it. Nothing is copied: what is closed or forgotten is read by nobody any more. That an agent reads of a task
does not mean that it may do it, and the words say so.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from festinger.ids import Origin
from festinger.memory.model import Kind, Place
from festinger.proposals.verdicts.tasks import Task, fitting
from festinger.retrieval.query import Wish
from festinger.retrieval.result import Item

if TYPE_CHECKING:
    from festinger.app.wiring import App

TASK = "task"
LABEL = "Open task for a person, not for you: "
EVEN = 0.5
"""How sure a task is, and how deeply held: nobody has said."""


async def tasks_beside(app: "App", place: Place, wish: Wish) -> Sequence[Item]:
    """The open tasks that a wish asks about; none where agents may not read them."""
    if not app.settings.for_space(place.space).proposals.tasks_visible_to_agent or not _may_be_meant(wish):
        return ()
    found = fitting(await app.deciding.tasks(place.space), wish.cue)
    trust = app.settings.for_space(place.space).memory.trusts[Origin.MODEL]
    return [_item(task, share, trust=trust) for task, share in found if task.id not in wish.exclude]


def _may_be_meant(wish: Wish) -> bool:
    """Whether a wish leaves room for what has neither a subject nor a time in which it held."""
    of_memories = (wish.since, wish.until, wish.subject, wish.origins, wish.as_of, wish.valid_at)
    is_kind = wish.kinds is None or Kind.INSIGHT in wish.kinds
    return is_kind and not wish.tags and all(each is None for each in of_memories)


def _item(task: Task, share: float, *, trust: float) -> Item:
    """A task as it is read. A person approved it; the words are still those of whoever proposed it."""
    return Item(
        id=task.id,
        type=TASK,
        kind=Kind.INSIGHT,
        text=LABEL + "\n".join(filter(None, (task.title, task.body))),
        compressed=None,
        score=share,
        evidence=share,
        weak=False,
        origin=Origin.MODEL,
        trust=trust,
        confidence=EVEN,
        weight=EVEN,
        event_time=None,
        learned_at=task.at,
        disputed=False,
        source=f"proposal:{task.proposal_id}",
    )
