"""Declares the settings of consolidation."""

from typing import Literal

from festinger.settings.section import CRON_WORDS, Cron, SettingsSection, setting_field

CeilingName = Literal["goal_share", "two_gates", "breaker", "rate_limit"]


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
        0.2, "Share of insights and narratives in what is active, at most.", per_space=True, ge=0, le=1
    )
    shadow: tuple[CeilingName, ...] = setting_field(
        (), "Safety ceilings that only log what they would have stopped.", per_space=True
    )
    enforce: tuple[CeilingName, ...] = setting_field(
        (), "Safety ceilings that stop changes from the first night on.", per_space=True
    )
    trust_level: int = setting_field(
        2, "How far agents are trusted; from 3 on they promote to identity without asking.", per_space=True, ge=0, le=5
    )
