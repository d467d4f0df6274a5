import asyncio
from itertools import islice, pairwise

import psycopg
import pytest
from psycopg import OperationalError
from psycopg.types import TypeInfo

from festinger.clock import backoff_delays
from festinger.settings.tree import StoreSettings
from festinger.store.connection import FIRST_PAUSE, LONGEST_PAUSE, DatabaseConnector


@pytest.mark.requirement("X-26")
def test_pauses_grow_from_a_tenth_of_a_second_to_five_seconds_and_never_end() -> None:
    first = list(islice(backoff_delays(FIRST_PAUSE, LONGEST_PAUSE), 100))

    assert first[0] == FIRST_PAUSE == 0.1
    assert max(first) == LONGEST_PAUSE == 5.0
    assert all(before <= after <= 2 * before for before, after in pairwise(first))


@pytest.mark.requirement("X-27")
async def test_trouble_names_the_reason_and_never_the_password() -> None:
    line = DatabaseConnector("postgresql://ann:s3cret@127.0.0.1:1/s3cret", StoreSettings(), door="test")

    with pytest.raises(OperationalError) as caught:
        await line.connect_once()

    assert line.trouble is not None
    assert "127.0.0.1" in line.trouble
    assert "s3cret" not in line.trouble + str(caught.value)


async def test_a_line_that_was_hung_up_tries_no_more() -> None:
    line = DatabaseConnector("postgresql://ann@127.0.0.1:1/notes", StoreSettings(), door="test")
    line.stop_retrying()

    with pytest.raises(OperationalError):
        await line.connect_with_retries()


async def test_a_connection_that_could_not_be_configured_is_closed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    async def interrupted(connection: psycopg.AsyncConnection[object], _name: str) -> None:
        made.append(connection)
        raise asyncio.CancelledError

    monkeypatch.setattr(TypeInfo, "fetch", interrupted)

    with pytest.raises(asyncio.CancelledError):
        await DatabaseConnector(database_url, StoreSettings(), door="test").connect_once()

    assert [connection.closed for connection in made] == [True]
