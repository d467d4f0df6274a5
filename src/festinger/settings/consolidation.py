"""Declares the settings of consolidation."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from festinger.settings.section import CRON_WORDS, Cron, SettingsSection, setting_field

CEILINGS = ("goal_share", "rate_limit", "two_gates", "entropy", "breaker", "coherence")
CeilingMode = Literal["auto", "enforce", "shadow"]
CEILING_WORDS = f"lines such as `rate_limit=shadow`, of {', '.join(CEILINGS)}, each `auto`, `enforce` or `shadow`"


def _ceilings(lines: tuple[str, ...]) -> tuple[str, ...]:
    told = [line.partition("=") for line in lines]
    if any(name not in CEILINGS or mode not in get_args(CeilingMode) for name, _, mode in told):
        raise ValueError(f"must be {CEILING_WORDS}")
    return lines


class ConsolidationSettings(SettingsSection):
    schedule: Cron = setting_field(
        "7 * * * *", "Cron line of nightly runs; one happens only if something is new.", allowed=CRON_WORDS
    )
    importance: float = setting_field(
        50, "Importance of what is new from which a run does not wait for its time.", per_space=True, ge=1, le=1_000_000
    )
    max_calls: int = setting_field(50, "Calls of a model in one run.", per_space=True, ge=0, le=10_000)
    max_seconds: int = setting_field(
        300, "Seconds after which a run begins nothing new.", per_space=True, ge=1, le=86_400
    )
    max_new: int = setting_field(20, "Memories that one run makes.", per_space=True, ge=0, le=1000)
    derived_share: float = setting_field(
        0.2, "Share of insights, narratives and tensions in what is active, at most.", per_space=True, ge=0, le=1
    )
    ceilings: Annotated[tuple[str, ...], AfterValidator(_ceilings)] = setting_field(
        (), "Safety ceilings that do not follow their stages.", per_space=True, allowed=CEILING_WORDS
    )

    def ceiling_mode(self, name: str) -> str:
        told = (line.partition("=") for line in self.ceilings)
        return next((mode for each, _, mode in told if each == name), "auto")


class AgentSettings(SettingsSection):
    trust_level: int = setting_field(
        2, "How far agents are trusted; from 3 on they promote to identity without asking.", per_space=True, ge=0, le=5
    )
