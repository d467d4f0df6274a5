"""The upstream's health as data."""

from tests.proxy.transport.test_upstream import free_port
from tests.upstream import Peer, Received, always, reply, scripted

from festinger.observability.checks import CheckSeverity
from festinger.proxy.health import check_upstreams
from festinger.proxy.transport.upstream import open_upstream
from festinger.settings.tree import ProxySettings, UpstreamSettings


async def test_an_upstream_that_answers_at_all_is_well():
    async with scripted(always(reply("401 Unauthorized"))) as stub, open_upstream() as upstream:
        (check,) = await check_upstreams(upstream, ProxySettings(upstream=stub.url))

    assert (check.severity, check.details["upstream"], check.details["status"]) == (CheckSeverity.OK, stub.url, 401)


async def test_each_upstream_that_is_away_is_named_with_what_to_do():
    away = f"http://127.0.0.1:{free_port()}"

    async with scripted(always(reply())) as stub, open_upstream() as upstream:
        settings = ProxySettings(upstream=stub.url, upstreams=UpstreamSettings(openai=away))
        checks = await check_upstreams(upstream, settings)

    assert [check.severity for check in checks] == [CheckSeverity.OK, CheckSeverity.WARN]
    assert away in checks[1].message
    assert "proxy.upstream" in checks[1].remedy


async def test_an_upstream_that_only_listens_is_silent():
    async def script(_request: Received, peer: Peer) -> bool:
        await peer.left()
        return False

    async with scripted(script) as stub, open_upstream() as upstream:
        (check,) = await check_upstreams(upstream, ProxySettings(upstream=stub.url), patience=0.05)

    assert (check.severity, check.details["kind"]) == (CheckSeverity.WARN, "silent")
