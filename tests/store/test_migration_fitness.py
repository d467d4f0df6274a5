import pytest

from festinger.errors import StoreUnfit
from festinger.store.migration import ServerVersions, is_supported, require_supported_server
from festinger.store.pool import Store


def found(postgres: int, installed: str | None, available: str | None = None) -> ServerVersions:
    return ServerVersions(postgres=postgres, installed=installed, available=available)


@pytest.mark.requirement("X-20")
@pytest.mark.parametrize(
    ("versions", "fits"),
    [
        (found(150_000, "0.8.0"), True),
        (found(180_001, "0.8.5"), True),
        (found(180_001, "0.10.0"), True),
        (found(180_001, "1.0"), True),
        (found(180_001, None, "0.8.1"), True),
        (found(149_999, "0.8.0"), False),
        (found(180_001, "0.7.4"), False),
        (found(180_001, "0.7.4", "0.8.1"), False),
        (found(180_001, None, "0.7.9"), False),
        (found(180_001, None, None), False),
    ],
)
def test_a_server_fits_from_postgres_15_and_pgvector_0_8_on(versions: ServerVersions, fits: bool) -> None:
    assert is_supported(versions) is fits


def test_versions_read_as_people_write_them() -> None:
    assert str(found(160_004, "0.7.4")) == "PostgreSQL 16.4 with pgvector 0.7.4"
    assert str(found(140_011, None)) == "PostgreSQL 14.11 with no pgvector"


class Row:
    def __init__(self, row: dict[str, object]) -> None:
        self._row = row

    async def fetchone(self) -> dict[str, object]:
        return self._row


class Server:
    """A connection to a server that says these versions."""

    def __init__(self, **row: object) -> None:
        self._row = row

    async def execute(self, _sql: str) -> Row:
        return Row(self._row)


@pytest.mark.requirement("X-20")
async def test_an_unfit_server_is_refused_with_the_versions_found() -> None:
    old = Server(postgres=140_011, installed="0.7.4", available="0.7.4")

    with pytest.raises(StoreUnfit, match=r"PostgreSQL 14\.11 with pgvector 0\.7\.4") as caught:
        await require_supported_server(old)  # type: ignore[arg-type]

    assert caught.value.details == {"postgres": 140_011, "pgvector": "0.7.4"}


async def test_an_old_extension_on_a_new_server_is_told_how_to_update() -> None:
    behind = Server(postgres=180_001, installed="0.7.4", available="0.8.1")

    with pytest.raises(StoreUnfit) as caught:
        await require_supported_server(behind)  # type: ignore[arg-type]

    assert "alter extension vector update" in caught.value.hint


async def test_the_server_that_comes_with_the_install_fits(store: Store) -> None:
    async with store.apart() as connection:
        versions = await require_supported_server(connection)

    assert is_supported(versions)
