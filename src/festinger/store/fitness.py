"""Is this database server one that we can live on?

PostgreSQL 15 and pgvector 0.8 are the oldest that have what the queries use (`iterative_scan` and `halfvec`).
Asked once whenever a store is opened or migrated; the answer names what was
found. Which server is used, and how it came to run, is decided elsewhere.
"""

from dataclasses import dataclass

from festinger.errors import StoreUnfit
from festinger.store.line import Connection
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

OLDEST_POSTGRES = 15
OLDEST_PGVECTOR = (0, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What a server has. `installed` is of this database, `available` what it could install."""

    postgres: int
    """As the server counts: 180001 is 18.1."""
    installed: str | None
    available: str | None

    @property
    def pgvector(self) -> str | None:
        return self.installed or self.available

    def __str__(self) -> str:
        major, minor = divmod(self.postgres, 10_000)
        extension = f"pgvector {self.pgvector}" if self.pgvector else "no pgvector"
        return f"PostgreSQL {major}.{minor} with {extension}"


def is_fit(versions: Versions) -> bool:
    if versions.postgres < OLDEST_POSTGRES * 10_000 or versions.pgvector is None:
        return False
    return _numbers(versions.pgvector) >= OLDEST_PGVECTOR


async def versions(connection: Connection) -> Versions:
    cursor = await connection.execute(Q["find_versions"].sql)
    row = await cursor.fetchone()
    assert row is not None
    return Versions(**row)


async def require_fit(connection: Connection) -> Versions:
    """The versions of the server; `StoreUnfit` names them when they are too old."""
    found = await versions(connection)
    if not is_fit(found):
        raise StoreUnfit(
            f"Found {found}; PostgreSQL {OLDEST_POSTGRES} and pgvector {_dotted(OLDEST_PGVECTOR)} are the oldest that fit.",
            hint=_remedy(found),
            postgres=found.postgres,
            pgvector=found.pgvector,
        )
    return found


def _remedy(found: Versions) -> str | None:
    if found.installed and found.available and _numbers(found.available) >= OLDEST_PGVECTOR:
        return "Run `alter extension vector update` in this database."
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
