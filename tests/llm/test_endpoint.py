import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from festinger.errors import BadInput, ProviderRefused
from festinger.llm.endpoint import OWN_ADDRESS, ProviderName, build_endpoint, require_endpoint_allowed
from festinger.text.addresses import is_loopback_url


@pytest.mark.requirement("X-86")
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:11434",
        "http://127.8.9.1",
        "http://localhost:8080/v1",
        "http://[::1]:11434",
        "http://[::ffff:127.0.0.1]:1",
        "HTTP://LOCALHOST/v1",
    ],
)
def test_addresses_of_this_machine(address: str) -> None:
    assert is_loopback_url(address)
    assert require_endpoint_allowed(build_endpoint(ProviderName.OPENAI, "m", address=address), offline=True)


@pytest.mark.requirement("X-86")
@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com/v1",
        "http://10.0.0.1",
        "http://192.168.1.5:11434",
        "http://0.0.0.0:11434",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "http://2130706433",
        "http://[::ffff:8.8.8.8]",
        "http://example.com/127.0.0.1",
    ],
)
def test_an_address_beyond_this_machine_is_refused_when_offline(address: str) -> None:
    wanted = build_endpoint(ProviderName.OPENAI, "m", address=address)

    with pytest.raises(ProviderRefused, match="offline"):
        require_endpoint_allowed(wanted, offline=True)
    assert require_endpoint_allowed(wanted, offline=False) is wanted


@pytest.mark.requirement("X-86")
@pytest.mark.parametrize("provider", [ProviderName.CLAUDE, ProviderName.OPENAI, ProviderName.GEMINI])
def test_the_providers_own_addresses_are_beyond_this_machine(provider: ProviderName) -> None:
    with pytest.raises(ProviderRefused):
        require_endpoint_allowed(build_endpoint(provider, "m"), offline=True)


@pytest.mark.requirement("X-86")
def test_ollama_is_on_this_machine_unless_an_address_says_otherwise() -> None:
    assert (
        require_endpoint_allowed(build_endpoint(ProviderName.OLLAMA, "m"), offline=True).address
        == OWN_ADDRESS[ProviderName.OLLAMA]
    )


@given(st.ip_addresses())
def test_an_ip_is_on_this_machine_exactly_if_it_is_loopback(ip: object) -> None:
    host = f"[{ip}]" if ":" in str(ip) else str(ip)
    mapped = getattr(ip, "ipv4_mapped", None)

    assert is_loopback_url(f"http://{host}:1") is (mapped.is_loopback if mapped else ip.is_loopback)  # type: ignore[attr-defined]


@pytest.mark.parametrize("address", ["ftp://x", "127.0.0.1:80", "http://", "nonsense", "http://[::1", "http://h:99999"])
def test_what_is_no_http_address_is_refused(address: str) -> None:
    with pytest.raises(BadInput):
        build_endpoint(ProviderName.OLLAMA, "m", address=address)


@pytest.mark.requirement("X-93")
@pytest.mark.parametrize(
    "address", ["https://me:sk-canary@host/v1", "https://host/v1?key=sk-canary", "https://sk-canary@h"]
)
def test_an_address_with_a_secret_in_it_is_refused_without_being_shown(address: str) -> None:
    with pytest.raises(BadInput) as raised:
        build_endpoint(ProviderName.OPENAI, "m", address=address)
    assert "canary" not in str(raised.value) + raised.value.hint


@pytest.mark.requirement("X-93")
def test_the_key_of_an_endpoint_does_not_show() -> None:
    shown = build_endpoint(ProviderName.OPENAI, "m", api_key=SecretStr("sk-canary"))

    assert "canary" not in repr(shown) + shown.name + shown.server


def test_a_provider_without_a_model_is_refused() -> None:
    with pytest.raises(BadInput, match="Which model"):
        build_endpoint(ProviderName.OPENAI, "  ")
