"""Whether words are left anywhere: every column of every table that can hold them, and every file of a folder."""

from pathlib import Path

from tests.jobs.deps import rows
from tests.memory.remembering import Mind

from festinger.memory.erasure.erase import ErasureDeps, LetGo, build_forgotten_check
from festinger.store.erasure import ErasureLedger, open_erasure_ledger
from festinger.store.pool import Store

COLUMNS = """
select format('%%I.%%I', table_schema, table_name) as relation, quote_ident(column_name) as name
from information_schema.columns c
join information_schema.tables t using (table_schema, table_name)
where t.table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
"""


async def places_of(store: Store, *words: str) -> list[str]:
    """Every column, of whatever type, that holds one of the words, as text or as bytes."""
    found = []
    for column in await rows(store, COLUMNS):
        for word in words:
            held = await rows(
                store,
                f"select count(*) as n from {column['relation']} "
                f"where {column['name']}::text ilike %(text)s or {column['name']}::text ilike %(hex)s",
                text=f"%{word}%",
                hex=f"%{word.encode().hex()}%",
            )
            if held[0]["n"]:
                found.append(f"{column['relation']}.{column['name']}: {word}")
    return sorted(found)


def files_with(folder: Path, *words: str) -> list[str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        f"{path.name}: {word}" for path in files for word in words if word.lower().encode() in path.read_bytes().lower()
    ]


def ledger_in(folder: Path) -> ErasureLedger:
    return open_erasure_ledger(folder / "forgotten.ledger", secret=lambda size: b"s" * size)


def eraser_of(mind: Mind, ledger: ErasureLedger, *rooms: LetGo) -> ErasureDeps:
    """A mind that forgets, and knows again what it forgot."""
    object.__setattr__(mind.deps, "is_forgotten", build_forgotten_check(ledger))
    return ErasureDeps(deps=mind.deps, ledger=ledger, rooms=rooms)
