"""Which spaces are there?

Kept in memory, because every request names one; read again when a space comes, goes or changes its name.
"""

from festinger.errors import NotFound
from festinger.ids import SpaceId
from festinger.store.cache_invalidation import Change
from festinger.store.pool import Store
from festinger.store.repositories.spaces import spaces

ROOM = "spaces"
"""The name under which changes of the list are counted."""


class Directory:
    """The spaces by name and by id."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: dict[str, SpaceId] = {}

    def find(self, name: str) -> SpaceId | None:
        return self._ids.get(name)

    def need(self, name: str) -> SpaceId:
        """The id of the space that is called so; none is `NotFound`."""
        found = self.find(name)
        if found is None:
            raise NotFound(f"There is no space `{name[:80]}`.", hint="`festinger spaces list` shows them.")
        return found

    def ids(self) -> list[SpaceId]:
        """Every space."""
        return sorted(set(self._ids.values()))

    async def reload(self, _change: Change | None = None) -> None:
        found = await spaces(self._store)
        self._ids = {space.id: space.id for space in found} | {space.name: space.id for space in found}
