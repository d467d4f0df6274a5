"""Asking a Festinger that runs elsewhere: addresses, keys, and errors that come back as what they were."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.proxy_server import open_door

from festinger import errors
from festinger.errors import BadFact, BadInput, FestingerError, NotAuthenticated, ServerAway, Stale
from festinger.ids import EVERY_SPACE
from festinger.proxy.remote_client import check_server_address, open_remote, rebuild_remote_error
from festinger.store.repositories.auth import AccessRole, ApiKey

KEY = ApiKey(
    space=EVERY_SPACE,
    id=UUID(int=1),
    name="x",
    role=AccessRole.REVIEWER,
    agent=None,
    created_at=datetime(2026, 1, 5, tzinfo=UTC),
)


@asynccontextmanager
async def server(status: int, body: bytes, asked: list[dict[str, Any]]) -> AsyncIterator[str]:
    """One of our own doors whose pages answer always the same."""

    async def own(scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        message = await receive()
        asked.append(
            {
                "path": scope["path"],
                "query": scope["query_string"].decode(),
                "headers": headers,
                "body": message["body"],
            }
        )
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def find_key(secret: str) -> ApiKey | None:
        return KEY if secret == "fst_x" else None

    async with open_door("http://127.0.0.1:9", own=own, find_key=find_key) as door:
        yield door.url


async def test_a_server_is_asked_with_space_key_and_body():
    asked: list[dict[str, Any]] = []
    async with server(200, b'{"ok":true}', asked) as url:
        async with open_remote(f"{url}/", space="team", key="fst_x") as there:
            answer = await there.ask("POST", "/iknowthat", body={"facts": ["a"]}, dry_run="true")

    (request,) = asked
    assert answer == {"ok": True}
    assert (request["path"], request["query"]) == ("/iknowthat", "space=team&dry_run=true")
    assert request["headers"]["x-festinger-key"] == "fst_x"
    assert orjson.loads(request["body"]) == {"facts": ["a"]}


@pytest.mark.parametrize("kind", [BadFact, NotAuthenticated, Stale], ids=lambda kind: kind.class_name())
async def test_an_error_there_is_the_same_error_here(kind: type[FestingerError]):
    body = orjson.dumps(kind("Not so.", hint="Do this.", present=1).as_json("req"))
    async with server(kind.http, body, []) as url:
        async with open_remote(url) as there:
            with pytest.raises(kind) as caught:
                await there.ask("GET", "/conflicts")

    assert (caught.value.message, caught.value.hint, caught.value.exit) == ("Not so.", "Do this.", kind.exit)
    assert caught.value.details == {"present": 1}


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>"), (404, b"404 page not found"), (500, b'{"error":"x"}'), (502, b"[]")],
    ids=["a page", "another server", "another shape", "a list"],
)
async def test_what_is_no_festinger_is_told_as_such(status: int, body: bytes):
    async with server(status, body, []) as url:
        async with open_remote(url) as there:
            with pytest.raises(ServerAway, match="no Festinger"):
                await there.ask("GET", "/conflicts")


async def test_nobody_there_is_told_with_the_address():
    gone = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = gone.sockets[0].getsockname()[1]
    gone.close()
    await gone.wait_closed()
    async with open_remote(f"http://127.0.0.1:{port}") as there:
        with pytest.raises(ServerAway, match=str(port)):
            await there.ask("GET", "/conflicts")


def test_every_error_of_the_tree_can_come_back():
    tree = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FestingerError)]
    found = [rebuild_remote_error({"name": kind.class_name(), "message": "m", "hint": "h"}) for kind in tree]

    assert len(tree) > 30
    # What has no name of its own comes back as what it is a kind of.
    own = [kind if "class_name" not in vars(kind) else kind.__mro__[1] for kind in tree[1:]]
    assert [type(error) for error in found] == [tree[0], *own]
    assert {(error.message, error.hint) for error in found} == {("m", "h")}


def test_an_error_of_a_newer_server_is_a_fault_with_its_words():
    found = rebuild_remote_error({"name": "from_the_future", "message": "m", "hint": "h", "details": {"a": 1}})

    assert (type(found), found.message) == (FestingerError, "m")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost",
        "ftp://x",
        "http://",
        "http://x:99999",
        "http://u:p@x",
        "http://x/?a=1",
        "http://x#y",
        "http://[x",
    ],
    ids=range(9),
)
def test_what_is_no_address_is_refused(address: str):
    with pytest.raises(BadInput):
        check_server_address(address)


@given(st.text(max_size=30))
def test_a_text_that_is_an_address_stays_one(text: str):
    with suppress(BadInput):
        once = check_server_address(text)
        assert once.startswith("http")
        assert check_server_address(once) == once


async def test_a_wrong_key_is_told_as_such_although_the_guard_has_words_of_its_own():
    async with server(200, b"{}", []) as url:
        async with open_remote(url, key="fst_wrong") as there:
            with pytest.raises(NotAuthenticated, match="not known"):
                await there.ask("GET", "/conflicts")
