"""The pages over an open house, and keys to come in with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.runtime.server import opened
from tests.web.asgi import Got, ask

from festinger.ids import EVERY_SPACE, SpaceId
from festinger.runtime.app import App
from festinger.runtime.supervisor import Supervisor
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole
from festinger.web.app import build_admin_app


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    app: App
    supervisor: Supervisor
    pages: Any
    key: str
    """Of an administrator."""

    async def ask(self, method: str, target: str, **more: Any) -> Got:
        return await ask(self.pages, method, target, **{"key": self.key, **more})

    async def new_key(self, role: AccessRole, space: str = EVERY_SPACE, name: str = "") -> str:
        _, secret = await issue_key(
            self.app, name or role.value, role=role, space=SpaceId(space), agent=None, by="test"
        )
        return secret


def kept(app: App) -> Supervisor:
    """A keeper whose app is open already."""
    supervisor = Supervisor(app.settings, _never)
    supervisor.app = app
    return supervisor


def _never() -> Any:
    raise AssertionError("it is open already")


@asynccontextmanager
async def deps(url: str, folder: Path, **how: Any) -> AsyncIterator[Desk]:
    async with opened(url, folder, **how) as app:
        _, secret = await issue_key(app, "root", role=AccessRole.ADMIN, space=EVERY_SPACE, agent=None, by="test")
        supervisor = kept(app)
        yield Desk(app=app, supervisor=supervisor, pages=build_admin_app(supervisor), key=secret)
