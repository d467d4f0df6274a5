"""Gives a demo the memory of its environment.

Through the library's handle, as its owner; results are formatted in a line or two.
"""

from examples.ground import DemoEnvironment
from festinger.client.memory import Memory
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope, SessionId
from festinger.memory.learn.result import Learned
from festinger.memory.model import Memory as Remembered
from festinger.memory.query import MemoryFilter, load_page_of_memories

SESSION = SessionId("demo")


def memory_of(ground: DemoEnvironment) -> Memory:
    """The memory of the environment, as its owner uses it."""
    return Memory(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SESSION, _app=ground.app)


def format_learned(learned: Learned) -> str:
    """What became of a statement: the action, the sentence, and what the judges found."""
    lines = [f"{learned.action}: {learned.said}"]
    if learned.judgement is not None:
        guards = f" ({', '.join(learned.judgement.guards)})" if learned.judgement.guards else ""
        lines.append(f"{learned.judgement.judge}: {learned.judgement.relation}{guards}")
    return "\n".join(lines)


async def format_memories(ground: DemoEnvironment, *, every: bool = False) -> str:
    """The memories, oldest first, one per line; with `every` inactive ones too."""
    place = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT))
    wanted = MemoryFilter(statuses=None) if every else MemoryFilter()
    found = await load_page_of_memories(ground.app.memory.deps, place, wanted)
    return "\n".join(_line(each) for each in reversed(found))


def _line(memory: Remembered) -> str:
    again = f", said {memory.confirmation_count + 1} times" if memory.confirmation_count else ""
    return f"{memory.content} ({memory.status}{again})"
