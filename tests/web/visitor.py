"""A person at the console without a browser: logs in, reads pages, sends their forms back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from tests.web.asgi import Got
from tests.web.deps import Desk

from festinger.store.repositories.auth import AccessRole
from festinger.web.auth import COOKIE

ORIGIN = "http://localhost:11435"
FORM = "application/x-www-form-urlencoded"
ON_EVERY_PAGE = ("/admin/memories", "/admin/theme")


@dataclass(slots=True, kw_only=True)
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    label: str = ""


class Forms(HTMLParser):
    """The forms of a page, by what their button says."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._in_button = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(action=given["action"]))
        elif tag == "input" and self.found and "name" in given:
            self.found[-1].fields[given["name"]] = given.get("value", "")
        self._in_button = tag == "button"

    def handle_data(self, data: str) -> None:
        if self._in_button:
            self.found[-1].label += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._in_button = False


def forms_of(page: Got) -> list[Form]:
    read = Forms()
    read.feed(page.text)
    return [form for form in read.found if form.action.partition("?")[0] not in ON_EVERY_PAGE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    deps: Desk
    cookie: str

    async def get(self, target: str) -> Got:
        return await self.deps.ask("GET", target, key=None, headers={"cookie": f"{COOKIE}={self.cookie}"})

    async def post(self, target: str, fields: Mapping[str, str], *, origin: str | None = ORIGIN, **more: Any) -> Got:
        headers = {"cookie": f"{COOKIE}={self.cookie}", "content-type": FORM}
        if origin is not None:
            headers["origin"] = origin
        return await self.deps.ask("POST", target, key=None, headers=headers, body=urlencode(fields).encode(), **more)

    async def press(self, page: Got, label: str, **typed: str) -> Got:
        """Send the first form whose button says this."""
        form = next(form for form in forms_of(page) if form.label == label)
        return await self.post(form.action, {**form.fields, **typed})


async def visitor(deps: Desk, name: str = "ann") -> Visitor:
    """Somebody who came in by a link."""
    link = await deps.app.logins.invite(name)
    _, cookie = await deps.app.logins.enter(link, address="test")
    return Visitor(deps=deps, cookie=cookie)


async def visitor_with_key(deps: Desk, role: AccessRole, space: str = "*") -> Visitor:
    """Somebody who came in by showing a key."""
    secret = await deps.new_key(role, space, name=f"{role}-{space}")
    _, cookie = await deps.app.logins.enter(secret, address="test")
    return Visitor(deps=deps, cookie=cookie)
