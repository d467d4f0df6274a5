"""Declares the settings for how use and outcomes change a memory."""

from typing import Literal

from festinger.settings.section import SettingsSection, setting_field


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
