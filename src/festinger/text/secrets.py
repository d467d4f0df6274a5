"""Finds secrets and personal details in text and replaces them with `[redacted:<kind>]`.

Runs before a text is stored, embedded, logged or sent, in linear time; redacting twice changes nothing more.
Each kind has anchors (lower-case words of which a text must hold one, so that most texts pass after a plain
search), an RE2 pattern that never backtracks, and where the shape says too little, a claim that checks the
value. The group `secret`, or else the whole match, is taken out; earlier kinds win. Claims spare code, prose,
placeholders and long numbers: when in doubt, a quoted value counts and a bare word does not. Personal details
are e-mail addresses, telephone numbers that look dialable or are introduced as such, and postal addresses.
Names stay: a memory without names is worthless.
"""

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import re2

MARK = b"[redacted:"
MIN_KEY_CHARS = 8
MIN_BITS = 2.5
"""Bits per character below which a value is a word or a pattern, not a key; random hex has almost 4."""

_IDENTIFIER = re.compile(rb"[A-Za-z_$@][\w$]*(?:(?:\.|::|->)[A-Za-z_]\w*)*")
_SUBSCRIPT = re.compile(rb"[A-Za-z_]\w*(?:\.\w+)*\[")
_TYPE_NAME = re.compile(rb"(?:[A-Z][a-z]+){2,}")
_PLACEHOLDER = re.compile(
    rb"(?i)(?:[x*._#-]+|<.*|\$[\w{(].*|%[\w(].*|\{.*|\[[a-z ]*\]?|(?:your|my|the|some|test|dummy|fake|example|sample)[-_ ].*"
    rb"|example\w*|placeholder|change[-_ ]?me|redacted|none|null|nil|true|false|undefined|empty|todo|tbd|n/?a)"
)
_PROSE = frozenset(
    b"required optional string text str bytes field reset forgotten forgot expired incorrect invalid missing hidden "
    b"protected changed unknown wrong correct default disabled enabled manager policy prompt hash hashed number int "
    b"integer boolean bool object array any type name value input output length minimum maximum".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretMatch:
    """A value that a pattern found, with its context."""

    data: bytes
    start: int
    end: int

    @property
    def value(self) -> bytes:
        return self.data[self.start : self.end].strip(b"\"'")

    @property
    def quoted(self) -> bool:
        return self.data[self.start : self.start + 1] in (b'"', b"'")

    @property
    def before(self) -> bytes:
        return self.data[self.start - 1 : self.start] if self.start else b""

    @property
    def after(self) -> bytes:
        return self.data[self.end : self.end + 1]


def accept_any(_: SecretMatch) -> bool:
    """Accept every match: the shape alone is enough."""
    return True


def is_literal_value(seen: SecretMatch) -> bool:
    """Return whether it is an actual value: no placeholder, and not already redacted."""
    return bool(seen.value) and not seen.value.startswith(MARK) and not _PLACEHOLDER.fullmatch(seen.value)


def has_mixed_characters(seen: SecretMatch) -> bool:
    """Return whether it mixes letters with digits or symbols, as no natural word does."""
    value = seen.value.rstrip(b".,;:!?")
    has_letters = any(char in value for char in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    has_others = bool(re.search(rb"[^A-Za-z.,'/-]", value))
    return is_literal_value(seen) and has_letters and has_others


def is_assigned_password(seen: SecretMatch) -> bool:
    """Return whether it is a literal password: anything in quotes, else what is neither code nor prose."""
    if not is_literal_value(seen):
        return False
    if seen.quoted:
        return len(seen.value) > 2 and b" " not in seen.value
    if _is_expression(seen) or seen.value.lower() in _PROSE or seen.value.startswith(b"/"):
        return False
    if _IDENTIFIER.fullmatch(seen.value):
        return (
            has_mixed_characters(seen) and not _is_code_name(seen) if _has_digit(seen.value) else _ends_its_line(seen)
        )
    return len(seen.value) > 3


def is_literal_key_value(seen: SecretMatch) -> bool:
    """Return whether it is a literal key or token.

    Stricter than for passwords, because `token` and `key` are words of every program.
    """
    value = seen.value
    if not is_literal_value(seen) or len(value) < MIN_KEY_CHARS or b" " in value or b"://" in value:
        return False
    if not seen.quoted and (_is_expression(seen) or _is_code_name(seen)):
        return False
    return _has_digit(value) and has_mixed_characters(seen) and _bits_per_character(value) > MIN_BITS


def is_basic_auth(seen: SecretMatch) -> bool:
    """Return whether it is name and password in base64."""
    try:
        decoded = base64.b64decode(seen.value + b"=" * (-len(seen.value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()


def is_discord_token(seen: SecretMatch) -> bool:
    """Return whether its first part is an account number in base64."""
    first = seen.value.partition(b".")[0]
    try:
        return base64.urlsafe_b64decode(first + b"=" * (-len(first) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


_CARD_PREFIX = re.compile(rb"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|[68])|35|6(?:011|5|4[4-9])")
_CARD_FORM = re.compile(rb"\d{13,19}|\d{4}(?: \d{4}){3}|\d{4}(?:-\d{4}){3}|\d{4}[ -]\d{6}[ -]\d{5}")
_JOINED = re.compile(rb"[\w.+/=-]")


def is_card_number(seen: SecretMatch) -> bool:
    """Return whether it stands alone, grouped like a card, with a known prefix and valid check digit."""
    alone = not _JOINED.fullmatch(seen.before) and not re.fullmatch(rb"[\w+/=-]", seen.after)
    digits = seen.value.replace(b" ", b"").replace(b"-", b"")
    fits = _CARD_FORM.fullmatch(seen.value) and _CARD_PREFIX.match(digits)
    return bool(alone and fits and len(set(digits)) > 1 and _passes_luhn_check(digits))


def _passes_luhn_check(digits: bytes) -> bool:
    """Verify the check digit of ISO/IEC 7812: every second digit from the right is doubled."""
    values = [digit - ord("0") for digit in reversed(digits)]
    return (sum(values[::2]) + sum(sum(divmod(2 * value, 10)) for value in values[1::2])) % 10 == 0


def _has_digit(value: bytes) -> bool:
    return any(ord("0") <= char <= ord("9") for char in value)


def _is_code_name(seen: SecretMatch) -> bool:
    """Return whether it is an identifier such as `self.token2`, `API_KEY_1` or `oauth2_token`."""
    is_name = bool(_IDENTIFIER.fullmatch(seen.value))
    return is_name and (b"." in seen.value or b"_" in seen.value or not _has_digit(seen.value))


def _is_expression(seen: SecretMatch) -> bool:
    """Return whether it is a call, a subscript or a type name."""
    is_called = seen.after in (b"(", b"[", b"{")
    return is_called or bool(_SUBSCRIPT.match(seen.value) or _TYPE_NAME.fullmatch(seen.value))


def _ends_its_line(seen: SecretMatch) -> bool:
    """Return whether nothing follows: a bare word is a password there, but not in a call or a sentence."""
    line = seen.data[seen.end : seen.end + 80].partition(b"\n")[0]
    is_name = b"_" in seen.value or b"." in seen.value or b"$" in seen.value
    return len(seen.value) > 5 and not is_name and not line.strip(b" \t\r;&'\"")


def _bits_per_character(value: bytes) -> float:
    """Return the bits per character, by the distribution of the value's own characters."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


Claim = Callable[["SecretMatch"], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKind:
    name: str
    anchors: tuple[bytes, ...]
    pattern: Any
    claim: Claim


def build_secret_kind(name: str, anchors: str, pattern: str, claim: Claim = accept_any) -> SecretKind:
    """Build a kind. Anchors are separated by spaces; with none, every text is searched."""
    return SecretKind(
        name=name,
        anchors=tuple(word.encode() for word in anchors.lower().split()),
        pattern=re2.compile(pattern.encode()),
        claim=claim,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretTable:
    """Kinds that are searched together, with two searches that rule out most texts."""

    kinds: tuple[SecretKind, ...]
    anchors: tuple[bytes, ...]
    anchored: Any
    """One search that returns the indexes of the anchors in a text."""
    unanchored: Any
    """One search for the kinds that have no anchor."""


def build_secret_table(*kinds: SecretKind) -> SecretTable:
    anchors = tuple(dict.fromkeys(anchor for kind in kinds for anchor in kind.anchors))
    return SecretTable(
        kinds=kinds,
        anchors=anchors,
        anchored=_build_anchor_search(anchors),
        unanchored=re2.compile(b"|".join(kind.pattern.pattern for kind in kinds if not kind.anchors)),
    )


def _build_anchor_search(anchors: Iterable[bytes]) -> Any:
    search = re2.Set.SearchSet()
    for anchor in anchors:
        search.Add(re2.escape(anchor))
    search.Compile()
    return search


_BLOCK = r"PRIVATE KEY(?: BLOCK)?-----"
_OPENERS = r"pass(?:word|wd|phrase|code)|pwd|kennwort|passwort|mot_de_passe"
_KEY_NAMES = (
    r"(?:[a-z0-9]{1,24}[_-]){0,3}(?:secret(?:[_-]?(?:key|token))?|api[_-]?key|apikey|access[_-]?key|auth[_-]?key"
    r"|private[_-]?key|encryption[_-]?key|signing[_-]?key|(?:access|auth|refresh|bearer|session|id|bot|api)[_-]?token"
    r"|token|credentials?)"
)
_SETS = r"[\"']?\s{0,4}(?::=|=>|=|:)\s{0,4}"
_VALUE = r"(?P<secret>\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s\"'`,;&<>(){}|]{1,300})"


def _load_listed_kinds() -> Iterator[SecretKind]:
    """The kinds that are known by their shape alone: keys of providers, clouds and services."""
    for line in Path(__file__).with_name("secret_kinds.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, anchors, pattern = line.split(" | ", 2)
            yield build_secret_kind(name, anchors, pattern)


SECRETS = build_secret_table(
    build_secret_kind(
        "private_key", "-----begin", rf"-----BEGIN [A-Z0-9 ]{{0,40}}{_BLOCK}[\s\S]*?-----END [A-Z0-9 ]{{0,40}}{_BLOCK}"
    ),
    # Truncated, perhaps with its line breaks written as `\n`.
    build_secret_kind(
        "private_key", "-----begin", rf"-----BEGIN [A-Z0-9 ]{{0,40}}{_BLOCK}(?:(?:\\[nr]|\s)*[A-Za-z0-9+/=]{{16,}})+"
    ),
    build_secret_kind(
        "putty_key", "private-lines", r"Private-Lines: \d+\s+(?P<secret>(?:[A-Za-z0-9+/]{64}\s+)*[A-Za-z0-9+/=]{16,64})"
    ),
    *_load_listed_kinds(),
    build_secret_kind(
        "discord_token", "", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", is_discord_token
    ),
    build_secret_kind("jwt", "eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    build_secret_kind(
        "connection_string",
        "://",
        r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})@",
        is_literal_value,
    ),
    build_secret_kind(
        "bearer_token", "bearer", r"(?i)\bbearer[\s\"':=]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", has_mixed_characters
    ),
    build_secret_kind("basic_auth", "basic", r"(?i)\bbasic\s+(?P<secret>[A-Za-z0-9+/]{8,}={0,2})", is_basic_auth),
    build_secret_kind(
        "authorization",
        "authorization",
        r"(?i)\bauthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[a-z]{3,12}\s+)?(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        has_mixed_characters,
    ),
    build_secret_kind("otp_secret", "otpauth://", r"(?i)otpauth://[^\s\"']{0,200}[?&]secret=(?P<secret>[A-Z2-7]{8,})"),
    build_secret_kind(
        "password",
        "pass pwd kennwort mot_de_passe",
        rf"(?i)(?:\b|_)(?:{_OPENERS}){_SETS}{_VALUE}",
        is_assigned_password,
    ),
    build_secret_kind("password", "pass pwd", rf"(?i)--(?:{_OPENERS})[ =]{_VALUE}", is_assigned_password),
    build_secret_kind(
        "password",
        "pass pwd",
        r"(?i)\b(?:password|passwort|passphrase|passcode|pwd) (?:is|ist|was|lautet)(?: now)?:? " + _VALUE,
        has_mixed_characters,
    ),
    build_secret_kind(
        "api_key", "secret key token credential", rf"(?i)\b{_KEY_NAMES}{_SETS}{_VALUE}", is_literal_key_value
    ),
    build_secret_kind("card_number", "", r"\d(?:[ -]?\d){12,18}", is_card_number),
)
"""All kinds; a name occurs more than once when a secret can be written in several ways."""

FEWEST_DIGITS, MOST_DIGITS = 7, 15
"""Digits of a telephone number, including the country code (E.164)."""

_DIGIT = re.compile(rb"\d")
_DATE = re.compile(rb"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})")


def is_phone_number(seen: SecretMatch) -> bool:
    """Return whether it has as many digits as a telephone number, stands alone, and is no date."""
    digits = len(_DIGIT.findall(seen.value))
    alone = not (seen.before + seen.after).strip(b" ,;.:!?)([]\"'\n\t")
    return FEWEST_DIGITS <= digits <= MOST_DIGITS and alone and not _DATE.fullmatch(seen.value)


_GAP = r"[ ./-]?"
_INTERNATIONAL = rf"(?:\+|\b00)[1-9]\d{{0,2}}{_GAP}(?:\(\d{{1,4}}\){_GAP})?\d(?:{_GAP}\d){{4,12}}"
_AMERICAN = r"(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b"
_NATIONAL = r"(?:\b|\()0\d{1,4}\)?[ /-]{1,3}\d{2,8}(?:[ -]\d{2,6}){0,4}\b"
_INTRODUCED = (
    r"(?i)\b(?:phone|mobile|telephone|tel|cell|call me (?:on|at)|fax|whatsapp|telefon|handy|t[eé]l[eé]phone)"
    r"(?: number| no\.?)?(?: is| ist|:|\.)? {0,2}(?P<secret>\+?\d(?:[ ./()-]{0,2}\d){6,14})"
)

_STREETS = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Place|Pl|Square|Sq|Terrace|Crescent"
    r"|Parkway|Pkwy|Highway|Hwy)"
)
_STREET = rf"\b\d{{1,5}}[A-Za-z]?,? (?:[A-Z][^\s,;:]{{1,30}} ){{1,4}}{_STREETS}\b\.?"
_DOOR = r"(?:,? (?:Apt|Apartment|Suite|Unit|Flat|Floor)\.? {0,2}[A-Za-z0-9-]{1,6})?"
_TOWN = r"(?:,? [A-Z][^\s,;:.\dA-Z]{1,30}(?: [A-Z][^\s,;:.\dA-Z]{1,30}){0,2})?"
_CODE = r"(?:,? (?:[A-Z]{2} )?\d{5}(?:-\d{4})?\b|,? [A-Z]{1,2}\d[A-Z0-9]? ?\d[A-Z]{2}\b)?"
_STREET_FIRST = (
    r"\b[A-Z][^\s,;:\d]{2,40}(?:stra(?:ß|ss)e|str\.|gasse|allee|platz|ufer|damm|weg) \d{1,4} ?[a-z]?\b"
    r"(?:,? (?:[A-Z]-?)?\d{4,5} [A-Z][^\s,;:.\d]{1,30})?"
)
_BOX = r"\b(?:P\.? ?O\.? Box|Postfach) \d{1,8}\b"

PERSONAL: SecretTable = build_secret_table(
    build_secret_kind(
        "email", "@", r"\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9.-]{0,190}\.[A-Za-z]{2,24}\b"
    ),
    build_secret_kind("phone", "", _INTERNATIONAL, is_phone_number),
    build_secret_kind("phone", "", _AMERICAN, is_phone_number),
    build_secret_kind("phone", "", _NATIONAL, is_phone_number),
    build_secret_kind("phone", "phone mobile tel cell call fax whatsapp handy t\u00e9l", _INTRODUCED, is_phone_number),
    build_secret_kind("address", "", _STREET + _DOOR + _TOWN + _CODE),
    build_secret_kind("address", "", _STREET_FIRST),
    build_secret_kind("address", "box postfach", _BOX),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionResult:
    """A text without its secrets, and the kinds that were found."""

    text: str
    kinds: tuple[str, ...] = ()


Redact = Callable[[str], RedactionResult]
"""Removes from a text what must not be stored."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Span:
    start: int
    end: int
    rank: int


def redact(text: str, *, personal: bool = False) -> RedactionResult:
    """Remove secrets; with `personal` also contact details of people."""
    found = _without(text, SECRETS)
    if not personal:
        return found
    rest = _without(found.text, PERSONAL)
    return RedactionResult(text=rest.text, kinds=tuple(dict.fromkeys((*found.kinds, *rest.kinds))))


def remove_secrets(text: str) -> str:
    """Return only the redacted text."""
    return redact(text).text


def _without(text: str, table: SecretTable) -> RedactionResult:
    data = text.encode("utf-8", "surrogatepass")
    kinds: dict[str, None] = {}
    # A second pass finds what stands alone only once its neighbor is gone; it also makes redaction
    # idempotent.
    while spans := _joined(sorted(_spans(data, table))):
        kinds |= dict.fromkeys(table.kinds[span.rank].name for span in spans)
        data = _replace_spans(data, spans, table)
    if not kinds:
        return RedactionResult(text=text)
    return RedactionResult(text=data.decode("utf-8", "surrogatepass"), kinds=tuple(kinds))


def _spans(data: bytes, table: SecretTable) -> Iterator[_Span]:
    held = {table.anchors[number] for number in table.anchored.Match(data.lower()) or ()}
    may_lack = table.unanchored.search(data) is not None
    if not held and not may_lack:
        return
    for rank, kind in enumerate(table.kinds):
        if not held.isdisjoint(kind.anchors) or (may_lack and not kind.anchors):
            for start, end in _found(kind, data):
                yield _Span(start=start, end=end, rank=rank)


def _found(kind: SecretKind, data: bytes) -> Iterator[tuple[int, int]]:
    for match in kind.pattern.finditer(data):
        start, end = match.span(kind.pattern.groups)  # the group, or else the whole match
        seen = SecretMatch(data=data, start=start, end=end)
        if kind.claim(seen):
            quote = int(seen.quoted)
            yield start + quote, end - quote


def _joined(spans: list[_Span]) -> list[_Span]:
    """Merge overlapping spans, named by the kind that comes first."""
    joined: list[_Span] = []
    for span in spans:
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            span = _Span(start=last.start, end=max(last.end, span.end), rank=min(last.rank, span.rank))
        joined.append(span)
    return joined


def _replace_spans(data: bytes, spans: list[_Span], table: SecretTable) -> bytes:
    parts, at = [], 0
    for span in spans:
        parts += [data[at : span.start], MARK, table.kinds[span.rank].name.encode(), b"]"]
        at = span.end
    return b"".join([*parts, data[at:]])
