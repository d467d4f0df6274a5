import os
import subprocess
import sys

import pytest
from tests.cli.shell import Shell
from tests.reference import commands

from festinger.cli.main import FAMILIES, HIDDEN, LazyCommands

PATHS = [command.path for command in commands()]
HEAVY = ("numpy", "onnxruntime", "psycopg", "procrastinate", "aiohttp", "festinger.settings.tree")
"""Each of these, or what it brings, takes longer to load than a help page may take."""


@pytest.mark.parametrize("path", PATHS)
def test_the_help_of_a_command_has_an_example_and_fits_eighty_columns(path: str, bare_shell: Shell):
    said = bare_shell(*path.split(), "--help")

    assert said.code == 0
    assert f"Example: festinger {path.split()[0]}" in said.out
    assert max(map(len, said.lines)) <= 80


def test_the_help_lists_every_command_in_its_order_without_frames(bare_shell: Shell):
    said = bare_shell("--help")
    listed = [line.split()[0] for line in said.out.split("Commands:")[1].strip().splitlines()]

    assert listed == [name for name in FAMILIES if name not in HIDDEN]
    assert not set(said.out) & set("╭│╰─")
    assert max(map(len, said.lines)) <= 80


@pytest.mark.parametrize("group", ["", "settings", "models", "keys", "spaces", "jobs", "secrets"])
def test_what_the_help_says_of_a_command_is_not_cut_short(group: str, bare_shell: Shell):
    listed = bare_shell(*group.split(), "--help").out.split("Commands:")[1]

    assert "..." not in listed


@pytest.mark.parametrize(("typed", "meant"), [("stauts", "status"), ("serv", "serve"), ("bakup", "backup")])
def test_an_unknown_command_is_wrong_usage_and_the_nearest_is_named(typed: str, meant: str, bare_shell: Shell):
    said = bare_shell(typed)

    assert said.code == 2
    assert f"Did you mean '{meant}'" in said.err
    assert said.out == ""


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(name: str, bare_shell: Shell):
    words = {"COMP_WORDS": "festinger sta", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "festinger sta"}
    said = bare_shell.real(
        environment={"_FESTINGER_COMPLETE": f"complete_{name}", "_TYPER_COMPLETE_FISH_ACTION": "get-args", **words}
    )

    assert "status" in said.out
    assert "serve" not in said.out


@pytest.mark.parametrize("name", FAMILIES)
def test_the_help_page_says_of_a_command_what_the_command_says_of_itself(name: str):
    whole = LazyCommands(plain=True)[name]

    assert FAMILIES[name][1] == whole.get_short_help_str(80)
    assert whole.hidden is (name in HIDDEN)


@pytest.mark.parametrize("path", ["", "recall", "learn", "memories", "status", "doctor", "login", "inbox", "demo"])
def test_a_help_page_loads_no_more_than_it_shows(path: str):
    code = (
        f"import sys; from festinger.cli.main import main; sys.argv = ['festinger', *{path.split()!r}, '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "Usage: festinger" in done.stdout
    assert done.stderr == "[]\n"


def test_version_loads_no_room():
    code = (
        "import sys; from festinger.cli.main import main; sys.argv = ['festinger', 'version']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'psycopg', 'aiohttp', 'structlog', 'festinger.settings.tree') "
        "if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("festinger ")
    assert done.stderr == "[]\n"


@pytest.mark.requirement("P-01")
def test_what_stands_before_the_open_port_loads_no_embedder_no_jobs_and_no_models():
    code = (
        "import sys, festinger.cli.commands.serve\n"
        "print([name for name in ('numpy', 'procrastinate', 'pydantic_ai', 'jinja2', 'festinger.runtime.app') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_products_of_numpy_start_no_threads_that_would_spin():
    code = (
        "import os, festinger.cli.main, numpy\n"
        "numpy.ones((500, 500)) @ numpy.ones((500, 500))\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'], len(os.listdir('/proc/self/task')))"
    )
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)

    assert done.stdout == "1 1\n"
