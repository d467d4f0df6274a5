import pytest
from tests.llm.stub import Stub, Turn

from festinger import __version__
from festinger.llm.endpoint import ProviderName, endpoint
from festinger.llm.transport import AnswerTooLarge, http_client


async def test_a_body_beyond_the_limit_is_not_read_to_its_end(stub: Stub) -> None:
    asked = endpoint(ProviderName.OPENAI, "m", address=stub.address)
    stub.says(Turn(body=b"x" * 2_000_000), Turn(body=b"x" * 1_000))

    async with http_client(asked, largest=1_000_000) as client:
        with pytest.raises(AnswerTooLarge):
            await client.post(stub.address, json={})
        assert len((await client.post(stub.address, json={})).content) == 1_000


async def test_requests_carry_one_name_and_it_is_ours(stub: Stub) -> None:
    asked = endpoint(ProviderName.OPENAI, "m", address=stub.address)

    async with http_client(asked) as client:
        await client.post(stub.address, json={}, headers={"User-Agent": "another"})

    assert stub.heard[0].headers["User-Agent"] == f"festinger/{__version__}"
