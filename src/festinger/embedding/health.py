"""Health checks of the embedder and the reranker: whether they answer, and whether vectors may decide."""

from collections.abc import Sequence
from datetime import datetime

from festinger.clock import iso
from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose
from festinger.embedding.providers.none import NAME as NONE
from festinger.embedding.reranker import Reranker
from festinger.errors import Unavailable
from festinger.observability.checks import Check, failed_check, ok_check, warning_check


async def check_embedder(embedder: Embedder, *, at: datetime) -> Sequence[Check]:
    """Check whether it embeds and, if so, whether it has a profile."""
    try:
        # The time is part of the text, so that no cache can answer for an embedder that is gone.
        await embedder.embed([f"It is {iso(at)}."], EmbeddingPurpose.COMPARE)
    except Unavailable as error:
        if embedder.name == NONE and error.__cause__ is None:
            return [warning_check("embedder.answers", error.message, error.hint)]
        return [failed_check("embedder.answers", error.message, error.hint, degraded="embedder")]
    answers = ok_check("embedder.answers", f"`{embedder.name}` embeds.", dimensions=embedder.dimensions)
    return [answers, check_profile(embedder.profile)]


def check_profile(profile: EmbedderProfile) -> Check:
    """Check whether vectors may decide, and which thresholds were carried over rather than measured."""
    if not profile.is_calibrated:
        return warning_check(
            "embedder.profile",
            f"`{profile.name}` is uncalibrated: nothing is decided by its vectors alone.",
            "Run `festinger calibrate`.",
        )
    carried = sorted(name.value for name, reading in profile.readings.items() if reading.carried)
    off = sorted(name.value for name, reading in profile.readings.items() if reading.value is None)
    measured = len(profile.readings) - len(carried)
    return ok_check(
        "embedder.profile",
        f"`{profile.name}` has a profile: {measured} thresholds measured, {len(carried)} carried over.",
        carried=carried,
        off=off,
    )


async def check_reranker(reranker: Reranker | None) -> Check:
    if reranker is None:
        return ok_check("reranker.answers", "No reranker is chosen.")
    try:
        await reranker.score("Does it work?", ["It works."])
    except Unavailable as error:
        return failed_check("reranker.answers", error.message, error.hint, degraded="reranker")
    return ok_check("reranker.answers", f"`{reranker.name}` scores.")
