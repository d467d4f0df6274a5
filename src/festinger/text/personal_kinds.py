"""Which details of a person are known, and what do they look like?

The same kind of table as that of secrets, for those who chose to keep no details of people: addresses of e-mail,
telephone numbers and postal addresses. A telephone number must look written to be dialled, or be introduced as one;
dates, versions and prices are left alone. Names are not taken out: a memory without names is none.
"""

import re

from festinger.text.secret_checks import Sighting
from festinger.text.secret_kinds import Table, kind_of, table_of

FEWEST_DIGITS, MOST_DIGITS = 7, 15
"""Digits of a telephone number, with the code of its country (E.164)."""

_DIGIT = re.compile(rb"\d")
_DATE = re.compile(rb"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})")


def is_dialled(seen: Sighting) -> bool:
    """As many digits as a telephone number has, standing by itself, and no date."""
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

PERSONAL: Table = table_of(
    kind_of(
        "email", "@", r"\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9.-]{0,190}\.[A-Za-z]{2,24}\b"
    ),
    kind_of("phone", "", _INTERNATIONAL, is_dialled),
    kind_of("phone", "", _AMERICAN, is_dialled),
    kind_of("phone", "", _NATIONAL, is_dialled),
    kind_of("phone", "phone mobile tel cell call fax whatsapp handy t\u00e9l", _INTRODUCED, is_dialled),
    kind_of("address", "", _STREET + _DOOR + _TOWN + _CODE),
    kind_of("address", "", _STREET_FIRST),
    kind_of("address", "box postfach", _BOX),
)
