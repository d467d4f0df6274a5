"""Where in the database do words stand that somebody asked to forget?

Anywhere: in messages, notes, results that were kept, reasons. So every column that can hold words is looked at, of
every table that belongs to a space, whoever owns it and whenever it was made, and the words are cut out of it. Keys,
references and closed sets of values hold no words and are left alone. Rows are erased by the rooms that own them;
this is what finds the copies that nobody thought of.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from psycopg import sql

from festinger.ids import SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, queries_of
from festinger.text.blocks import MARK, Cut

Q = queries_of("festinger.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    table: str
    name: str
    kind: str


async def sweep(transaction: Transaction, space: SpaceId, cuts: Iterable[Cut]) -> Counter[str]:
    """Cut words out of everything that a space keeps; how many rows of each table held some."""
    found: Counter[str] = Counter()
    wanted = list(cuts)
    columns = await columns_of_words(transaction) if wanted else []
    for column in columns:
        for cut in wanted:
            found[column.table] += await _clean(transaction, space, column, cut)
    return +found


async def columns_of_words(transaction: Transaction) -> list[Column]:
    """Every column of a space's tables that may hold words of people."""
    rows = await transaction.all(Q["columns_of_words"])
    return [Column(table=row["relation"], name=row["name"], kind=row["kind"]) for row in rows]


async def _clean(transaction: Transaction, space: SpaceId, column: Column, cut: Cut) -> int:
    if column.kind == "jsonb":
        return await _clean_documents(transaction, space, column, cut)
    query = Q["cut_text" if column.kind == "text" else "cut_texts"]
    return await transaction.run(_of(query, column), space=space, pattern=cut.pattern, mark=MARK)


async def _clean_documents(transaction: Transaction, space: SpaceId, column: Column, cut: Cut) -> int:
    """Documents are cut here, text by text: a pattern over their whole could tear their brackets."""
    rows = await transaction.all(_of(Q["find_documents"], column), space=space, pattern=cut.json_pattern)
    for row in rows:
        document = json.dumps(cut.out_of_json(row["document"]), ensure_ascii=False)
        await transaction.run(
            _of(Q["put_document"], column), space=space, place=row["place"], document=document
        )
    return len(rows)


def _of(query: Query, column: Column) -> Query:
    """The statement over one column. Names come from the catalogue, and are quoted by psycopg."""
    places = {"{table}": column.table, "{column}": column.name}
    text = query.sql
    for place, name in places.items():
        text = text.replace(place, sql.Identifier(name).as_string(None))
    return replace(query, sql=text)


async def vacuum(store: Store) -> None:
    """Give the room of erased rows back, so that nothing of them is left in the files."""
    async with store.apart() as connection:
        await connection.execute(Q["vacuum_everything"].sql)
