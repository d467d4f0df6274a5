"""Sets up the environments of the other systems that run for comparison.

A peer lives in its own virtual environment, made from a lock file with hashes and cached between runs; none
is a dependency of ours. One that does not install or start is reported as not run, with the reason. Lock
files are in the source tree, so an installed package without them runs no peers.
"""

import asyncio
import hashlib
import shutil
import sys
from pathlib import Path

from benchmarks.load import HOST
from benchmarks.server import Program, bare_environment, free_port
from benchmarks.suite import Bench
from festinger.errors import BadInput, Unavailable

LITELLM, LLAMA = "litellm", "llama"
"""LiteLLM's proxy, and a small real model to run behind the proxies."""
MEM0, CHROMA, LANGGRAPH, PGVECTOR = "mem0", "chroma", "langgraph", "pgvector"
"""Stores that are searched for texts."""

ROOT = Path(__file__).parents[1]
PEERS = {
    LITELLM: ROOT / "benchmarks" / "peers" / LITELLM / "requirements.lock",
    LLAMA: ROOT / "requirements-live.lock",
    **{
        name: ROOT / "benchmarks" / "peers" / name / "requirements.lock" for name in (MEM0, CHROMA, LANGGRAPH, PGVECTOR)
    },
}
"""All peers, with the lock file of the environment."""

LLAMA_SERVER = ROOT / "benchmarks" / "peers" / LLAMA / "serve.py"
"""Runs in the environment of the model; it knows nothing of this package."""

INSTALL_S = 900.0
ANSWERS_S = 120.0

PIP = (
    "-m",
    "pip",
    "--disable-pip-version-check",
    "install",
    "-qq",
    "--require-hashes",
    "--no-deps",
    "--only-binary",
    ":all:",
    "-r",
)


def chosen_peers(wanted: str) -> frozenset[str]:
    """`none`, `all`, or comma-separated names."""
    if wanted in ("none", "all"):
        return frozenset(PEERS if wanted == "all" else ())
    names = frozenset(wanted.split(","))
    if unknown := names - frozenset(PEERS):
        raise BadInput(
            f"`{min(unknown)}` is no peer that could run.", hint=f"Choose `none`, `all` or some of {', '.join(PEERS)}."
        )
    return names


def named_pythons(given: list[str]) -> dict[str, Path]:
    """`litellm=/path/to/python`, once per peer."""
    found = dict(one.partition("=")[::2] for one in given)
    for name, path in found.items():
        if name not in PEERS or not path:
            raise BadInput(f"`{name}={path}` names no peer and Python.", hint="Write `litellm=/path/to/python`.")
    return {name: Path(path) for name, path in found.items()}


async def python_of(peer: str, bench: Bench) -> Path:
    """The Python of a peer's environment, made if missing; `Unavailable` says why there is none."""
    if peer not in bench.peers:
        raise Unavailable("left out with `--peers`")
    if (named := bench.peer_pythons.get(peer)) is not None:
        if not named.is_file():
            raise Unavailable(f"there is no Python at `{named}`")
        return named
    lock = PEERS[peer]
    if not lock.is_file():
        raise Unavailable("its lock file comes with the source tree only")
    return await _environment(peer, lock, bench)


async def _environment(peer: str, lock: Path, bench: Bench) -> Path:
    """The environment of exactly this lock; an unfinished one is made again."""
    folder = bench.peers_home / f"{peer}-{_sum(lock)}"
    python, finished = folder / "bin" / "python", folder / "finished"
    if finished.exists():
        return python
    bench.say(f"Installing {peer} into {folder} (once).")
    shutil.rmtree(folder, ignore_errors=True)
    await _run([sys.executable, "-m", "venv", str(folder)], seconds=INSTALL_S)
    await _run([str(python), *PIP, str(lock)], seconds=INSTALL_S)
    finished.touch()
    return python


def _sum(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()[:12]


async def version_of(package: str, python: Path) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return await _run([str(python), "-c", code], seconds=ANSWERS_S)


async def _run(command: list[str], *, seconds: float) -> str:
    """The output of a program; `Unavailable` with its last line if it fails."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
    except OSError as error:
        raise Unavailable(f"`{command[0]}` cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            said = (await process.communicate())[0].decode(errors="replace").strip()
    except TimeoutError as error:
        raise Unavailable(f"`{command[0]}` did not end within {seconds:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Unavailable(said.splitlines()[-1][-300:] if said else f"`{command[0]}` failed without a word")
    return said


def litellm(python: Path, bench: Bench, *, upstream_port: int) -> Program:
    """LiteLLM's proxy with one model, as its own command starts it: one worker, no database, no telemetry."""
    port = free_port()
    home = bench.folder / LITELLM
    home.mkdir()
    config = home / "config.yaml"
    config.write_text(
        "model_list:\n"
        "  - model_name: stub\n"
        "    litellm_params:\n"
        "      model: openai/stub\n"
        f"      api_base: http://{HOST}:{upstream_port}/v1\n"
        "      api_key: sk-bench\n"
        "litellm_settings:\n"
        "  telemetry: false\n"
        # No key is required, as ours requires none on this machine.
        "general_settings:\n"
        "  dangerously_permit_weak_or_unset_master_key: true\n"
    )
    command = [str(python.with_name("litellm")), "--config", str(config), "--host", HOST, "--port", str(port)]
    quiet = {"LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    return Program(
        name=LITELLM,
        command=[*command, "--num_workers", "1"],
        port=port,
        ready="/health/liveliness",
        folder=home,
        environment=bare_environment(home, **quiet),
        patience_s=bench.peer_patience_s,
    )
