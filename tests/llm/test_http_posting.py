"""How is a message posted to an address that a person named?"""

import socket

import pytest
from tests.runtime.review.test_webhook import listening

from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.http import post_webhook


@pytest.mark.requirement("H-82")
async def test_a_message_is_posted_as_it_is_and_its_headers_with_it():
    async with listening() as listener:
        status = await post_webhook(listener.url, b'{"a": 1}', headers={"Festinger-Event": "x"})

    ((named, body),) = listener.heard
    assert (status, body, named["Festinger-Event"]) == (200, b'{"a": 1}', "x")
    assert named["User-Agent"].startswith("festinger/")


@pytest.mark.parametrize(
    ("status", "error"), [(500, ProviderDown), (429, ProviderDown), (302, ProviderRefused), (410, ProviderRefused)]
)
async def test_an_answer_says_whether_trying_again_may_help(status: int, error: type[Exception]):
    async with listening() as listener:
        listener.status = status

        with pytest.raises(error):
            await post_webhook(listener.url, b"{}", headers={})

    assert len(listener.heard) == 1


async def test_nobody_there_is_told_later():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # held, and nobody listens on it

        with pytest.raises(ProviderDown):
            await post_webhook(f"http://127.0.0.1:{held.getsockname()[1]}/news", b"{}", headers={})


async def test_offline_nobody_beyond_this_machine_is_told_and_no_secret_of_an_address_is_shown():
    with pytest.raises(ProviderRefused) as refused:
        await post_webhook("https://example.org/hooks/secret", b"{}", headers={}, offline=True)

    assert "secret" not in refused.value.message


@pytest.mark.requirement("F-63")
async def test_nobody_is_told_at_a_link_local_address():
    async def resolve(_host: str) -> list[str]:
        return ["fe80::1%eth0"]

    async with listening() as listener:
        with pytest.raises(ProviderRefused, match="link-local or metadata"):
            await post_webhook(listener.url, b"{}", headers={}, resolve=resolve)

    assert listener.heard == []
