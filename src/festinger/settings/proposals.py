"""Declares the settings of proposals: what a person is asked, and when."""

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr, model_validator

from festinger.settings.section import CRON_WORDS, Cron, HttpUrl, SettingsSection, setting_field

CATEGORIES = (
    "performance", "reliability", "concurrency", "knowledge", "cost", "ux", "observability", "architecture", "safety",
)  # fmt: skip

SLUG = re.compile(r"[a-z][a-z0-9_-]{0,39}")
SLUG_WORDS = "words of small letters, digits, `_` and `-`, with commas between"
SUPPRESS_WORDS = "days from 1 to 3650, each as many as those before or more"
WEBHOOK_WORDS = "addresses with https, or of this machine"
LOOPBACK = ("127.0.0.1", "::1", "localhost")

MOST_SEEN, MOST_DAYS, MOST_PROMOTED = 1000, 3650, 1000


def _validate_slugs(words: tuple[str, ...]) -> tuple[str, ...]:
    if not all(SLUG.fullmatch(word) for word in words) or len(set(words)) != len(words):
        raise ValueError(f"must be {SLUG_WORDS}")
    return words


def _validate_rising_days(days: tuple[int, ...]) -> tuple[int, ...]:
    if not days or list(days) != sorted(days) or days[0] < 1 or days[-1] > MOST_DAYS:
        raise ValueError(f"must be {SUPPRESS_WORDS}")
    return days


def _validate_safe_urls(urls: tuple[str, ...]) -> tuple[str, ...]:
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise ValueError(f"must be {WEBHOOK_WORDS}")
    return urls


Slugs = Annotated[tuple[str, ...], AfterValidator(_validate_slugs)]
RisingDays = Annotated[tuple[int, ...], AfterValidator(_validate_rising_days)]
SafeUrls = Annotated[tuple[HttpUrl, ...], AfterValidator(_validate_safe_urls)]


class DetectorSettings(SettingsSection):
    enabled: bool = setting_field(True, "Whether it looks.", per_space=True)
    threshold: int = setting_field(3, "Times from which it fires.", per_space=True, ge=1, le=10_000)


class LoopDetectorSettings(DetectorSettings):
    threshold: int = setting_field(2, "Level of a loop from which it fires.", per_space=True, ge=1, le=4)


class CensorDetectorSettings(DetectorSettings):
    threshold: int = setting_field(
        5, "Strikes from which it fires, unless the censor names its own.", per_space=True, ge=1, le=10_000
    )


class MisleadingDetectorSettings(DetectorSettings):
    threshold: int = setting_field(
        2, "Causes that contradicted a memory from which it fires.", per_space=True, ge=1, le=10_000
    )


class IdentityDetectorSettings(SettingsSection):
    enabled: bool = setting_field(True, "Whether it looks.", per_space=True)
    threshold: float = setting_field(
        0.85, "Center of a weight that only a person lets a memory pass.", per_space=True, ge=0, le=1
    )


class DetectorsSettings(SettingsSection):
    tool_failure: DetectorSettings = setting_field(DetectorSettings(), "A tool that fails alike in one episode.")
    loop: LoopDetectorSettings = setting_field(LoopDetectorSettings(), "A loop of an agent or of a reply.")
    zero_hit: DetectorSettings = setting_field(DetectorSettings(), "A name that nothing is known about.")
    censor_hits: CensorDetectorSettings = setting_field(CensorDetectorSettings(), "A warning that strikes often.")
    conflict_churn: DetectorSettings = setting_field(DetectorSettings(), "Conflicts of one concept and dimension.")
    misleading: MisleadingDetectorSettings = setting_field(MisleadingDetectorSettings(), "A memory that misled.")
    identity: IdentityDetectorSettings = setting_field(IdentityDetectorSettings(), "A memory on its way to identity.")


class WebhookSettings(SettingsSection):
    urls: SafeUrls = setting_field((), "Where news of proposals is sent.", allowed=WEBHOOK_WORDS)
    secret: SecretStr | None = setting_field(None, "Secret that signs what is sent and what comes in.")
    tolerance_seconds: int = setting_field(300, "Age from which a signed message is refused.", ge=1, le=86_400)


class ProposalsSettings(SettingsSection):
    categories: Slugs = setting_field(
        CATEGORIES, "Categories that a proposal may have.", per_space=True, allowed=SLUG_WORDS
    )
    min_seen_count: int = setting_field(2, "Distinct causes that are needed.", per_space=True, ge=1, le=MOST_SEEN)
    min_age_days: int = setting_field(7, "Days that it must have lasted.", per_space=True, ge=0, le=MOST_DAYS)
    min_days_seen: int = setting_field(
        2, "Distinct days that are needed, never more than causes.", per_space=True, ge=1, le=MOST_SEEN
    )
    max_causes_per_agent_day: int = setting_field(
        3, "Causes of one agent, day and origin that count.", per_space=True, ge=1, le=MOST_SEEN
    )
    promote_schedule: Cron = setting_field(
        "0 7 * * *", "Cron line of the job that promotes, in UTC.", allowed=CRON_WORDS
    )
    promote_max_per_run: int = setting_field(
        5, "Proposals that one run promotes at most.", per_space=True, ge=0, le=MOST_PROMOTED
    )
    inbox_limit: int = setting_field(
        50, "Open proposals from which nothing more is promoted.", per_space=True, ge=1, le=100_000
    )
    excluded_categories: Slugs = setting_field(
        (), "Categories that are never promoted.", per_space=True, allowed=SLUG_WORDS
    )
    reject_suppress_days: RisingDays = setting_field(
        (30, 90, 365),
        "Days of silence after the first, the second and each later no.",
        per_space=True,
        allowed=SUPPRESS_WORDS,
    )
    max_reevaluations: int = setting_field(
        2, "Times that a proposal is thought about again.", per_space=True, ge=0, le=100
    )
    defer_days: int = setting_field(
        14, "Days for which a proposal is put off if none are named.", per_space=True, ge=1, le=MOST_DAYS
    )
    quiet_days: int = setting_field(
        90, "Days after which an undecided proposal leaves the inbox.", per_space=True, ge=1, le=MOST_DAYS
    )
    suggest_merges: bool = setting_field(
        True, "Whether proposals that may mean the same are shown together.", per_space=True
    )
    suggest_pairs_per_run: int = setting_field(
        25, "Pairs that are judged in one pass.", per_space=True, ge=0, le=10_000
    )
    value_window_days: int = setting_field(
        90, "Days of decisions that a producer is valued by.", per_space=True, ge=1, le=MOST_DAYS
    )
    value_mute_at: float = setting_field(-0.4, "Value at which a producer is muted.", per_space=True, ge=-1, le=0)
    value_min_decided: int = setting_field(5, "Decisions that muting needs.", per_space=True, ge=1, le=10_000)
    value_mute_days: int = setting_field(30, "Days for which a producer is muted.", per_space=True, ge=1, le=MOST_DAYS)
    reflect: bool = setting_field(True, "Whether a model is asked what an episode should change.", per_space=True)
    max_per_episode: int = setting_field(3, "Changes that it may suggest for one episode.", per_space=True, ge=0, le=20)
    detectors: DetectorsSettings = setting_field(DetectorsSettings(), "Who looks without a model.")
    surface: bool = setting_field(False, "Whether an agent reads what was observed often.", per_space=True)
    webhook: WebhookSettings = setting_field(WebhookSettings(), "Proposals as messages.")
    rate_window_days: int = setting_field(
        30, "Days over which the rate of promotion is read.", per_space=True, ge=1, le=MOST_DAYS
    )
    rate_high: float = setting_field(0.30, "Rate above which the bars are loose.", per_space=True, ge=0, le=1)
    rate_low: float = setting_field(0.01, "Rate below which the bars are tight.", per_space=True, ge=0, le=1)
    rate_min_considered: int = setting_field(
        20, "Proposals below which the rate says nothing.", per_space=True, ge=1, le=1_000_000
    )

    @model_validator(mode="after")
    def _check_rates_in_order(self) -> Self:
        if self.rate_low > self.rate_high:
            raise ValueError("`proposals.rate_low` must not be above `proposals.rate_high`")
        return self
