import pytest
from tests.llm.stub import Stub, Turn

from festinger import __version__
from festinger.errors import BadInput, ProviderRefused
from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.llm.http import AnswerTooLargeError, http_client


async def test_a_body_beyond_the_limit_is_not_read_to_its_end(stub: Stub) -> None:
    asked = build_endpoint(ProviderName.OPENAI, "m", address=stub.address)
    stub.says(Turn(body=b"x" * 2_000_000), Turn(body=b"x" * 1_000))

    async with http_client(asked, largest=1_000_000) as client:
        with pytest.raises(AnswerTooLargeError):
            await client.post(stub.address, json={})
        assert len((await client.post(stub.address, json={})).content) == 1_000


async def test_requests_carry_one_name_and_it_is_ours(stub: Stub) -> None:
    asked = build_endpoint(ProviderName.OPENAI, "m", address=stub.address)

    async with http_client(asked) as client:
        await client.post(stub.address, json={}, headers={"User-Agent": "another"})

    assert stub.heard[0].headers["User-Agent"] == f"festinger/{__version__}"


async def to_metadata(_host: str) -> list[str]:
    return ["127.0.0.1", "169.254.169.254"]


@pytest.mark.requirement("F-63")
async def test_a_name_that_leads_to_a_metadata_address_is_not_asked(stub: Stub) -> None:
    asked = build_endpoint(ProviderName.OPENAI, "m", address=stub.address)

    async with http_client(asked, resolve=to_metadata) as client:
        with pytest.raises(ProviderRefused, match="link-local or metadata"):
            await client.post(stub.address, json={})

    assert stub.heard == []


@pytest.mark.requirement("F-63")
@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"])
def test_no_model_is_stored_at_a_metadata_address(host: str) -> None:
    with pytest.raises(BadInput, match="link-local or metadata"):
        build_endpoint(ProviderName.OPENAI, "m", address=f"http://{host}/v1")
