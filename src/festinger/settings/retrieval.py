"""Declares the settings of recall."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from festinger.settings.section import SettingsSection, setting_field

COMPONENTS = 5
Five = tuple[float, float, float, float, float]
Mutation = Literal["count", "strengthen"]
AGENT_WORDS = "an agent and what holds for it, such as `helper=strengthen`, once for each"


def _agents(lines: tuple[str, ...]) -> tuple[str, ...]:
    told = [line.rpartition("=") for line in lines]
    agents = {agent for agent, _, _ in told}
    if "" in agents or len(agents) < len(told) or any(each not in get_args(Mutation) for *_, each in told):
        raise ValueError(f"must be {AGENT_WORDS}")
    return lines


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
    actr_decay: float = setting_field(0.5, "How fast an access loses its force.", per_space=True, ge=0.01, le=2)
    actr_noise: float = setting_field(0.4, "How much chance moves activation.", per_space=True, ge=0, le=5)
    actr_mismatch: float = setting_field(-1.0, "What a difference costs activation.", per_space=True, ge=-10, le=0)
    actr_threshold: float = setting_field(
        0.0, "Activation from which something stays.", per_space=True, ge=-100, le=100
    )
    alpha_cold: Five = setting_field(
        (12.0, 1.0, 0.5, 0.5, 3.0), "How the mind of an agent with few memories blends.", per_space=True
    )
    alpha_mature: Five = setting_field(
        (8.0, 5.0, 0.5, 3.0, 2.0), "How the mind of an agent with many memories blends.", per_space=True
    )
    cold_until: int = setting_field(100, "Memories below which an agent has few.", per_space=True, ge=0, le=1_000_000)
    mature_from: int = setting_field(
        1000, "Memories from which an agent has many.", per_space=True, ge=1, le=10_000_000
    )
    prefilter: int = setting_field(500, "Nearest memories that the mind looks at.", per_space=True, ge=50, le=10_000)
    partners: int = setting_field(50, "Memories at most that one is remembered with.", per_space=True, ge=1, le=1000)
    partners_top: int = setting_field(3, "Partners that one leads on to.", per_space=True, ge=1, le=50)
    co_access_full: int = setting_field(
        20, "Times together from which two belong together wholly.", per_space=True, ge=1, le=10_000
    )
    co_access_half_life_days: float = setting_field(
        30, "Days after which having come together counts half.", per_space=True, ge=0.01, le=36_500
    )
    mutation: Mutation = setting_field(
        "count", "Whether recalls are only counted, or move weights a little.", per_space=True
    )
    mutation_agents: Annotated[tuple[str, ...], AfterValidator(_agents)] = setting_field(
        (), "Agents for which `retrieval.mutation` is another.", per_space=True, allowed=AGENT_WORDS
    )
    dormant_below: float = setting_field(
        0.125, "Center of a weight below which a memory sleeps.", per_space=True, ge=0, le=1
    )
    dormant_kinds: tuple[str, ...] = setting_field(
        ("episodic", "reflection", "narrative", "tension", "insight"), "Kinds that may sleep.", per_space=True
    )
    abstain: bool = setting_field(True, "Whether nothing is told where nothing is relevant.", per_space=True)
    keep_recalls_days: int = setting_field(30, "Days that recalls are kept.", per_space=True, ge=1, le=3650)

    def mutation_of(self, agent: str) -> str:
        """Return how the recalls of an agent change weights."""
        told = (line.rpartition("=") for line in self.mutation_agents)
        return next((how for name, _, how in told if name == agent), self.mutation)
