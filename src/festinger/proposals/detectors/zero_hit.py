"""Is there a name that stands out, that people keep saying, and that nothing is known about?

The world marks such names as wanted and keeps the last sentences in which each stood. Once they come from enough
sessions somebody should say what it is; each of the sessions is a cause.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.proposals.detectors.firing import Detector, Firing
from festinger.store.pool import Transaction
from festinger.world.explain import Unknown, unknown_names
from festinger.world.recollection import SPEAKERS


async def look(desk: Desk, transaction: Transaction, space: SpaceId) -> list[Firing]:
    """What the unknown names of a space make one say."""
    threshold = desk.terms(space).detectors.zero_hit.threshold
    names = await unknown_names(transaction, space)
    return [each for name in names for each in wondered(name, threshold=threshold)]


def wondered(name: Unknown, *, threshold: int) -> list[Firing]:
    """One finding for each session that said the name, if they are enough."""
    by_session: dict[str, Mapping[str, Any]] = {}
    for sentence in name.sentences:
        if sentence["origin"] not in SPEAKERS:
            # What only a page or a tool keeps saying is nobody's question.
            continue
        by_session[sentence["session_id"]] = sentence
    if len(by_session) < threshold:
        return []
    return [_firing(name, sentence, sessions=list(by_session)) for sentence in by_session.values()]


def _firing(name: Unknown, sentence: Mapping[str, Any], *, sessions: Sequence[str]) -> Firing:
    return Firing(
        by=Detector.ZERO_HIT,
        category="knowledge",
        scope="world",
        what=f"Say what {name.token} is",
        why=f"It was said in {len(sessions)} sessions, and nothing is known about it.",
        how=f"festinger iknowthat '{name.token} -isa '",
        at=sentence["at"],
        session=sentence["session_id"],
        source=f"unknown:{name.id}:{sentence['session_id']}"[:200],
        evidence={"concepts": [name.token], "messages": _messages(name.sentences)},
    )


def _messages(sentences: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(each["message_id"]) for each in sentences if each["message_id"]]
