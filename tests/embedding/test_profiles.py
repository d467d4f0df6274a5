from datetime import date
from pathlib import Path

import pytest

from festinger.embedding.embedder import CheckedEmbedder, EmbedderOptions
from festinger.embedding.profiles import (
    REFERENCE,
    EmbedderProfile,
    EmbeddingPurpose,
    ThresholdName,
    find_profile,
    load_all_profiles,
    load_bundled_profiles,
    parse_profiles,
)
from festinger.embedding.providers.hashed import HashedEngine
from festinger.errors import BadSetting

DEFAULT = "onnx:all-minilm-l6-v2"
MEASURING = ("calibration.py",)
SOURCE = Path(__file__).parents[2] / "src" / "festinger"


@pytest.mark.requirement("X-76")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("same", 0.95),
        ("check", 0.85),
        ("subject", 0.80),
        ("confirming", 0.85),
        ("opposing", 0.70),
        ("novel", 0.60),
        ("dormant", 0.90),
    ],
)
def test_the_reference_profile_holds_the_numbers_that_the_design_started_from(name: str, value: float):
    assert load_bundled_profiles()[REFERENCE].threshold(ThresholdName(name)) == value


@pytest.mark.requirement("X-76")
def test_the_bundled_model_has_every_threshold_with_its_data_and_day_or_says_that_it_is_carried():
    readings = load_bundled_profiles()[DEFAULT].readings

    assert set(readings) == set(ThresholdName) - {ThresholdName.OPPOSITION}
    for reading in readings.values():
        assert reading.data
        assert reading.carried or (reading.at is not None and reading.at >= date(2026, 11, 15))


@pytest.mark.requirement("C-80")
@pytest.mark.parametrize("name", [DEFAULT, "onnx:bge-small-en-v1.5"])
def test_from_which_cosine_two_insights_say_the_same_is_measured_for_both_bundled_models(name: str):
    reading = load_bundled_profiles()[name].readings[ThresholdName.CONFIRMING]

    assert (reading.carried, reading.value is not None) == (False, True)
    assert "12,729 pairs" in reading.data


@pytest.mark.requirement("X-76")
def test_a_model_without_a_profile_is_uncalibrated_and_has_no_threshold():
    profile = find_profile("ollama:unheard-of", load_bundled_profiles())

    assert not profile.is_calibrated
    assert [profile.threshold(name) for name in ThresholdName] == [None] * len(ThresholdName)


def test_a_profile_that_only_says_how_to_write_is_uncalibrated_too():
    profile = find_profile("ollama:nomic-embed-text:latest", load_bundled_profiles())

    assert profile.prefixes[EmbeddingPurpose.QUERY] == "search_query: "
    assert not profile.is_calibrated


@pytest.mark.requirement("X-75")
def test_the_kind_of_a_memory_is_written_for_storing_only():
    profile = load_bundled_profiles()[REFERENCE]

    assert profile.written("Tea is hot.", EmbeddingPurpose.STORE, kind="fact") == "Factual knowledge: Tea is hot."
    for purpose in (EmbeddingPurpose.QUERY, EmbeddingPurpose.COMPARE, EmbeddingPurpose.CLUSTER):
        assert profile.written("Tea is hot.", purpose, kind="fact") == "Tea is hot."


@pytest.mark.requirement("X-75")
async def test_a_model_that_tells_purposes_apart_gives_four_vectors_for_one_text():
    profile = EmbedderProfile(name="hashed:64", prefixes={purpose: f"to {purpose}: " for purpose in EmbeddingPurpose})
    embedder = CheckedEmbedder(HashedEngine(64), profile, supplies=EmbedderOptions())

    made = [(await embedder.embed(["Tea is hot."], purpose))[0].tobytes() for purpose in EmbeddingPurpose]

    assert len(set(made)) == 4


def test_a_provider_wide_profile_serves_its_models_under_their_own_names():
    profile = find_profile("gemini:some-new-model", load_bundled_profiles())

    assert profile.name == "gemini:some-new-model"
    assert profile.task_types[EmbeddingPurpose.STORE] == "RETRIEVAL_DOCUMENT"


MEASURED = """
[models."onnx:all-minilm-l6-v2"]
dimensions = 384
[models."onnx:all-minilm-l6-v2".thresholds.same]
value = 0.97
data = "pairs of this installation"
at = 2026-12-01
"""


def test_a_profile_of_this_installation_replaces_the_bundled_one(tmp_path: Path):
    path = tmp_path / "profiles.toml"
    path.write_text(MEASURED)

    profiles = load_all_profiles(path)

    assert profiles[DEFAULT].threshold(ThresholdName.SAME) == 0.97
    assert profiles[REFERENCE] == load_bundled_profiles()[REFERENCE]
    assert load_all_profiles(tmp_path / "none.toml") == load_bundled_profiles()


@pytest.mark.parametrize(
    "text",
    [
        "models = 7",
        "[models.x]\nprefix = 1",
        '[models.x.thresholds]\nsaem = {value = 0.9, data = "d"}',
        '[models.x.thresholds]\nsame = {value = 1.9, data = "d"}',
        "[models.x.thresholds]\nsame = {value = 0.9}",
        "[models.x]\ncarries = 'nobody'",
        "not toml",
    ],
)
def test_a_wrong_file_is_refused_by_name(text: str):
    with pytest.raises(BadSetting):
        parse_profiles(text, source="mine.toml")


@pytest.mark.requirement("X-76")
def test_no_threshold_stands_in_the_code_of_this_room():
    """The reference numbers occur in `profiles.toml` and in no module but those that measure."""
    readings = load_bundled_profiles()[REFERENCE].readings.values()
    numbers = {str(reading.value) for reading in readings if reading.value is not None}
    modules = [path for path in (SOURCE / "embedding").glob("*.py") if path.name not in MEASURING]

    found = {(path.name, number) for path in modules for number in numbers if f" {number}" in path.read_text()}

    assert found == set()


def test_the_bundled_model_loses_by_kinds_and_therefore_has_none_and_says_so():
    text = (SOURCE / "embedding" / "profiles.toml").read_text()
    above = text.partition(f'[models."{DEFAULT}"]')[0].rpartition("\n\n")[2]

    assert load_bundled_profiles()[DEFAULT].kinds == {}
    assert "No kind prefixes" in above


def test_a_profile_that_an_earlier_version_saved_is_read_without_its_direction():
    saved = """
    [models."onnx:mine"]
    direction = [0.6, 0.8]
    thresholds.same = { data = "ours", value = 0.9 }
    thresholds.opposition = { data = "ours", value = 0.3 }
    """

    found = parse_profiles(saved, source="profiles.toml")["onnx:mine"]

    assert found.threshold(ThresholdName.SAME) == 0.9
    assert not hasattr(found, "direction")
