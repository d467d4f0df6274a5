"""What a process takes from the operating system and its home.

Time, randomness and new ids come in one value, so that a test or a demo can pass its own; nothing else asks
the system for these. The home and master key are known before any package is open. `serve` writes
`server.json` into the home while its store is open, so that commands find it: its address, its process, and a
key made for this run and kept nowhere else. Whoever can read the file (mode 0600) can also open the store, so
the key grants no new right; only the process that made it accepts it.
"""

import hashlib
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import structlog

from festinger.clock import Clock, Stopwatch, system_clock, system_stopwatch
from festinger.ids import NewId, id_maker
from festinger.settings.live import LiveSettings
from festinger.settings.master_key import Entropy, MasterKey, ensure_master_key, system_entropy
from festinger.store.paths import HomeLayout, default_home, make_folder, open_private_file


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemServices:
    clock: Clock = system_clock
    stopwatch: Stopwatch = system_stopwatch
    chance: random.Random = field(default_factory=random.SystemRandom)
    entropy: Entropy = system_entropy
    new_id: NewId

    @classmethod
    def of_this_machine(cls) -> "SystemServices":
        return cls(new_id=id_maker(system_clock, random.SystemRandom()))


def home_of(settings: LiveSettings) -> Path:
    own = settings.now.home
    return Path(own).expanduser() if own else default_home(euid=os.geteuid(), person=Path.home())


def master_key_of(settings: LiveSettings, tools: SystemServices) -> MasterKey:
    """Return the master key of this deployment, created at the first start."""
    return ensure_master_key(
        settings.deployment.environment,
        Path(settings.now.secrets.key_file),
        data=HomeLayout(home=home_of(settings)).data,
        entropy=tools.entropy,
    )


log = structlog.get_logger(room="app")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    url: str
    pid: int
    store: str
    """A hash of the store that it has open: commands on another store must not ask it."""
    key: str = field(repr=False)


def store_fingerprint(settings: "LiveSettings") -> str:
    url = settings.now.database_url
    return hashlib.sha256(url.get_secret_value().encode() if url else b"").hexdigest()


def local_base_url(host: str, port: int) -> str:
    """Return the address by which this machine reaches a server that listens on `host`."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - a bind address that is compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def find_server(home: Path, *, store: str) -> LocalServer | None:
    """Return the server that runs on this home and has this store open, if its process is alive."""
    try:
        found = LocalServer(**json.loads(HomeLayout(home=home).server.read_bytes()))
        os.kill(found.pid, 0)
    except (OSError, ValueError, TypeError):
        # Missing, not readable, from another version, or of a process that is gone.
        return None
    return found if found.store == store else None


@contextmanager
def announce_server(home: Path, server: LocalServer | None) -> Iterator[None]:
    """Let commands find the server while the block runs. Without the file they open the store themselves."""
    path = HomeLayout(home=home).server
    if server is not None:
        try:
            make_folder(home)
            _write(path, server)
        except OSError as error:
            log.warning("commands will not find this server", path=str(path), why=error.strerror)
    try:
        yield
    finally:
        if server is not None and _is_written_by(path, server):
            path.unlink(missing_ok=True)


def _write(path: Path, server: LocalServer) -> None:
    beside = path.with_name(f"{path.name}.{server.pid}")
    beside.unlink(missing_ok=True)
    with os.fdopen(open_private_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w") as file:
        json.dump(asdict(server), file)
    # Renamed, so that nobody reads half of it and an older file's mode does not stay.
    beside.replace(path)


def _is_written_by(path: Path, server: LocalServer) -> bool:
    """Whether the file is still the one that this server wrote; a second server may have replaced it."""
    try:
        return bool(json.loads(path.read_bytes())["key"] == server.key)
    except (OSError, ValueError, KeyError):
        return False
