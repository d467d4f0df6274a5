"""Homes for the embedded server: short enough for sockets, and reachable for its user when tests run as root."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.homes import Home, copy_as_it_is, opened, reachable_folder


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder that the server's user can pass through."""
    folder = reachable_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def fresh(place: Path) -> Home:
    """A home that was never used."""
    return Home(path=place / "home", config=place / "config")


@pytest.fixture(scope="session")
def grown() -> Iterator[Home]:
    """A home whose cluster was made once for this worker; never started itself."""
    folder = reachable_folder()
    home = Home(path=folder / "home", config=folder / "config")

    async def grow() -> None:
        async with opened(home):
            pass

    asyncio.run(grow())
    yield home
    shutil.rmtree(folder)


@pytest.fixture
def home(place: Path, grown: Home) -> Home:
    """A home of its own with a cluster in it, copied with owners and modes."""
    copy = Home(path=place / "home", config=place / "config")
    for source, target in ((grown.path, copy.path), (grown.config, copy.config)):
        copy_as_it_is(source, target)
    return copy
