"""How is everything, and what should be done?

Asks every room for its checks and puts them into one list. A store that cannot be had is itself a check; the
rooms behind it are then not asked. Models are asked only when somebody wants to know, because asking costs.
"""

import shutil
import stat
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from festinger.app.wiring import App
from festinger.embedding.health import check_embedder, check_reranker
from festinger.errors import FestingerError, StoreDown
from festinger.events.health import check_events
from festinger.ids import MAIN_SPACE
from festinger.jobs.health import check_jobs
from festinger.llm.health import check_models
from festinger.llm.ledger import Caller
from festinger.llm.model import Model, Purpose
from festinger.memory.health import check_censors, check_memory
from festinger.memory.learn.refusals import check_refusals
from festinger.observability.checks import Check, Severity, fail, ok, warn, worst
from festinger.outcomes.stats import check_outcomes
from festinger.retrieval.maintenance import check_words
from festinger.settings.live import LiveSettings
from festinger.store.cache_invalidation import check_listening
from festinger.store.health import check_store
from festinger.world.graph import check_worlds

PRIVATE = 0o077
MEGABYTE = 2**20


async def examine(app: App, *, ask_models: bool = False) -> list[Check]:
    """Every check that an open app can make of itself."""
    now = app.tools.clock()
    checks = [
        *check_settings(app.settings),
        *check_files(app.settings, app.home),
        *await _check_stored(app, now),
        check_listening(app.listener),
        check_worlds(app.world.worlds),
    ]
    if app.embedder is not None:
        checks += await check_embedder(app.embedder, at=now)
        checks.append(await _reranker(app))
    if ask_models:
        checks += await check_models(await _models(app), app.tools.stopwatch)
    return checks


async def _check_stored(app: App, now: datetime) -> list[Check]:
    """The store and what lies in it. A database that goes away meanwhile is what is told then."""
    store = await check_store(app.store, app.settings.now.store, home=app.home, now=now)
    if worst(store) is Severity.FAIL:
        return store
    try:
        spaces = app.directory.ids()
        memory = [
            await check_memory(app.memory.desk, spaces),
            await check_censors(app.memory.desk, spaces),
            await check_refusals(app.memory.desk, spaces),
            *await check_outcomes(app.outcomes.desk, spaces, app.settings.now.outcomes),
            await check_words(app.recall.desk, spaces),
        ]
        return [*store, *await check_jobs(app.jobs.desk), *await check_events(app.store, now=now), *memory]
    except StoreDown as error:
        return [fail("store.server", error.message, error.hint)]


def without_store(settings: LiveSettings, home: Path, problem: FestingerError | None) -> list[Check]:
    """What can be said while there is no store."""
    if problem is None:
        store = warn("store.server", "The store is still starting.", "Wait a few seconds.")
    else:
        store = fail("store.server", problem.message, problem.hint)
    return [store, *check_settings(settings), *check_files(settings, home)]


def check_settings(settings: LiveSettings) -> list[Check]:
    """Whether an edit waits to be mended, or for a restart."""
    if problem := settings.problem:
        return [fail("settings", problem.message, problem.hint, **dict(problem.details))]
    if waiting := settings.needs_restart:
        keys = ", ".join(f"`{change.key}`" for change in waiting)
        return [
            warn(
                "settings",
                f"Changed, but in force only after a restart: {keys}.",
                "Restart `festinger serve`.",
            )
        ]
    return [ok("settings", "All settings are in force.")]


def check_files(settings: LiveSettings, home: Path) -> list[Check]:
    """Whether home and key are their owner's alone, and whether the disk has room."""
    checks = [check_disk(settings, home)]
    for name, path in (("files.home", home), ("files.key", Path(settings.now.secrets.key_file).expanduser())):
        if path.exists():
            checks.append(_private(name, path))
    return checks


def _private(name: str, path: Path) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    # The home of root may be passed through by the server's own user, but not read.
    open_to = mode & PRIVATE & ~0o010 if path.is_dir() else mode & PRIVATE
    if open_to:
        return fail(name, f"`{path}` has the mode {mode:04o}: others can read it.", f"chmod go-rwx {path}")
    return ok(name, f"`{path}` is private.")


def check_disk(settings: LiveSettings, home: Path) -> Check:
    """Whether the disk of the home has room."""
    place = next(parent for parent in (home, *home.parents) if parent.exists())
    free = shutil.disk_usage(place).free // MEGABYTE
    limits = settings.now.store
    if free < limits.disk_stop_mb:
        return fail(
            "files.disk",
            f"Only {free} MB are free at `{place}`.",
            "Free some space; growing work has paused.",
            free_mb=free,
        )
    if free < limits.disk_warn_mb:
        return warn("files.disk", f"Only {free} MB are free at `{place}`.", "Free some space.", free_mb=free)
    return ok("files.disk", f"{free} MB are free.", free_mb=free)


async def _reranker(app: App) -> Check:
    if "reranker" not in app.degraded:
        return await check_reranker(app.reranker)
    chosen = app.settings.now.rerank.model
    return fail(
        "reranker.answers",
        f"`{chosen}` could not be opened; results stand in the order of the search.",
        "The log of this process says why. Mend it or choose another `rerank.model`, then restart.",
        degraded="reranker",
    )


async def _models(app: App) -> Mapping[Purpose, Model | FestingerError | None]:
    """The model of each purpose, or why there is none although one was chosen."""
    found: dict[Purpose, Model | FestingerError | None] = {}
    for purpose in Purpose:
        try:
            found[purpose] = await app.model(purpose, Caller(space=MAIN_SPACE))
        except FestingerError as error:
            found[purpose] = error
    return found
