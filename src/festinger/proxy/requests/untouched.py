"""Why is a request forwarded as it came?

Every way of leaving a request alone has its own word. People read it in the answer's header.
"""

from enum import StrEnum


class Untouched(StrEnum):
    """Nothing of ours goes into the request, because…"""

    UNREADABLE = "unreadable"
    """it is not JSON, or holds numbers or characters that JSON cannot."""
    SHAPE = "shape"
    """it is JSON, but not what its route takes."""
    KEY_CASE = "key_case"
    """a key is written in other letters (`Messages`): servers differ in whether they take it."""
    DUPLICATE_KEY = "duplicate_key"
    """a key stands twice: servers differ in which one they take."""
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    ENCODED = "encoded"
    """it is compressed in a way that cannot be undone here."""
    ROUTE = "route"
    """this route is never written into."""
    EMPTY = "empty"
    """it only loads or unloads a model."""
    RAW = "raw"
    SUFFIX = "suffix"
    TEMPLATE = "template"
    CONTEXT = "context"
    DEBUG = "debug"
    NO_USER = "no_user"
    SIDE = "side"
    """the client asks for a title, tags or a summary, not for itself."""
    ASKED = "asked"
    """the client asked for no memory."""
    CLOUD = "cloud"
    """the model runs elsewhere."""
    BREAKER = "breaker"
    ALREADY = "already"
    """its newest user message carries a block already."""
    TOOL_TURN = "tool_turn"
    """it ends with the result of a tool: what there is to say waits for the next user turn."""
    FORWARDED = "forwarded"
    """the message that would carry the block was forwarded without one before."""
    FULL = "full"
    """the blocks that stand in this history have used up their share."""
