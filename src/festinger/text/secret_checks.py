"""Is this really a secret, or does it only look like one?

Claims about a value that a pattern found. They keep code (`password = read_password()`), prose ("token: see
below"), placeholders (`<your key>`) and long numbers from being taken for secrets. When in doubt about a value
that a person set apart with quotes, they say yes; when in doubt about a bare word, no.
"""

import base64
import binascii
import math
import re
from collections import Counter
from dataclasses import dataclass

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
class Sighting:
    """A value that a pattern found, with what stands around it."""

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


def anything(_: Sighting) -> bool:
    """The shape alone is enough."""
    return True


def is_written_out(seen: Sighting) -> bool:
    """A value that stands for itself: no placeholder, and not taken out before."""
    return bool(seen.value) and not seen.value.startswith(MARK) and not _PLACEHOLDER.fullmatch(seen.value)


def is_mixed(seen: Sighting) -> bool:
    """Letters with digits or marks among them, as in no word of a language."""
    value = seen.value.rstrip(b".,;:!?")
    has_letters = any(char in value for char in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    has_others = bool(re.search(rb"[^A-Za-z.,'/-]", value))
    return is_written_out(seen) and has_letters and has_others


def is_assigned_password(seen: Sighting) -> bool:
    """A password that somebody wrote down: in quotes anything, else what is neither code nor prose."""
    if not is_written_out(seen):
        return False
    if seen.quoted:
        return len(seen.value) > 2 and b" " not in seen.value
    if _is_expression(seen) or seen.value.lower() in _PROSE or seen.value.startswith(b"/"):
        return False
    if _IDENTIFIER.fullmatch(seen.value):
        return is_mixed(seen) and not _is_code_name(seen) if _has_digit(seen.value) else _ends_its_line(seen)
    return len(seen.value) > 3


def is_assigned_key(seen: Sighting) -> bool:
    """A key or token that somebody wrote down; more is asked of it than of a password, because `token`
    and `key` are words of every program."""
    value = seen.value
    if not is_written_out(seen) or len(value) < MIN_KEY_CHARS or b" " in value or b"://" in value:
        return False
    if not seen.quoted and (_is_expression(seen) or _is_code_name(seen)):
        return False
    return _has_digit(value) and is_mixed(seen) and _bits(value) > MIN_BITS


def is_basic_auth(seen: Sighting) -> bool:
    """Name and password in base64."""
    try:
        decoded = base64.b64decode(seen.value + b"=" * (-len(seen.value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()


def is_discord_token(seen: Sighting) -> bool:
    """Its first part is the number of an account in base64."""
    first = seen.value.partition(b".")[0]
    try:
        return base64.urlsafe_b64decode(first + b"=" * (-len(first) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


_CARD_PREFIX = re.compile(
    rb"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|[68])|35|6(?:011|5|4[4-9])"
)
_CARD_FORM = re.compile(rb"\d{13,19}|\d{4}(?: \d{4}){3}|\d{4}(?:-\d{4}){3}|\d{4}[ -]\d{6}[ -]\d{5}")
_JOINED = re.compile(rb"[\w.+/=-]")


def is_card_number(seen: Sighting) -> bool:
    """Digits in the groups of a card, with a known first part and the right check digit, standing alone."""
    alone = not _JOINED.fullmatch(seen.before) and not re.fullmatch(rb"[\w+/=-]", seen.after)
    digits = seen.value.replace(b" ", b"").replace(b"-", b"")
    fits = _CARD_FORM.fullmatch(seen.value) and _CARD_PREFIX.match(digits)
    return bool(alone and fits and len(set(digits)) > 1 and _luhn(digits))


def _luhn(digits: bytes) -> bool:
    """The check of ISO/IEC 7812: every second digit from the right is doubled."""
    values = [digit - ord("0") for digit in reversed(digits)]
    return (sum(values[::2]) + sum(sum(divmod(2 * value, 10)) for value in values[1::2])) % 10 == 0


def _has_digit(value: bytes) -> bool:
    return any(ord("0") <= char <= ord("9") for char in value)


def _is_code_name(seen: Sighting) -> bool:
    """A name of a program: `self.token2`, `API_KEY_1`, `oauth2_token`."""
    is_name = bool(_IDENTIFIER.fullmatch(seen.value))
    return is_name and (b"." in seen.value or b"_" in seen.value or not _has_digit(seen.value))


def _is_expression(seen: Sighting) -> bool:
    """A call, a subscript or the name of a type."""
    is_called = seen.after in (b"(", b"[", b"{")
    return is_called or bool(_SUBSCRIPT.match(seen.value) or _TYPE_NAME.fullmatch(seen.value))


def _ends_its_line(seen: Sighting) -> bool:
    """A bare word is a password where nothing follows it; in a call or a sentence something does."""
    line = seen.data[seen.end : seen.end + 80].partition(b"\n")[0]
    is_name = b"_" in seen.value or b"." in seen.value or b"$" in seen.value
    return len(seen.value) > 5 and not is_name and not line.strip(b" \t\r;&'\"")


def _bits(value: bytes) -> float:
    """Bits per character, by the characters that the value itself uses."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
