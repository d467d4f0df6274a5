"""What does a process know of one space without asking anybody?

`World` holds the vocabulary, the edges and what is disputed, by the keys under which they are looked up. Reading
touches nothing else. Edges of a concept are one tuple, which is swapped whole: a reader sees the old or the new
state of a concept and never a mixture. Bringing it up to date is `following`'s matter.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from festinger.world.collision import closes_cycle, is_above
from festinger.world.concept import SoasRow
from festinger.world.edge import UrdEdge

Slot = tuple[int, int]
"""A concept and a dimension."""

SETTLED_FOR = timedelta(days=30)
"""How long a dismissed statement is not asked about again."""


class World:
    """One space in memory."""

    __slots__ = (
        "aliases",
        "dimensions",
        "dismissed",
        "pending_slots",
        "soas_by_id",
        "soas_by_token",
        "urd_by_concept",
        "version",
    )

    def __init__(
        self,
        *,
        soas_by_token: Mapping[str, SoasRow] | None = None,
        soas_by_id: Mapping[int, str] | None = None,
        urd_by_concept: Mapping[int, Iterable[UrdEdge]] | None = None,
        urd_by_concept_dim: Mapping[Slot, UrdEdge] | None = None,
        pending_conflicts: Iterable[int] = (),
    ) -> None:
        self.soas_by_token: dict[str, SoasRow] = dict(soas_by_token or {})
        self.soas_by_id: dict[int, str] = dict(soas_by_id or {})
        self.urd_by_concept: dict[int, tuple[UrdEdge, ...]] = {}
        self.dimensions: set[int] = set()
        self.aliases: dict[str, int] = {}
        self.dismissed: dict[tuple[int, int, int], datetime] = {}
        self.pending_slots: set[Slot] = set()
        self.version = 0
        for row in self.soas_by_token.values():
            self.soas_by_id.setdefault(row.id, row.token)
        for edges in (urd_by_concept or {}).values():
            self.put_all(edges)
        self.put_all((urd_by_concept_dim or {}).values())
        for concept in pending_conflicts:
            self.pending_slots.update(edge.slot for edge in self.edges(concept))

    @property
    def urd_by_concept_dim(self) -> "SlotView":
        """The edges by slot."""
        return SlotView(self)

    @property
    def pending_conflicts(self) -> set[int]:
        """The concepts that have a disputed slot."""
        return {concept for concept, _ in self.pending_slots}

    def row(self, token: str) -> SoasRow | None:
        """What is known of a word, by any of its names."""
        if token in self.aliases:
            return self.soas_by_token.get(self.soas_by_id.get(self.aliases[token], ""))
        return self.soas_by_token.get(token)

    def rows(self, tokens: Collection[str]) -> Iterator[SoasRow]:
        """What is known of words, by any of their names, in their order."""
        by_name = self.soas_by_token.get if self.aliases.keys().isdisjoint(tokens) else self.row
        return filter(None, map(by_name, tokens))

    @property
    def dimension_names(self) -> "DimensionNames":
        return DimensionNames(self)

    def knows(self, token: str) -> bool:
        return token in self.soas_by_token or token in self.aliases

    def edges(self, concept: int) -> tuple[UrdEdge, ...]:
        return self.urd_by_concept.get(concept, ())

    def slot(self, concept: int, dim: int) -> UrdEdge | None:
        for edge in self.urd_by_concept.get(concept, ()):
            if edge.dim_id == dim:
                return edge
        return None

    def parent_in(self, dim: int, concept: int) -> int | None:
        edge = self.slot(concept, dim)
        return edge.parent_id if edge else None

    def would_cycle(self, concept: int, parent: int, dim: int) -> bool:
        return closes_cycle(concept, parent, lambda above: self.parent_in(dim, above))

    def has_above(self, ancestor: int, concept: int, dim: int) -> bool:
        return is_above(ancestor, concept, lambda above: self.parent_in(dim, above))

    def is_settled(self, concept: int, dim: int, *, parent: int, now: datetime) -> bool:
        """Whether this very statement was dismissed not long ago."""
        at = self.dismissed.get((concept, dim, parent))
        return at is not None and now - at < SETTLED_FOR

    def put_row(self, row: SoasRow) -> None:
        self.soas_by_token[row.token] = row
        self.soas_by_id[row.id] = row.token

    def put_all(self, edges: Iterable[UrdEdge]) -> None:
        for edge in edges:
            self.put(edge)

    def put(self, edge: UrdEdge) -> None:
        """Let an edge stand in its slot, whatever stood there."""
        self.dimensions.add(edge.dim_id)
        if not edge.is_root:
            others = tuple(one for one in self.edges(edge.id) if one.dim_id != edge.dim_id)
            self.urd_by_concept[edge.id] = (*others, edge)

    def clear(self, concept: int, dim: int) -> None:
        """Empty a slot."""
        left = tuple(edge for edge in self.edges(concept) if edge.dim_id != dim)
        if left:
            self.urd_by_concept[concept] = left
        else:
            self.urd_by_concept.pop(concept, None)

    def drop_row(self, concept: int) -> None:
        """Know a word no more."""
        token = self.soas_by_id.pop(concept, None)
        if token is not None:
            self.soas_by_token.pop(token, None)
        self.urd_by_concept.pop(concept, None)
        self.dimensions.discard(concept)


class SlotView(Mapping[Slot, UrdEdge]):
    """The edges by slot, read from where they stand by concept: a second dictionary would double the memory."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __getitem__(self, slot: Slot) -> UrdEdge:
        edge = self._world.slot(*slot)
        if edge is None:
            raise KeyError(slot)
        return edge

    def __iter__(self) -> Iterator[Slot]:
        for edges in self._world.urd_by_concept.values():
            for edge in edges:
                yield edge.slot

    def __len__(self) -> int:
        return sum(map(len, self._world.urd_by_concept.values()))


class DimensionNames(Container[str]):
    """Whether a word names a dimension of the space, without a list of all of them."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __contains__(self, token: object) -> bool:
        row = self._world.soas_by_token.get(token) if isinstance(token, str) else None
        return row is not None and row.id in self._world.dimensions
