"""Declares the settings of the world, the memory, its judges and episodes."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, field_validator

from festinger.settings.section import CRON_WORDS, TIMEZONE_WORDS, Cron, SettingsSection, Timezone, setting_field


class WorldSettings(SettingsSection):
    saliency_read_threshold: float = setting_field(
        0.5, "Effective score from which a concept surfaces.", per_space=True, ge=0, le=10
    )
    saliency_write_threshold: float = setting_field(
        1.2, "Saliency from which the write model is asked about a concept.", per_space=True, ge=0, le=10
    )
    recollection_confidence_floor: float = setting_field(
        0.6, "Confidence below which edges stay silent.", per_space=True, ge=0, le=1
    )
    recollection_recency_days: int = setting_field(
        90, "Days after which an unconfirmed edge stays silent.", per_space=True, ge=1, le=36_500
    )
    recollection_recency_applies_to: tuple[str, ...] = setting_field(
        ("cloud_llm", "inferred", "festinger"),
        "Sources of edges that fall silent with time; `all` for every one.",
        per_space=True,
        allowed="`cloud_llm`, `inferred`, `festinger`, `gutask` or `all`",
    )
    recollection_max_concepts: int = setting_field(8, "Concepts in one recollection.", per_space=True, ge=1, le=100)
    recollection_max_edges: int = setting_field(
        6, "Edges of one concept in a recollection.", per_space=True, ge=1, le=100
    )
    recollect_max_chars: int = setting_field(
        16_384, "Unseen text that is read within a request.", per_space=True, ge=256, le=10_000_000
    )
    zero_hit_notes: bool = setting_field(False, "Whether unknown names are noted in a recollection.", per_space=True)
    zero_hit_max: int = setting_field(2, "Notes of unknown names in one recollection.", per_space=True, ge=0, le=100)
    iknowthat_command: str = setting_field(
        "festinger iknowthat", "Command that notes of unknown names show.", per_space=True, min_length=1, max_length=100
    )
    resolution_schedule: Cron = setting_field(
        "0 2 * * *", "Cron line of the job that resolves conflicts.", allowed=CRON_WORDS
    )
    resolution_timezone: Timezone = setting_field(
        "UTC", "Time zone of `world.resolution_schedule`.", allowed=TIMEZONE_WORDS
    )
    resolution_max_items: int = setting_field(200, "Conflicts in one run.", per_space=True, ge=1, le=100_000)
    token_min_chars: int = setting_field(1, "Shortest token that is counted.", per_space=True, ge=1, le=64)
    common_word_zipf: float = setting_field(
        3.0, "Zipf frequency from which a word is common English.", per_space=True, ge=0, le=10
    )
    count_flush_seconds: int = setting_field(30, "Seconds between two writes of counts.", ge=1, le=3600)
    quarantine_min_causes: int = setting_field(
        3, "Distinct causes that admit a quarantined statement.", per_space=True, ge=1, le=1000
    )
    conflict_max_per_cause: int = setting_field(
        20, "Conflicts that one cause may open.", per_space=True, ge=1, le=100_000
    )
    write_calls_per_hour: int = setting_field(60, "Calls of the write model in an hour.", ge=0, le=1_000_000)
    vocabulary_max_unconfirmed: int = setting_field(
        200_000, "Words without an edge that a space keeps.", per_space=True, ge=0, le=1_000_000_000
    )
    world_spaces_in_memory: int = setting_field(64, "Spaces whose world is kept in memory.", ge=1, le=100_000)
    world_cache_mb: int = setting_field(1024, "Memory for all worlds of a process.", ge=16, le=1_000_000)

    @field_validator("recollection_recency_applies_to")
    @classmethod
    def _known_sources(cls, sources: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := set(sources) - {"cloud_llm", "inferred", "festinger", "gutask", "all"}:
            raise ValueError(f"must not name {', '.join(sorted(unknown))}")
        return sources


TRUST_WORDS = "an origin and a number from 0 to 1 for each, such as `person 1.0, system 0.9, …`, falling in that order"
TRUST_ORDER = ("person", "system", "model", "tool", "document")


def _trusts(given: tuple[str, ...]) -> tuple[str, ...]:
    read = [line.split() for line in given]
    if [words[0] for words in read if len(words) == 2] != list(TRUST_ORDER) or len(read) != len(TRUST_ORDER):
        raise ValueError(f"must be {TRUST_WORDS}")
    numbers = [float(number) for _, number in read]
    if any(not 0 <= number <= 1 for number in numbers) or any(low > high for high, low in pairwise(numbers)):
        raise ValueError(f"must be {TRUST_WORDS}")
    return given


class MemorySettings(SettingsSection):
    trust: Annotated[tuple[str, ...], AfterValidator(_trusts)] = setting_field(
        ("person 1.0", "system 0.9", "model 0.6", "tool 0.5", "document 0.4"),
        "How far each origin is trusted; nobody may be trusted more than those before.",
        per_space=True,
        allowed=TRUST_WORDS,
    )
    candidates: int = setting_field(20, "Nearest memories that a new one is held against.", per_space=True, ge=1, le=50)
    subject_candidates: int = setting_field(
        10, "Memories of the same subject that a new one is held against.", per_space=True, ge=0, le=50
    )
    supersede_confidence: float = setting_field(
        0.8, "Confidence from which an update replaces what it updates.", per_space=True, ge=0.5, le=1
    )
    supersede_trust_margin: float = setting_field(
        0.15, "How much less trusted a statement may be than what it replaces.", per_space=True, ge=0, le=1
    )
    on_contradiction: Literal["queue", "newest_wins"] = setting_field(
        "queue", "Whether contradictions wait for a decision or the newest statement wins.", per_space=True
    )
    quarantine: bool = setting_field(True, "Whether suspicious statements are locked away.", per_space=True)
    burst_limit: int = setting_field(
        50, "New memories of one little trusted cause in ten minutes.", per_space=True, ge=1, le=1_000_000
    )
    untrusted_confidence_cap: float = setting_field(
        0.6, "Highest confidence that little trusted causes reach.", per_space=True, ge=0, le=1
    )
    refusals_keep_days: int = setting_field(
        30, "Days for which refused statements are kept.", per_space=True, ge=1, le=3_650
    )
    redact_personal: bool = setting_field(
        False,
        "Whether e-mail addresses, telephone numbers and postal addresses are taken out like secrets.",
        per_space=True,
    )
    max_active: int = setting_field(
        0,
        "Active memories of a space; over it the lightest are archived. 0 for no limit.",
        per_space=True,
        ge=0,
        le=1_000_000_000,
    )
    echo_turns: int = setting_field(
        50, "Turns within which a repeat of what was brought to mind is an echo.", per_space=True, ge=0, le=10_000
    )
    censor_escalation: Literal["propose", "auto"] = setting_field(
        "propose", "Whether a censor that strikes often is proposed for blocking or blocks by itself.", per_space=True
    )
    censor_threshold: int = setting_field(
        5, "Strikes from which a warning should become a stop.", per_space=True, ge=1, le=10_000
    )

    @property
    def trusts(self) -> dict[str, float]:
        """The trust in each origin."""
        return {origin: float(number) for origin, number in (line.split() for line in self.trust)}


class JudgeSettings(SettingsSection):
    accept: float = setting_field(0.8, "Confidence from which a judge ends the cascade.", per_space=True, ge=0.5, le=1)
    calls_per_hour: int = setting_field(
        1000, "Times an hour that an LLM may be asked about two statements.", per_space=True, ge=0, le=1_000_000
    )
    max_tries: int = setting_field(
        5, "Tries by one judge before a pair becomes a question to a person.", per_space=True, ge=1, le=5
    )
    settle_days: int = setting_field(
        14,
        "Days after which a pair that no judge is sure of is settled as independent; 0 for never.",
        per_space=True,
        ge=0,
        le=3_650,
    )


class EpisodesSettings(SettingsSection):
    idle_minutes: int = setting_field(30, "Silence after which an episode is closed.", per_space=True, ge=1, le=10_080)
    max_turns: int = setting_field(
        200, "Turns after which an episode is closed and goes on as the next.", per_space=True, ge=2, le=10_000
    )
    max_hours: int = setting_field(
        24, "Hours after which an episode is closed and goes on as the next.", per_space=True, ge=1, le=8760
    )
    model_wait_s: int = setting_field(
        20, "Seconds that a model may take to sum an episode up before its own words do.", per_space=True, ge=1, le=25
    )
    max_facts: int = setting_field(20, "Facts that a model may read in one episode.", per_space=True, ge=0, le=100)
    keep_raw_days: int = setting_field(
        0, "Days that the words of an episode are kept; 0 for ever.", per_space=True, ge=0, le=36_500
    )
