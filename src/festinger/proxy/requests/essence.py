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


def content_hash(messages: Iterable[Message], others: bytes = b"") -> bytes:
    """The hash of what was said. Lengths stand before the parts, so that no two contents are written alike."""
    parts = [others]
    for message in messages:
        text = message.text[:SYSTEM_CHARS] if message.role is Role.SYSTEM else message.text.rstrip()
        parts += (message.role.encode(), text.encode())
        for call in message.calls:
            parts += (b"call", call.name.encode(), call.arguments.encode())
    return short_sha256(b"".join([b"%d:%b" % (len(part), part) for part in parts]))
