"""Would a memory become part of who the agent is?

Whoever consolidates finds patterns that hold so often that their weight would pass the bound which only a person lets
a memory pass. This says whether a gain would, and what is then proposed. Pure: consolidation brings the weights.
"""

from dataclasses import dataclass
from datetime import datetime

from festinger.ids import AgentId, MemoryId
from festinger.memory.confidence import Weight, reinforced
from festinger.proposals.detectors.firing import Detector, Firing
from festinger.proposals.proposal import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A memory that consolidation would hold more deeply, and by how much."""

    memory: MemoryId
    weight: Weight
    gain: float
    at: datetime
    run: str
    """The run that found it."""
    agent: AgentId | None = None
    episodes: tuple[str, ...] = ()


def would_pass(pattern: Pattern, *, bound: float) -> bool:
    """Whether the gain carries a memory over the bound; one that is beyond it already asks nobody."""
    return pattern.weight.center <= bound < reinforced(pattern.weight, pattern.gain).center


def firing(pattern: Pattern) -> Firing:
    return Firing(
        by=Detector.IDENTITY,
        category="knowledge",
        scope="identity",
        what=f"Hold memory {pattern.memory} as part of who the agent is",
        why=f"It held in {len(pattern.episodes)} episodes, and would be held more deeply than by itself it may.",
        at=pattern.at,
        agent=pattern.agent,
        session=f"consolidation:{pattern.run}",
        source=f"consolidation:{pattern.run}:{pattern.memory}",
        type=Type.IDENTITY_PROMOTION,
        payload={"memory_id": str(pattern.memory), "gain": pattern.gain},
        evidence={"memories": [str(pattern.memory)], "episodes": list(pattern.episodes)},
    )
