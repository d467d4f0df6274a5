from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.embedding.servers import Served

from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.health import check_embedder, check_profile, check_reranker
from festinger.embedding.profiles import ThresholdName, ThresholdReading, load_bundled_profiles
from festinger.embedding.registry import open_embedder, open_embedder_or_null
from festinger.embedding.reranker import open_reranker
from festinger.observability.checks import CheckSeverity, worst_severity

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 5, 13, tzinfo=UTC)


async def test_the_bundled_embedder_is_well(minilm: Embedder):
    checks = await check_embedder(minilm, at=NOON)

    assert [check.name for check in checks] == ["embedder.answers", "embedder.profile"]
    assert worst_severity(checks) is CheckSeverity.OK


@pytest.mark.requirement("X-76")
async def test_an_uncalibrated_embedder_is_told_to_calibrate():
    checks = await check_embedder(await open_embedder("hashed:", EmbedderOptions()), at=NOON)

    assert checks[1].severity is CheckSeverity.WARN
    assert "uncalibrated" in checks[1].message
    assert checks[1].remedy == "Run `festinger calibrate`."


async def test_what_is_carried_over_and_what_is_off_can_be_seen():
    bundled = load_bundled_profiles()["onnx:all-minilm-l6-v2"]
    none_met = {ThresholdName.SAME: ThresholdReading(value=None, data="ours")}

    check = check_profile(replace(bundled, readings={**bundled.readings, **none_met}))

    assert "subject" in check.details["carried"]
    assert check.details["off"] == ["same"]


async def test_none_that_was_chosen_is_a_warning():
    [check] = await check_embedder(await open_embedder("none:", EmbedderOptions()), at=NOON)

    assert check.severity is CheckSeverity.WARN
    assert check.remedy == "Set `embedding.model` to search by meaning."


async def test_none_that_was_forced_is_a_failure_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr("festinger.embedding.weights.find_spec", lambda name: None)
    embedder = await open_embedder_or_null("onnx:all-minilm-l6-v2", EmbedderOptions())

    [check] = await check_embedder(embedder, at=NOON)

    assert check.severity is CheckSeverity.FAIL
    assert "festinger models fetch" in check.remedy
    assert check.details["degraded"] == "embedder"


async def test_a_provider_that_has_gone_is_seen_although_it_answered_before(served: Served):
    embedder = await open_embedder("ollama:toy", EmbedderOptions(base_url=served.url))
    assert worst_severity(await check_embedder(embedder, at=NOON)) is not CheckSeverity.FAIL

    served.row = lambda text: []

    assert worst_severity(await check_embedder(embedder, at=LATER)) is CheckSeverity.FAIL
    await embedder.close()


async def test_the_reranker_is_well_or_not_chosen():
    assert (await check_reranker(None)).message == "No reranker is chosen."
    assert (await check_reranker(await open_reranker("lexical:", EmbedderOptions()))).severity is CheckSeverity.OK


async def test_a_reranker_that_fails_is_named():
    hurried = await open_reranker("onnx:ms-marco-minilm-l-12-v2", EmbedderOptions(timeout_s=0.0))
    assert hurried is not None

    check = await check_reranker(hurried)
    await hurried.close()

    assert check.severity is CheckSeverity.FAIL
