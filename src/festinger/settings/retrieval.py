"""Declares the settings of recall."""

from typing import Literal

from festinger.settings.section import SettingsSection, setting_field


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
