"""Stories use the homes that the store's own tests use."""

from tests.store.conftest import grown, home, place

__all__ = ["grown", "home", "place"]
