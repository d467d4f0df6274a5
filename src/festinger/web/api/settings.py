"""HTTP API for settings: list, change and reset them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.ids import EVERY_SPACE, SpaceId
from festinger.runtime.settings import change_setting, reset_setting
from festinger.settings.sources import Setting
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()


class ChangeSettingRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: str | int | float | bool | list[str]


@ROUTES.add("GET", "/admin/api/config", AccessScope.ADMIN)
async def list_settings(call: AdminCall) -> Response:
    """Every setting with value, default and source."""
    found, waiting = call.supervisor.settings.loaded(call.space).settings(), _waiting(call)
    return json_response({"items": [_record(setting, waiting) for setting in found], "next": None})


@ROUTES.add("PUT", "/admin/api/config/{key}", AccessScope.ADMIN)
async def put_setting(call: AdminCall) -> Response:
    """Change a setting."""
    body = await call.body(ChangeSettingRequest)
    before, after = await change_setting(call.app, _key(call), _text(body.value), by=call.by, space=_space(call))
    return json_response(
        {
            "key": after.key.name,
            "old": before.value,
            "new": _waiting(call).get(after.key.name, after.value),
            "restart": after.key.restart,
        }
    )


@ROUTES.add("DELETE", "/admin/api/config/{key}", AccessScope.ADMIN)
async def delete_setting(call: AdminCall) -> Response:
    """Take a change back."""
    after = await reset_setting(call.app, _key(call), by=call.by, space=_space(call))
    return json_response({"key": after.key.name, "value": after.value, "source": str(after.source)})


def _waiting(call: AdminCall) -> dict[str, str]:
    """Settings whose new value waits for a restart, with that value."""
    return {change.key: change.new for change in call.supervisor.settings.needs_restart}


def _key(call: AdminCall) -> str:
    return str(call.request.path_params["key"])


def _space(call: AdminCall) -> SpaceId:
    """The space that the caller names; without one, a value is for all spaces."""
    return call.space if "space" in call.request.query_params else EVERY_SPACE


def _text(value: str | int | float | bool | list[str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)


def _record(setting: Setting, waiting: Mapping[str, str]) -> dict[str, Any]:
    return {
        "key": setting.key.name,
        "value": setting.value,
        "default": setting.default,
        "source": str(setting.source),
        "meaning": setting.key.meaning,
        "pinned": setting.pinned,
        "restart": setting.key.restart,
        "needs_restart": setting.key.name in waiting,
        "after_restart": waiting.get(setting.key.name),
    }
