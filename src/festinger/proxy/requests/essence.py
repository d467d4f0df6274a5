"""What of a message stays the same wherever and whenever it comes?

Role and stable content, as one hash. Our blocks and volatile tails are off already; of a system text only the
beginning counts, since many clients write the date into it.
"""

from collections.abc import Iterable
from hashlib import sha256

from festinger.proxy.loops.message import Message, Role

SYSTEM_CHARS = 50
HASH_BYTES = 16


def short_sha256(data: bytes) -> bytes:
    return sha256(data).digest()[:HASH_BYTES]


_WRITTEN = {role: b"%d:%b" % (len(role), role.encode()) for role in Role}


def content_hash(messages: Iterable[Message], others: bytes = b"") -> bytes:
    """The hash of what was said. Lengths stand before the parts, so that no two contents are written alike."""
    parts = [b"%d:%b" % (len(others), others)]
    for message in messages:
        text = message.text[:SYSTEM_CHARS] if message.role is Role.SYSTEM else message.text.rstrip()
        said = text.encode()
        parts.append(b"%b%d:%b" % (_WRITTEN[message.role], len(said), said))
        for call in message.calls:
            name, arguments = call.name.encode(), call.arguments.encode()
            parts.append(b"4:call%d:%b%d:%b" % (len(name), name, len(arguments), arguments))
    return short_sha256(b"".join(parts))
