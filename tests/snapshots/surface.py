"""Collects the outward surface of Festinger as readable text: routes, help, events, metrics, settings, jobs, names.

A restructuring must not change any of it unseen. The text holds no path, version or terminal width, so it is the same
on every machine. Tables, columns and indexes are pinned by the hashes of the
migrations and by `tests/store/test_schema.py`.
"""

import dataclasses
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from tests.reference import walk_errors
from typer.main import get_command

import festinger
from festinger.cli import gutask, main
from festinger.embedding import registry, reranker
from festinger.events.catalogue import CATALOGUE
from festinger.observability.metrics import LISTED
from festinger.proxy import routes
from festinger.runtime.app import App
from festinger.settings.keys import ALIASES, KEYS
from festinger.store.migration import load_own_migrations
from festinger.web.app import all_routes

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXPECTED = Path(__file__).parent / "expected"

WIDTH = 100
"""Columns of the help texts, whatever the terminal has."""


def recorded(name: str) -> str:
    return (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")


def as_text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def admin_routes() -> Iterator[str]:
    """Method, path and the scope that a caller needs."""
    for route in sorted(all_routes(), key=lambda each: (each.path, each.method)):
        marks = [route.scope.value, *(mark for mark in ("page", "keyless") if getattr(route, mark))]
        yield f"{route.method} {route.path}  {', '.join(marks)}"


def proxy_routes() -> Iterator[str]:
    """Path, protocol and treatment; the proxy forwards every method."""
    by_prefix = [dataclasses.replace(route, label=f"{prefix}*") for prefix, route in routes._BY_PREFIX]
    for route in sorted([*routes._EXACT.values(), *by_prefix], key=lambda each: each.label):
        yield _proxy_route(route)
    yield from (_proxy_route(route) for route in routes._OTHER.values())
    own = [*routes._OWN_EXACT, *(f"{prefix}*" for prefix in routes._OWN_PREFIXES)]
    yield from (f"{path}  not forwarded" for path in sorted(own))


def _proxy_route(route: routes.ProxyRoute) -> str:
    limit = ", limited body" if route.limited else ""
    return f"{route.label}  {route.protocol}, {route.treatment}, {route.framing}{limit}"


def cli_help() -> Iterator[str]:
    """The help text of every command and group, hidden ones included."""
    for app in (main.command_line(), gutask.command_line()):
        yield from _help(get_command(app), str(app.info.name), parent=None)


def _help(command: Any, name: str, *, parent: Any) -> Iterator[str]:
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = command.context_class(command, info_name=name, parent=parent, **settings)
    hidden = "  (hidden)" if command.hidden else ""
    yield f"$ {context.command_path} --help{hidden}\n{command.get_help(context)}\n"
    for below in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _help(command.get_command(context, below), below, parent=context)


def events() -> Iterator[str]:
    """Name, version and payload of every event."""
    for name, shape in sorted(CATALOGUE.items()):
        yield f"{name} v{shape.version}{' audit' if shape.audit else ''}"
        yield from (f"  {field}: {kind.name}" for field, kind in sorted(shape.fields.items()))


def metrics() -> list[str]:
    """Name as scraped, type and labels."""
    return sorted(f"{each.scraped_name} {each.kind} {{{', '.join(each.labels)}}}" for each in LISTED)


def settings() -> Iterator[str]:
    """Name, default, what a value may be, and when it takes effect."""
    for name, key in sorted(KEYS.items()):
        kind = json.dumps(key.adapter.json_schema(), sort_keys=True)
        marks = [key.when, *(mark for mark in ("early", "per_space", "secret") if getattr(key, mark))]
        yield f"{name} = {key.default!r}  {kind}  {', '.join(marks)}"
    yield from (f"{alias} -> {name}" for alias, name in sorted(ALIASES.items()))


def errors() -> list[str]:
    """Name over HTTP, status and exit code."""
    return sorted(f"{each.class_name()} http {each.http} exit {each.exit}" for each in walk_errors())


def entry_points() -> list[str]:
    """Commands of the package, and the providers that can be chosen by name."""
    scripts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["scripts"]
    built_in = [*registry.BUILT_IN, *reranker.BUILT_IN]
    return sorted([*(f"command {name}" for name in scripts), *(f"{each.group} {each.name}" for each in built_in)])


def jobs(app: App) -> Iterator[str]:
    """Every job with its queue and schedule, and who hears of which event: rows in the queue name them."""
    for name, work in sorted(app.jobs.items()):
        schedule = f", {work.schedule} {work.timezone or 'UTC'}" if work.schedule else ""
        low = ", low value" if work.low_value else ""
        yield f"job {name}: {work.queue.value}, {work.priority.name}, silent {work.limit}{schedule}{low}"
    for event in sorted(CATALOGUE):
        for name, subscription in sorted(app.outbox.subscribers(event).items()):
            yield f"subscriber {name} of {event}: {subscription.queue}{', first' if subscription.is_first else ''}"


def library() -> Iterator[str]:
    """What `import festinger` gives, with the members of every class of ours that can be reached from there."""
    found: dict[type, list[str]] = {}
    for name in sorted(festinger.__all__):
        value = getattr(festinger, name)
        function = inspect.isfunction(value)
        yield f"festinger.{name}{_plain(str(inspect.signature(value))) if function else ''}"
        _reach(inspect.signature(value).return_annotation if function else value, found)
    for cls, lines in found.items():
        yield "\n  ".join([f"\nclass {cls.__name__}", *lines])


def _reach(kind: Any, found: dict[type, list[str]]) -> None:
    """Add the classes of ours that an annotation names, then those that their members name."""
    for part in get_args(kind):
        _reach(part, found)
    if not inspect.isclass(kind) or kind in found or not _is_ours(kind):
        return
    lines = found[kind] = []
    if issubclass(kind, Enum):
        lines += [f"{each.name} = {each.value!r}" for each in kind]
        return
    for text, annotation in [*_fields(kind), *sorted(_methods(kind), key=lambda each: each[0])]:
        lines.append(_plain(text))
        _reach(annotation, found)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == festinger.__name__


def _fields(cls: type) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
        if not field.name.startswith("_"):
            default = "" if field.default is field.default_factory else " = ..."
            yield f"{field.name}: {inspect.formatannotation(field.type)}{default}", field.type


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class and of those of ours that it stands on, with what they return."""
    for owner in filter(_is_ours, cls.__mro__):
        for name, value in vars(owner).items():
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isfunction(function):
                signature = inspect.signature(function)
                kind = " property" if isinstance(value, property) else ""
                kind += " async" if inspect.iscoroutinefunction(function) else ""
                yield f"{name}{signature}{kind}", signature.return_annotation


def _plain(text: str) -> str:
    """A signature without modules, addresses and quotes around annotations."""
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])| at 0x[0-9a-f]+", "", text)
    return re.sub(r"(: |-> )'([A-Z][^']*)'", r"\1\2", text)


def migrations() -> Iterator[str]:
    """The hash of each migration: a database that has applied one refuses to open when it differs."""
    yield from (f"{each.name}  {each.sha256}" for each in load_own_migrations())


SURFACE: Mapping[str, Callable[[], Iterable[str]]] = {
    "admin_routes": admin_routes,
    "cli_help": cli_help,
    "entry_points": entry_points,
    "errors": errors,
    "events": events,
    "library": library,
    "metrics": metrics,
    "migrations": migrations,
    "proxy_routes": proxy_routes,
    "settings": settings,
}
"""What can be collected without a store, by the name of its file; `jobs` needs an open app."""
