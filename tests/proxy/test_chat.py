"""What passes through the door arrives as it was sent, both ways."""

from tests.proxy.doors import exchange, open_door, request
from tests.upstream import always, reply, scripted

CHAT = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


async def test_an_answer_comes_back_as_it_was_given():
    async with scripted(always(reply("200 OK", b'{"a": 1}'))) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert (got.status, got.body) == (200, b'{"a": 1}')
    assert upstream.received[0].body == CHAT
