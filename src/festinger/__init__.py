"""One memory for LLM agents that keeps itself true.

    import festinger

    async with festinger.open() as memory:
        ...

The names below are the whole public interface; they load on first use, so importing the package opens, reads
and configures nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from festinger.client.memory import Memory as Memory
    from festinger.client.memory import open as open  # noqa: A004 - the public name is `festinger.open`
    from festinger.errors import FestingerError as FestingerError
    from festinger.events.catalogue import Event as Event
    from festinger.ids import Origin as Origin
    from festinger.memory.censors.censor import Censor as Censor
    from festinger.memory.confidence import Weight as Weight
    from festinger.memory.episodes.episode import Episode as Episode
    from festinger.memory.learn.result import Learned as Learned
    from festinger.memory.model import Kind as Kind
    from festinger.memory.query import Why as Why
    from festinger.proposals.model import Proposal as Proposal
    from festinger.proposals.model import Verdict as Verdict
    from festinger.settings.tree import Settings as Settings

__version__ = "0.1.0"

__all__ = [
    "Censor",
    "Episode",
    "Event",
    "FestingerError",
    "Kind",
    "Learned",
    "Memory",
    "Origin",
    "Proposal",
    "Settings",
    "Verdict",
    "Weight",
    "Why",
    "__version__",
    "open",
]

_HOMES = {
    "Episode": "festinger.memory.episodes.episode",
    "Censor": "festinger.memory.censors.censor",
    "Event": "festinger.events.catalogue",
    "FestingerError": "festinger.errors",
    "Kind": "festinger.memory.model",
    "Learned": "festinger.memory.learn.result",
    "Memory": "festinger.client.memory",
    "Origin": "festinger.ids",
    "Proposal": "festinger.proposals.model",
    "Settings": "festinger.settings.tree",
    "Verdict": "festinger.proposals.model",
    "Weight": "festinger.memory.confidence",
    "Why": "festinger.memory.query",
    "open": "festinger.client.memory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `festinger` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)
