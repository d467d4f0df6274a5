"""Declares the settings of the world, the memory, its judges and episodes.

Declares the settings of consolidation.

Declares the settings for how use and outcomes change a memory.

Declares the settings of recall.
"""

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
    def _validate_sources(cls, sources: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := set(sources) - {"cloud_llm", "inferred", "festinger", "gutask", "all"}:
            raise ValueError(f"must not name {', '.join(sorted(unknown))}")
        return sources


TRUST_WORDS = "an origin and a number from 0 to 1 for each, such as `person 1.0, system 0.9, …`, falling in that order"
TRUST_ORDER = ("person", "system", "model", "tool", "document")


LEVEL_WORDS = "agents with a level from 0 to 5 such as `ada 3`, with commas between"


def _agent_levels(given: tuple[str, ...]) -> tuple[str, ...]:
    for line in given:
        name, _, level = line.rpartition(" ")
        if not name or level not in ("0", "1", "2", "3", "4", "5"):
            raise ValueError(f"must be {LEVEL_WORDS}")
    return given


def _validate_trust_lines(given: tuple[str, ...]) -> tuple[str, ...]:
    read = [line.split() for line in given]
    if [words[0] for words in read if len(words) == 2] != list(TRUST_ORDER) or len(read) != len(TRUST_ORDER):
        raise ValueError(f"must be {TRUST_WORDS}")
    numbers = [float(number) for _, number in read]
    if any(not 0 <= number <= 1 for number in numbers) or any(low > high for high, low in pairwise(numbers)):
        raise ValueError(f"must be {TRUST_WORDS}")
    return given


class MemorySettings(SettingsSection):
    trust: Annotated[tuple[str, ...], AfterValidator(_validate_trust_lines)] = setting_field(
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
        0,
        "How far agents are trusted; from 3 on they promote to identity and do what can be undone without asking.",
        per_space=True,
        ge=0,
        le=5,
    )
    trust_of_agents: Annotated[tuple[str, ...], AfterValidator(_agent_levels)] = setting_field(
        (),
        "How far single agents are trusted; all others by `consolidation.trust_level`.",
        per_space=True,
        allowed=LEVEL_WORDS,
    )

    def trust_in(self, agent: str) -> int:
        """The trust level of an agent, from 0 to 5; the shared memories have that of all."""
        levels = {name: int(level) for name, _, level in (line.rpartition(" ") for line in self.trust_of_agents)}
        return levels.get(agent, self.trust_level)


class OutcomesSettings(SettingsSection):
    acted_confidence_signal: float = setting_field(
        0.9, "Confidence signal of a memory that was acted on.", per_space=True, ge=0, le=1
    )
    contradicted_confidence_signal: float = setting_field(
        0.1, "Confidence signal of a memory that was contradicted.", per_space=True, ge=0, le=1
    )
    acted_cycle_strengthen_factor: float = setting_field(
        1.2, "Factor on the cycles of a memory that was acted on.", per_space=True, ge=1, le=10
    )
    dismissed_cycle_weaken_factor: float = setting_field(
        0.8, "Factor on the cycles of a memory that was dismissed.", per_space=True, ge=0, le=1
    )
    contradicted_cycle_weaken_factor: float = setting_field(
        0.5, "Factor on the cycles of a memory that was contradicted.", per_space=True, ge=0, le=1
    )
    auto_discharge_confidence_threshold: float = setting_field(
        0.1, "Confidence below which a contradiction ends the urgency of a memory.", per_space=True, ge=0, le=1
    )
    discharge: Literal["effective", "upstream"] = setting_field(
        "effective", "Whether the fifth contradiction ends urgency too, or only the threshold.", per_space=True
    )
    initial_confidence: float = setting_field(
        0.5, "Confidence that a memory starts with.", per_space=True, ge=0.001, le=0.999
    )
    confidence_evidence_cap: int = setting_field(
        20, "Signals after which each further one moves confidence alike.", per_space=True, ge=1, le=10_000
    )
    decay_rate: float = setting_field(
        0.1, "How fast the strength of a memory falls with time.", per_space=True, ge=0, le=2
    )
    decay_confidence_modulation_strength: float = setting_field(
        0.5, "How much confidence slows that fall; 0 for not at all.", per_space=True, ge=0, le=2
    )
    pl_auto_resolve_acted: float = setting_field(
        0.1, "Error of a prediction whose memory was acted on.", per_space=True, ge=0, le=1
    )
    pl_auto_resolve_used: float = setting_field(
        0.3, "Error of a prediction whose memory was used.", per_space=True, ge=0, le=1
    )
    pl_auto_resolve_dismissed: float = setting_field(
        0.5, "Error of a prediction whose memory was dismissed.", per_space=True, ge=0, le=1
    )
    pl_auto_resolve_contradicted: float = setting_field(
        0.9, "Error of a prediction whose memory was contradicted.", per_space=True, ge=0, le=1
    )
    pl_confidence_error_threshold: float = setting_field(
        0.7, "Error of a prediction above which confidence falls.", per_space=True, ge=0, le=1
    )
    pl_confidence_low_signal: float = setting_field(
        0.2, "Confidence signal of such an error.", per_space=True, ge=0, le=1
    )
    proposal_ttl_s: int = setting_field(
        3600, "Seconds after which what was surfaced expires unanswered.", per_space=True, ge=60, le=604_800
    )
    staged_ttl_s: int = setting_field(
        86_400, "Seconds that a read waits for an outcome.", per_space=True, ge=60, le=2_592_000
    )
    access_log: int = setting_field(100, "Times of access that a memory keeps.", per_space=True, ge=1, le=1000)
    weight_acted: float = setting_field(1.0, "What acting on a memory adds to its weight.", per_space=True, ge=0, le=10)
    weight_contradicted: float = setting_field(
        0.5, "What contradicting a memory adds against its weight.", per_space=True, ge=0, le=10
    )
    self_weight: float = setting_field(
        0.5, "What a model's report on itself weighs at most.", per_space=True, ge=0, le=0.5
    )
    inferred_weight: float = setting_field(
        0.25, "What an inferred outcome weighs at most.", per_space=True, ge=0, le=0.5
    )
    passive_span: float = setting_field(
        0.10, "How far outcomes that nobody reported on purpose move confidence.", per_space=True, ge=0, le=0.5
    )
    max_per_cause: int = setting_field(
        10, "Outcomes of one memory and cause that count.", per_space=True, ge=1, le=1000
    )
    infer: bool = setting_field(True, "Whether outcomes are read from what was said.", per_space=True)


GOOD = {
    "acted_confidence_signal": (0.5, 1.0),
    "contradicted_confidence_signal": (0.05, 0.3),
    "acted_cycle_strengthen_factor": (1.0, 2.0),
    "dismissed_cycle_weaken_factor": (0.3, 1.0),
    "contradicted_cycle_weaken_factor": (0.3, 0.8),
    "auto_discharge_confidence_threshold": (0.05, 0.3),
    "confidence_evidence_cap": (10, 100),
    "decay_rate": (0.05, 0.5),
    "decay_confidence_modulation_strength": (0.3, 0.7),
}
"""Ranges in which the arithmetic was tested; values beyond are allowed, and `doctor` reports them."""


class RetrievalSettings(SettingsSection):
    fusion: Literal["scores", "rrf"] = setting_field(
        "scores", "Whether matches by words and by meaning are joined by score or by rank.", per_space=True
    )
    rrf_k: int = setting_field(60, "What is added to a rank before it is divided by.", per_space=True, ge=1, le=1000)
    arm_size: int = setting_field(50, "Best of each way of searching that are looked at.", per_space=True, ge=1, le=500)
    words_share: float = setting_field(
        0.5, "Share of words in a match; the rest is meaning.", per_space=True, ge=0, le=1
    )
    bm25_k1: float = setting_field(1.2, "How soon a repeated word stops counting.", per_space=True, ge=0, le=10)
    bm25_b: float = setting_field(0.75, "How much long texts are held back.", per_space=True, ge=0, le=1)
    words_pool: int = setting_field(
        1000, "Texts that share rare words and are looked at closely.", per_space=True, ge=50, le=100_000
    )
    context_weight: float = setting_field(
        0.4, "What a word counts that stands only beside what was said.", per_space=True, ge=0, le=1
    )
    recency_half_life_days: float = setting_field(
        7, "Days after which what was not read counts half as fresh.", per_space=True, ge=0.01, le=3650
    )
    prior_share: float = setting_field(
        0.15, "Share of freshness and weight in a score; the rest is the match.", per_space=True, ge=0, le=1
    )
    person_bonus: float = setting_field(0.2, "What is added for what a person said.", per_space=True, ge=0, le=1)
    speaker_bonus: float = setting_field(
        0.2, "What is added for what the one said themselves who is asked about.", per_space=True, ge=0, le=1
    )
    substance: bool = setting_field(
        True, "Whether turns that tell little, being short, long or a question, stand behind.", per_space=True
    )
    helped_max: float = setting_field(
        0.25, "What outcomes with such a question add or take at most.", per_space=True, ge=0, le=1
    )
    newer_first: bool = setting_field(
        True, "Whether the newer of two that say different things of the same comes first.", per_space=True
    )
    newer_first_window: float = setting_field(
        0.30, "How near their scores must lie for that.", per_space=True, ge=0, le=1
    )
    index_tool_turns: bool = setting_field(False, "Whether what tools gave is searched too.", per_space=True)
    rerank_top: int = setting_field(20, "Hits that a reranker reads.", per_space=True, ge=1, le=50)
    rerank_share: float = setting_field(0.6, "Share of the reranker in a score.", per_space=True, ge=0, le=1)
    partners: int = setting_field(50, "Memories at most that one is remembered with.", per_space=True, ge=1, le=1000)
    partners_top: int = setting_field(3, "Partners that one leads on to.", per_space=True, ge=1, le=50)
    co_access_full: int = setting_field(
        20, "Times together from which two belong together wholly.", per_space=True, ge=1, le=10_000
    )
    co_access_half_life_days: float = setting_field(
        30, "Days after which having come together counts half.", per_space=True, ge=0.01, le=36_500
    )
    dormant_below: float = setting_field(
        0.125, "Center of a weight below which a memory sleeps.", per_space=True, ge=0, le=1
    )
    dormant_kinds: tuple[str, ...] = setting_field(
        ("episodic", "reflection", "narrative", "tension", "insight"), "Kinds that may sleep.", per_space=True
    )
    abstain: bool = setting_field(True, "Whether nothing is told where nothing is relevant.", per_space=True)
    keep_recalls_days: int = setting_field(30, "Days that recalls are kept.", per_space=True, ge=1, le=3650)
