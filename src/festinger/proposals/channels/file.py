"""Formats a proposal as a Markdown review file and parses what a person writes into it.

A file holds what the proposal says and would do, then four lines for the person, then a signed marker that
identifies it. Text from elsewhere is indented, so that no editor renders it and no line of it is read as the
person's. Only what is below the last heading is read. Pure: `runtime.review.files` does the I/O and the
deciding.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from festinger.clock import iso
from festinger.errors import BadInput
from festinger.ids import SpaceId
from festinger.proposals.inbox import UNTRUSTED_ONLY, ProposalCard
from festinger.proposals.model import Proposal, ProposalType, VerdictKind, parse_verdict_kind
from festinger.proposals.sightings.fingerprint import escape_hidden_chars
from festinger.proposals.sightings.model import ProposalSighting
from festinger.proposals.verdicts.effects import WORDS_NEEDED, EffectPreview
from festinger.proposals.verdicts.rules import FURTHEST

HEADING = "## Your verdict"
FIELDS = ("verdict", "note", "by", "code")
RESULT = "result"
INDENT = "    "
SLUG_CHARS = 40
ID_CHARS = 8
MOST_SHOWN = 20
"""Maximum number of sightings shown in a file."""
MAC_CHARS = 32
MAC_PURPOSE = b"festinger: sheets of the inbox"
NOT_TAKEN = "not taken: "
HOW_TO = """Write one of `approve`, `reject`, `deepen`, `too-vague`, `duplicate <id>`, `defer <days or date>` behind
`verdict:` and your name behind `by:`. What changes behaviour also needs one of your one-time codes.
Text above this heading is not read."""

_MARK = re.compile(
    r"^<!-- festinger space=(?P<space>\S+) id=(?P<id>[0-9a-f-]{36}) version=(?P<version>\d{1,9})"
    r" mac=(?P<mac>[0-9a-f]{32}) -->$"
)
_FIELD = re.compile(rf"^({'|'.join((*FIELDS, RESULT))}):[ \t]*(.*)$", re.IGNORECASE)
_NO_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFile:
    """The parsed content of a review file."""

    space: SpaceId
    proposal: UUID
    version: int
    verdict: str
    note: str
    by: str
    code: str
    result: str
    """The last result that was written back into the file."""

    @property
    def is_untouched(self) -> bool:
        """Whether nobody has written anything in it."""
        return not any((self.verdict, self.note, self.by, self.code))

    @property
    def ref(self) -> str:
        """A hash that identifies the same text in the same file."""
        words = [self.space, str(self.proposal), str(self.version)]
        words += [self.verdict, self.note, self.by, self.code]
        return hashlib.sha256("\x00".join(words).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """A verdict as written in a file."""

    kind: VerdictKind
    of: str = ""
    until: datetime | None = None
    word: str = ""


def derive_mac_key(master: bytes) -> bytes:
    """Derive the key that signs review files; the master key cannot be recovered from it."""
    return hmac.digest(master, MAC_PURPOSE, "sha256")


def compute_mac(key: bytes, *, space: str, proposal: UUID, version: int) -> str:
    text = f"{space}\n{proposal}\n{version}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:MAC_CHARS]


def file_name(proposal: Proposal, *, whole_id: bool = False) -> str:
    """Return the file name for a proposal."""
    slug = _NO_SLUG.sub("-", proposal.what.lower()).strip("-")[:SLUG_CHARS].strip("-") or "proposal"
    named = str(proposal.id) if whole_id else str(proposal.id)[:ID_CHARS]
    return f"{proposal.priority.value}-{named}-{slug}.md"


def format_review_file(card: ProposalCard, look: EffectPreview, *, key: bytes, note: str = "") -> str:
    """Render the review file of a proposal; `note` says why an earlier file was not accepted."""
    proposal = card.proposal
    mark = compute_mac(key, space=proposal.space_id, proposal=proposal.id, version=proposal.version)
    parts = [
        "# A proposal waits for your verdict",
        _indent_text(proposal.what),
        _format_facts(card),
        _format_section("Why", proposal.why),
        _format_section("How", proposal.how),
        _format_section("Another proposal asks for the opposite", "\n".join(card.opposites.values())),
        "## Seen\n\n" + "\n".join(map(_format_sighting, card.sightings[:MOST_SHOWN])),
        _format_evidence(card.sightings),
        "## What an approval does\n\n" + _format_effect(proposal, look),
        f"{HEADING}\n\n{HOW_TO}",
        "\n".join(f"{field}: " for field in FIELDS),
        f"{RESULT}: {_to_one_line(note)}" if note else "",
        f"<!-- festinger space={proposal.space_id} id={proposal.id} version={proposal.version} mac={mark} -->",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def parse_review_file(text: str, *, key: bytes) -> ReviewFile | None:
    """Parse what a person wrote; None if the file is not one of ours."""
    lines = text.splitlines()
    marks = [found for line in lines if (found := _MARK.match(line.rstrip()))]
    if len(marks) != 1 or HEADING not in (line.rstrip() for line in lines):
        return None
    space, id_, version = marks[0]["space"], UUID(marks[0]["id"]), int(marks[0]["version"])
    if not hmac.compare_digest(compute_mac(key, space=space, proposal=id_, version=version), marks[0]["mac"]):
        return None
    return ReviewFile(space=SpaceId(space), proposal=id_, version=version, **_parse_fields(lines))


def parse_verdict(sheet: ReviewFile, *, now: datetime) -> FileVerdict:
    """Parse the verdict that is meant. Raises `BadInput` if it is not understood."""
    word, _, rest = " ".join(sheet.verdict.split()).partition(" ")
    if word.casefold() == "too" and rest.casefold() == "vague":
        word, rest = "too-vague", ""
    kind = parse_verdict_kind(word)
    if kind is VerdictKind.REOPEN:
        raise BadInput("A decided proposal is not taken up again from here.")
    if kind is VerdictKind.DUPLICATE:
        return FileVerdict(kind=kind, of=rest)
    if kind is VerdictKind.DEFER:
        return FileVerdict(kind=kind, until=_parse_defer_date(rest, now=now) if rest else None)
    if kind is VerdictKind.APPROVE:
        return FileVerdict(kind=kind, word=rest)
    if rest:
        raise BadInput(f"`{rest[:40]}` after the verdict is not understood.", hint="Write it as the note.")
    return FileVerdict(kind=kind)


def set_result_line(text: str, result: str) -> str:
    """Return the file text with the result line added or replaced."""
    lines = text.splitlines()
    start = _find_person_part(lines)
    kept = [line for place, line in enumerate(lines) if place < start or not _is_field(line, RESULT)]
    place = next(at for at, line in enumerate(kept) if _MARK.match(line.rstrip()))
    above = "\n".join(kept[:place]).rstrip()
    return "\n".join([above, f"{RESULT}: {_to_one_line(result)}", "", *kept[place:]]).rstrip() + "\n"


def _parse_fields(lines: Sequence[str]) -> dict[str, str]:
    """Return the value of each field below the heading; the note may span several lines."""
    found = dict.fromkeys((*FIELDS, RESULT), "")
    last = ""
    for line in lines[_find_person_part(lines) :]:
        if _MARK.match(line.rstrip()):
            break
        if (field := _FIELD.match(line)) is not None:
            last = field[1].lower()
            found[last] = field[2].strip()
        elif last == "note" and line.strip():
            found["note"] = f"{found['note']}\n{line.strip()}".strip()
    return found


def _find_person_part(lines: Sequence[str]) -> int:
    """Return the line where the person's part begins: below the last heading."""
    return max(place for place, line in enumerate(lines) if line.rstrip() == HEADING) + 1


def _is_field(line: str, name: str) -> bool:
    field = _FIELD.match(line)
    return field is not None and field[1].lower() == name


def _parse_defer_date(text: str, *, now: datetime) -> datetime:
    days = text.casefold().removesuffix("days").removesuffix("day").strip()
    if days.isdecimal() and int(days) <= FURTHEST.days:
        # Count from midnight, so that parsing the same text a moment later gives the same date.
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return today + timedelta(days=int(days))
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadInput(
            f"`{text[:40]}` is no day.", hint="Write a number of days, or a date such as 2026-02-28."
        ) from error


def _format_facts(card: ProposalCard) -> str:
    seen = card.proposal
    facts = [
        f"- Category and scope: {seen.category}, {seen.scope}",
        f"- Type: {seen.type.value}; priority {seen.priority.value}",
        f"- Distinct causes: {seen.seen_count}, on {seen.days_seen} days; sightings in all: {seen.sightings}",
        f"- First seen: {iso(seen.first_seen) if seen.first_seen else 'never'}; by {seen.producer}",
    ]
    return "\n".join([*facts, f"- {UNTRUSTED_ONLY}"] if card.is_untrusted else facts)


def _format_section(title: str, text: str) -> str:
    return f"## {title}\n\n{_indent_text(text)}" if text.strip() else ""


def _format_sighting(sighting: ProposalSighting) -> str:
    times = f" ({sighting.times} times)" if sighting.times > 1 else ""
    who = f"agent {sighting.agent_id}, session {sighting.session_id}, origin {sighting.origin.value}"
    return f"{INDENT}{sighting.day.isoformat()} {_to_one_line(who)}{times}: {_to_one_line(sighting.text)}"


def _format_evidence(sightings: Sequence[ProposalSighting]) -> str:
    cited: dict[str, dict[str, None]] = {}
    for sighting in sightings:
        for kind, ids in sighting.evidence.items():
            if isinstance(ids, list | tuple):
                cited.setdefault(kind, {}).update(dict.fromkeys(map(str, ids)))
    lines = [
        f"{INDENT}{_to_one_line(kind)}: {_to_one_line(', '.join(list(ids)[:MOST_SHOWN]))}"
        for kind, ids in cited.items()
    ]
    return "## Evidence\n\n" + "\n".join(lines) if lines else ""


def _format_effect(proposal: Proposal, look: EffectPreview) -> str:
    if proposal.type is ProposalType.FORGET_REQUEST:
        undoing = f"This cannot be undone. To approve it, write `approve {WORDS_NEEDED[proposal.type]}`."
    else:
        undoing = "It can be undone."
    payload = "\n".join(f"{name}: {value}" for name, value in proposal.payload.items())
    gone = f"Gone since it was proposed: {', '.join(look.gone)}." if look.gone else ""
    return "\n\n".join(part for part in (look.says, _indent_text(payload), gone, undoing) if part.strip())


def _indent_text(text: str) -> str:
    """Indent text from elsewhere and make hidden characters visible."""
    lines = [escape_hidden_chars(line) for line in text.strip().splitlines()]
    return "\n".join(f"{INDENT}{line}".rstrip() for line in lines)


def _to_one_line(text: str) -> str:
    return " ".join(escape_hidden_chars(text).split()).replace("-->", "-- >")
