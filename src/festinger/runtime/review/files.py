"""Lets people review proposals by editing files in a folder.

Each promoted proposal is a file. A scan reads files that have been still for a while, decides what people
wrote like any other verdict, writes the result and moves the file aside; then it writes the missing files. A
deleted file is no verdict: it is written again. The same words on the same file never act twice, so a crash
in between loses nothing. Files are read once, without following links, and only if plain, small and owned by
this user; writes are atomic.
"""

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from festinger.errors import BadInput, FestingerError, NotAuthorised, NotFound, Refused, Unavailable
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_FOLDER_REFUSED
from festinger.proposals.channels.file import (
    NOT_TAKEN,
    ReviewFile,
    derive_mac_key,
    file_name,
    format_review_file,
    parse_review_file,
    parse_verdict,
    set_result_line,
)
from festinger.proposals.gate import InboxStatus, inbox_status
from festinger.proposals.inbox import MOST, ProposalQuery, list_proposals, load_card, resolve_proposal_id
from festinger.proposals.model import Author, IdentityProof, Proposal, ProposalState, ReviewChannel, VerdictInput
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.effects import ONE_BY_ONE
from festinger.proposals.verdicts.propose import preview_effect
from festinger.settings.proposals import FolderSettings

if TYPE_CHECKING:
    from festinger.runtime.app import App


LARGEST = 64 * 1024
FOLDER_MODE = 0o700
FILE_MODE = 0o600
DONE = "done"
SUFFIX = ".md"
LEFTOVERS = ("~", ".swp", ".swx", ".swo", ".tmp", ".bak")
"""Editor leftovers end like this, or begin with a dot or a hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxFile:
    """A file of the folder: its text, or why it was not read."""

    name: str
    text: str = ""
    refused: str = ""


class InboxFolder:
    """A folder with review files, and a subfolder for finished ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> None:
        """Create the folder, private to this user."""
        for each in (self.folder, self.folder / DONE):
            each.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            if each.is_symlink():
                raise Refused(f"`{each}` is a link.", hint="Put the folder itself into `proposals.folder.path`.")
            each.chmod(FOLDER_MODE)

    def pages(self) -> list[InboxFile]:
        """Return every review file, by name, skipping editor leftovers."""
        return [self._page(name) for name in sorted(self._names())]

    def write(self, name: str, text: str) -> None:
        """Write a file atomically."""
        draft = self.folder / f".{name}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(self.folder / name)

    def finish(self, name: str, text: str) -> None:
        """Move a file with its result aside, without replacing a finished one of that name."""
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
                if entry.name.endswith(SUFFIX) and not is_leftover and not entry.is_dir(follow_symlinks=False):
                    yield entry.name

    def _page(self, name: str) -> InboxFile:
        try:
            descriptor = os.open(self.folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
        except FileNotFoundError:
            return InboxFile(name=name, refused="gone")
        except OSError:
            return InboxFile(name=name, refused="link or not readable")
        with os.fdopen(descriptor, "rb") as file:
            if reason := _unfit(os.fstat(file.fileno())):
                return InboxFile(name=name, refused=reason)
            raw = file.read(LARGEST + 1)
        with suppress(UnicodeDecodeError):
            return InboxFile(name=name, text=raw.decode("utf-8-sig"))
        return InboxFile(name=name, refused="not UTF-8")


def _unfit(found: os.stat_result) -> str:
    """Return why a file is not read; empty if it may be."""
    if not stat.S_ISREG(found.st_mode):
        return "no plain file"
    if found.st_size > LARGEST:
        return "too large"
    return "" if found.st_uid == os.geteuid() else "of another user"


log = structlog.get_logger(room="app")

FOLDER = "inbox"
"""The folder in the home, unless another one is set."""
DECIDED_ELSEWHERE = "decided elsewhere: {}"
NEEDS_CODE = "This changes behaviour: it needs one of your one-time codes behind `code:`."
WRONG_MARK = "wrong mark"
STATES = (ProposalState.PROMOTED, ProposalState.DEFERRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxScanReport:
    """What a scan did."""

    taken: int = 0
    not_taken: int = 0
    refused: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedInboxFile:
    """A file with its parsed content."""

    page: InboxFile
    sheet: ReviewFile


class InboxFolderWatcher:
    """The review folder of one process."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._since: dict[str, tuple[bytes, datetime]] = {}
        self._shown: dict[UUID, tuple[int, int]] = {}
        """What the file of each proposal shows: version and sightings."""
        self._answered: dict[str, bytes] = {}
        """The content of each rejected file when it was answered."""
        self._refused: set[tuple[str, str]] = set()

    @property
    def terms(self) -> FolderSettings:
        return self._app.settings.now.proposals.folder

    @property
    def tray(self) -> InboxFolder:
        path = self.terms.path
        return InboxFolder(Path(path).expanduser() if path else self._app.home / FOLDER)

    async def watch(self) -> None:
        """Scan forever, as often as the settings say. Whatever is unavailable is retried at a later scan."""
        while True:
            if self.terms.enabled:
                try:
                    await self.scan()
                except (FestingerError, OSError) as error:
                    log.warning("folder not scanned", error=str(error))
            await asyncio.sleep(self.terms.scan_seconds)

    async def scan(self) -> InboxScanReport:
        """Apply what people wrote, then write missing files. Raises `OSError` without the folder."""
        tray = self.tray
        await asyncio.to_thread(tray.open)
        pages = await asyncio.to_thread(tray.pages)
        lying, refused = self._read(pages)
        self._since = {page.name: self._still_since(page) for page in pages if not page.refused}
        taken = not_taken = 0
        for each in lying:
            if not each.sheet.verdict or not self._is_due(each.page.name):
                continue
            if await self._take(tray, each):
                taken += 1
            else:
                not_taken += 1
        made = await self._write_missing(tray)
        return InboxScanReport(taken=taken, not_taken=not_taken, refused=refused, written=made)

    def _read(self, pages: list[InboxFile]) -> tuple[list[ParsedInboxFile], int]:
        """Return the files that are ours, and how many were refused."""
        lying, refused, key = [], 0, self._key()
        for page in pages:
            sheet = None if page.refused else parse_review_file(page.text, key=key)
            if sheet is not None and sheet.space in self._app.directory.ids():
                lying.append(ParsedInboxFile(page=page, sheet=sheet))
                continue
            refused += 1
            self._refuse(page.name, page.refused or WRONG_MARK)
        return lying, refused

    def _refuse(self, name: str, reason: str) -> None:
        if (name, reason) in self._refused:
            return
        self._refused.add((name, reason))
        PROPOSALS_FOLDER_REFUSED.labels(reason).inc()
        log.warning("file in the inbox refused", file=name, why=reason)

    def _still_since(self, page: InboxFile) -> tuple[bytes, datetime]:
        digest = _digest(page.text)
        before = self._since.get(page.name)
        return before if before is not None and before[0] == digest else (digest, self._app.tools.clock())

    def _is_due(self, name: str) -> bool:
        """Whether a file has been still long enough and was not answered as it is."""
        digest, since = self._since[name]
        lain = self._app.tools.clock() - since
        return lain >= timedelta(seconds=self.terms.still_seconds) and self._answered.get(name) != digest

    async def _take(self, tray: InboxFolder, lying: ParsedInboxFile) -> bool:
        """Decide what a file says and write the result; false if it was not taken."""
        try:
            result = await self._decided(lying.sheet)
        except Unavailable:
            raise
        except FestingerError as error:
            await self._answer(tray, lying, NOT_TAKEN + _words(error))
            return False
        text = set_result_line(lying.page.text, result)
        await asyncio.to_thread(tray.finish, lying.page.name, text)
        self._shown.pop(lying.sheet.proposal, None)
        return True

    async def _decided(self, sheet: ReviewFile) -> str:
        said, space = parse_verdict(sheet, now=self._app.tools.clock()), sheet.space
        if not sheet.by:
            raise BadInput("Write your name behind `by:`.")
        other = await resolve_proposal_id(self._app.inbox.deps, space, said.of) if said.of else None
        verdict = VerdictInput(
            proposal=sheet.proposal,
            kind=said.kind,
            author=Author(name=sheet.by, proof=IdentityProof.NAMED, code=sheet.code),
            channel=ReviewChannel.FOLDER,
            ref=sheet.ref,
            note=sheet.note,
            of=other,
            until=said.until,
            word=said.word,
            version=sheet.version,
            seen=await self._shown_with(sheet),
        )
        try:
            return (await decide(self._app.deciding.office, space, verdict)).result
        except NotAuthorised as error:
            card = await load_card(self._app.inbox.deps, space, sheet.proposal)
            if card.proposal.type in ONE_BY_ONE:
                raise NotAuthorised(error.message, hint=NEEDS_CODE) from error
            raise

    async def _shown_with(self, sheet: ReviewFile) -> tuple[UUID, ...]:
        """Return the opposites that the file shows. A later one makes another version, which is refused."""
        return tuple((await load_card(self._app.inbox.deps, sheet.space, sheet.proposal)).opposites)

    async def _answer(self, tray: InboxFolder, lying: ParsedInboxFile, result: str) -> None:
        """Write an answer into a file that stays, once."""
        text = set_result_line(lying.page.text, result)
        if text != lying.page.text:
            await asyncio.to_thread(tray.write, lying.page.name, text)
        self._answered[lying.page.name] = _digest(text)

    async def _write_missing(self, tray: InboxFolder) -> int:
        """Write the files of what waits, and move aside those of what does not."""
        lying, _ = self._read(await asyncio.to_thread(tray.pages))
        made, waits = 0, set()
        for space in self._app.directory.ids():
            for proposal in await self._waiting(space):
                waits.add(proposal.id)
                there = [each for each in lying if each.sheet.proposal == proposal.id]
                made += await self._write(tray, proposal, there)
        for each in lying:
            if each.sheet.proposal not in waits:
                await self._put_aside(tray, each)
        return made

    async def _waiting(self, space: SpaceId) -> list[Proposal]:
        now, terms = self._app.tools.clock(), self._app.inbox.deps.terms(space)
        found = await list_proposals(self._app.inbox.deps, space, ProposalQuery(states=STATES, limit=MOST))
        away = (InboxStatus.ELSEWHERE, InboxStatus.PUT_OFF)
        return [each for each in found if inbox_status(each, now=now, quiet_days=terms.quiet_days) not in away]

    async def _write(self, tray: InboxFolder, proposal: Proposal, there: list[ParsedInboxFile]) -> bool:
        """Write the file of a proposal, unless it is up to date or somebody has written in it."""
        shows = (proposal.version, proposal.sightings)
        is_old = self._shown.get(proposal.id) != shows
        if not all(_may_be_rewritten(each.sheet, proposal, is_old=is_old) for each in there):
            return False
        card = await load_card(self._app.inbox.deps, proposal.space_id, proposal.id)
        look = await preview_effect(self._app.deciding.office, proposal.space_id, proposal)
        note = next((each.sheet.result for each in there if each.sheet.result), "")
        name = there[0].page.name if there else self._free_name(tray, proposal)
        await asyncio.to_thread(tray.write, name, format_review_file(card, look, key=self._key(), note=note))
        self._shown[proposal.id] = shows
        return True

    def _free_name(self, tray: InboxFolder, proposal: Proposal) -> str:
        short = file_name(proposal)
        return file_name(proposal, whole_id=True) if tray.has(short) else short

    async def _put_aside(self, tray: InboxFolder, lying: ParsedInboxFile) -> None:
        """Move aside the file of a proposal that no longer waits, unless somebody is writing in it."""
        if lying.sheet.verdict and not lying.sheet.result:
            return
        try:
            card = await load_card(self._app.inbox.deps, lying.sheet.space, lying.sheet.proposal)
            state = card.proposal.state.value
        except NotFound:
            state = "gone"
        if state == ProposalState.DEEPENING:
            return
        result = lying.sheet.result or DECIDED_ELSEWHERE.format(state)
        await asyncio.to_thread(tray.finish, lying.page.name, set_result_line(lying.page.text, result))

    def _key(self) -> bytes:
        return derive_mac_key(self._app.master.raw)


def _words(error: FestingerError) -> str:
    return f"{error.message} {error.hint}" if error.hint else error.message


def _may_be_rewritten(sheet: ReviewFile, proposal: Proposal, *, is_old: bool) -> bool:
    """Whether nobody loses anything: the file is untouched, or was answered and is about another version."""
    if sheet.is_untouched:
        return is_old
    return bool(sheet.result) and sheet.version != proposal.version


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()
