"""What every test may ask for: a fixed moment, a database of its own, and the marks of requirements."""

import gc
import logging
import os
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest
import structlog

from festinger.settings.tree import StoreSettings
from festinger.store.pool import Store, open_store
from tests import database

pytest_plugins = ["tests.proofs", "tests.leftovers"]

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)

# What is right depends neither on how busy the machine is nor on luck: a run tries the same inputs as the one before.
# New ones are looked for by `make explore`.
hypothesis.settings.register_profile(
    "unhurried",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "exploring", hypothesis.settings.get_profile("unhurried"), derandomize=False, max_examples=1000
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))

# By default a traceback shows the values of all its variables, which takes 20 seconds where an app is among them.
structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback

DATABASE_FIXTURES = {"run_folder", "place", "grown"}

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0", "::")


@pytest.fixture(autouse=True)
def _own_settings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no setting of the person who runs them, and no provider beyond this machine."""
    for name in list(os.environ):
        if name.startswith("FESTINGER_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FESTINGER_OFFLINE", "1")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Commands set up the log and the signals of their process; tests share one."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    logging.captureWarnings(False)
    root.handlers[:] = before
    root.setLevel(level)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    """Nothing in a test may reach beyond this machine."""
    real = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(LOOPBACK):
            raise AssertionError(f"a test tried to reach {address}")
        real(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign,assignment]
    yield
    socket.socket.connect = real  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _no_public_authorities() -> Iterator[None]:
    """Clients trust no authority of the web: none is ever met, and reading them takes 30 ms a client."""

    def guarded(self: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cafile != certifi.where():
            super(ssl.SSLContext, self).load_verify_locations(cafile, capath, cadata)

    ssl.SSLContext.load_verify_locations = guarded  # type: ignore[method-assign]
    yield
    del ssl.SSLContext.load_verify_locations


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture
def database_url(run_folder: Path) -> Iterator[str]:
    """A fresh, migrated database."""
    url = database.clone(run_folder)
    yield url
    database.drop(run_folder, url)


@pytest.fixture
def empty_database_url(run_folder: Path) -> Iterator[str]:
    """A fresh database without any schema."""
    url = database.empty(run_folder)
    yield url
    database.drop(run_folder, url)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    """An open store on a database of its own."""
    async with open_store(database_url, StoreSettings(), door="test") as opened:
        yield opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for a database or for a home with one, so that `make quick` can leave it out."""
    for item in items:
        # A parameter of a test may have the name of a fixture.
        parameters = item.callspec.params if hasattr(item, "callspec") else ()
        if DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ())).difference(parameters):
            item.add_marker(pytest.mark.postgres)


def pytest_collection_finish() -> None:
    # A million objects stay to the end from here on; no collection of garbage needs to look at them again.
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        factory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        database.stop_server(factory.getbasetemp())
