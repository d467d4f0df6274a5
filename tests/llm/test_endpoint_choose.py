from uuid import UUID

import pytest

from festinger.errors import BadSetting
from festinger.llm.endpoint import OWN_ADDRESS, Endpoint, ProviderName, build_endpoint, needs_api_key, resolve_endpoint

ROW = UUID("018f3a5e-0000-7000-8000-000000000001")
STORED = build_endpoint(ProviderName.OPENAI, "stored", address="http://127.0.0.1:9/v1")


async def resolve(row: UUID) -> Endpoint:
    assert row == ROW
    return STORED


async def chosen(setting: str, **environment: str) -> Endpoint | None:
    return await resolve_endpoint(setting, resolve, environment=environment)


@pytest.mark.requirement("X-80", "X-85", "W-61")
@pytest.mark.parametrize("empty", ["", "   "])
async def test_an_empty_setting_means_no_model(empty: str) -> None:
    assert await chosen(empty) is None


@pytest.mark.requirement("X-80", "W-61")
async def test_an_id_means_a_row_of_the_table() -> None:
    assert await chosen(str(ROW)) is STORED
    assert await chosen(str(ROW).upper()) is STORED


@pytest.mark.requirement("X-80")
@pytest.mark.parametrize(
    ("setting", "provider", "model"),
    [
        ("openai:gpt-5-mini", ProviderName.OPENAI, "gpt-5-mini"),
        ("claude:claude-haiku-4-5", ProviderName.CLAUDE, "claude-haiku-4-5"),
        ("anthropic:claude-haiku-4-5", ProviderName.CLAUDE, "claude-haiku-4-5"),
        ("gemini:gemini-2.5-flash", ProviderName.GEMINI, "gemini-2.5-flash"),
        ("Ollama:llama3.2:1b", ProviderName.OLLAMA, "llama3.2:1b"),
        ("scripted:", ProviderName.SCRIPTED, ""),
    ],
)
async def test_a_string_names_provider_and_model(setting: str, provider: ProviderName, model: str) -> None:
    found = await chosen(setting)

    assert found is not None
    assert (found.provider, found.model, found.address) == (provider, model, OWN_ADDRESS[provider])


async def test_a_string_may_name_an_address() -> None:
    found = await chosen("openai:qwen3:8b@http://127.0.0.1:8080/v1/")

    assert found is not None
    assert (found.model, found.address) == ("qwen3:8b", "http://127.0.0.1:8080/v1")


async def test_a_digest_is_part_of_the_model_and_no_address() -> None:
    found = await chosen("ollama:llama3@sha256:abc")

    assert found is not None
    assert found.model == "llama3@sha256:abc"


@pytest.mark.parametrize("setting", ["gpt-5", "mystery:model", ":model", "openai:"])
async def test_a_setting_that_names_no_model_is_refused(setting: str) -> None:
    from festinger.errors import BadInput

    with pytest.raises(BadInput):
        await chosen(setting)


async def test_an_unknown_provider_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(BadSetting) as raised:
        await chosen("mystery:model")
    assert "`claude`" in raised.value.hint


async def test_a_key_of_the_environment_goes_to_the_providers_own_address() -> None:
    found = await chosen("openai:gpt-5", OPENAI_API_KEY="sk-env")

    assert found is not None
    assert found.api_key is not None
    assert found.api_key.get_secret_value() == "sk-env"


@pytest.mark.requirement("X-86")
async def test_a_key_of_the_environment_goes_to_no_other_address() -> None:
    found = await chosen("openai:gpt-5@http://127.0.0.1:1/v1", OPENAI_API_KEY="sk-env")

    assert found is not None
    assert found.api_key is None


@pytest.mark.requirement("X-86")
async def test_an_address_in_the_environment_is_not_followed() -> None:
    elsewhere = "https://elsewhere.example.com"

    for setting in ("openai:m", "ollama:m", "claude:m", "gemini:m"):
        found = await chosen(
            setting,
            OPENAI_BASE_URL=elsewhere,
            OLLAMA_HOST=elsewhere,
            OLLAMA_BASE_URL=elsewhere,
            ANTHROPIC_BASE_URL=elsewhere,
        )
        assert found is not None
        assert found.address == OWN_ADDRESS[found.provider]


async def test_only_public_services_need_a_key() -> None:
    assert needs_api_key(build_endpoint(ProviderName.CLAUDE, "m"))
    assert not needs_api_key(build_endpoint(ProviderName.OLLAMA, "m"))
    assert not needs_api_key(STORED)
