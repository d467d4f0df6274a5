"""How are the sheets of a folder read and written?

Each is read once, without following links, and only if it is a plain file of this user's and not too large. Writing
puts a whole sheet in place or none. What stands on a sheet is not known here.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from festinger.errors import Refused

LARGEST = 64 * 1024
FOLDER_MODE = 0o700
FILE_MODE = 0o600
DONE = "done"
SUFFIX = ".md"
LEFTOVERS = ("~", ".swp", ".swx", ".swo", ".tmp", ".bak")
"""What editors leave behind ends so, or begins with a dot or a hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A file of the folder: its text, or why it is not read."""

    name: str
    text: str = ""
    refused: str = ""


class Tray:
    """A folder with sheets, and one beside them for what is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> None:
        """Make the folder, this user's alone."""
        for each in (self.folder, self.folder / DONE):
            each.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            if each.is_symlink():
                raise Refused(
                    f"`{each}` is a link.", hint="Put the folder itself into `proposals.folder.path`."
                )
            each.chmod(FOLDER_MODE)

    def pages(self) -> list[Page]:
        """Every sheet, by name; what editors leave behind is not looked at."""
        return [self._page(name) for name in sorted(self._names())]

    def write(self, name: str, text: str) -> None:
        """Put a sheet in place, whole or not at all."""
        draft = self.folder / f".{name}.tmp"
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), FILE_MODE
        )
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(self.folder / name)

    def finish(self, name: str, text: str) -> None:
        """Put a sheet with its result aside. Another one of that name that is done stays."""
        aside = self.folder / DONE / name
        number = 2
        while aside.exists():
            aside = self.folder / DONE / f"{name.removesuffix(SUFFIX)}-{number}{SUFFIX}"
            number += 1
        self.write(name, text)
        (self.folder / name).replace(aside)

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def _names(self) -> Iterator[str]:
        with os.scandir(self.folder) as entries:
            for entry in entries:
                is_leftover = entry.name.startswith((".", "#")) or entry.name.endswith(LEFTOVERS)
                if (
                    entry.name.endswith(SUFFIX)
                    and not is_leftover
                    and not entry.is_dir(follow_symlinks=False)
                ):
                    yield entry.name

    def _page(self, name: str) -> Page:
        try:
            descriptor = os.open(
                self.folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK
            )
        except FileNotFoundError:
            return Page(name=name, refused="gone")
        except OSError:
            return Page(name=name, refused="link or not readable")
        with os.fdopen(descriptor, "rb") as file:
            if reason := _unfit(os.fstat(file.fileno())):
                return Page(name=name, refused=reason)
            raw = file.read(LARGEST + 1)
        with suppress(UnicodeDecodeError):
            return Page(name=name, text=raw.decode("utf-8-sig"))
        return Page(name=name, refused="not UTF-8")


def _unfit(found: os.stat_result) -> str:
    """Why a file is not read; empty if it may be."""
    if not stat.S_ISREG(found.st_mode):
        return "no plain file"
    if found.st_size > LARGEST:
        return "too large"
    return "" if found.st_uid == os.geteuid() else "of another user"
