"""Counts what a store holds at the start of a night: weights, groups, conflicts and coherence."""

from typing import Any

from festinger.consolidation.ceilings import GOAL_LIKE, coherence_of
from festinger.consolidation.context import NightContext
from festinger.consolidation.night import Q

MOST_GROUPS = 20


async def survey_store(context: NightContext) -> None:
    """Take the numbers of the night's memories; later steps and the console read them."""
    store = context.deps.store
    owner: dict[str, Any] = {"space": context.space, "agent": context.agent}
    row = await store.one(Q["survey"], **owner)
    context.active, context.derived = row["active"], row["derived"]
    goals = await store.all(Q["goal_like"], **owner, above=GOAL_LIKE)
    context.goals = {each["id"]: each["center"] for each in goals}
    groups = await store.all(Q["groups"], **owner, limit=MOST_GROUPS)
    coherence = coherence_of(
        disputed=row["disputed"] / max(1, row["active"]),
        useful=row["useful"] / row["outcomes"] if row["outcomes"] else None,
        tense=row["tense"] / max(1, row["valued"]),
    )
    context.survey = {
        name: row[name] for name in ("active", "derived", "heavy", "contested", "uninformed", "at_ceiling")
    }
    context.survey |= {
        "bins": row["bins"],
        "coherence": round(coherence, 4),
        "groups": [
            {"members": [str(each) for each in group["members"]], "causes": group["causes"]} for group in groups
        ],
    }


async def last_coherence(context: NightContext) -> float | None:
    """Return the coherence at the last night of the same memories."""
    row = await context.deps.store.maybe(Q["last_survey"], space=context.space, agent=context.night.agent_id)
    return row["survey"].get("coherence") if row else None
