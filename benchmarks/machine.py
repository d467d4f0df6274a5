"""Records the machine and the code of a run.

Facts about this machine and checkout, read once before a run. A machine that is busy before the start is
marked `noisy`: its absolute figures mean little, only the ratios between systems that took turns do.
"""

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from festinger import __version__
from festinger.store.embedded.programs import bundled_binaries

NOISY_LOAD = 0.5
"""The load per core before the start above which a machine is noisy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    cpu: str
    cores: int
    ram_gb: float
    os: str
    python: str
    postgres: str
    """Version of the embedded server; empty if unknown."""
    pgvector: str
    load_before: float
    """The load average over the last minute."""

    @property
    def noisy(self) -> bool:
        return self.load_before / self.cores > NOISY_LOAD


def this_machine() -> Machine:
    return Machine(
        cpu=_cpu(),
        cores=psutil.cpu_count() or 1,
        ram_gb=round(psutil.virtual_memory().total / 2**30, 1),
        os=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        postgres=_postgres(),
        pgvector=_pgvector(),
        load_before=round(os.getloadavg()[0], 2),
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def _postgres() -> str:
    said = subprocess.run([bundled_binaries()["postgres"], "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip().rpartition(" ")[2]


def _pgvector() -> str:
    control = bundled_binaries().folder / "share" / "postgresql" / "extension" / "vector.control"
    named = re.search(r"^default_version = '(.+)'", control.read_text(), re.MULTILINE)
    return named[1] if named else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    version: str
    commit: str
    """Empty without a checkout."""


def this_code() -> Code:
    root = Path(__file__).parents[1]
    asked = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return Code(version=__version__, commit=asked.stdout.strip() if asked.returncode == 0 else "")
