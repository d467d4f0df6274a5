"""Stories use the homes that the store's own tests use, and one guest process for all of them."""

from collections.abc import Iterator

import pytest
from tests.cli.conftest import person
from tests.store.conftest import grown, home, place
from tests.stories.guest import Guest

__all__ = ["grown", "home", "person", "place"]


@pytest.fixture(scope="session")
def guest() -> Iterator[Guest]:
    """A process for clients that need one of their own; started when the first of them is used."""
    guest = Guest()
    yield guest
    guest.close()
