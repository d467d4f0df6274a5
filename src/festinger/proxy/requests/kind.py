"""Which of the requests that are read here is this one?"""

from enum import StrEnum

from festinger.proxy.routes import Protocol, Route


class Kind(StrEnum):
    CHAT = "/api/chat"
    GENERATE = "/api/generate"
    COMPLETIONS = "/v1/chat/completions"
    MESSAGES = "/v1/messages"
    RESPONSES = "/v1/responses"
    TEXT = "/v1/completions"

    @property
    def protocol(self) -> Protocol:
        return _PROTOCOLS[self]

    @property
    def is_native(self) -> bool:
        return self.protocol is Protocol.NATIVE


_PROTOCOLS = {
    Kind.CHAT: Protocol.NATIVE,
    Kind.GENERATE: Protocol.NATIVE,
    Kind.COMPLETIONS: Protocol.OPENAI,
    Kind.MESSAGES: Protocol.ANTHROPIC,
    Kind.RESPONSES: Protocol.OPENAI,
    Kind.TEXT: Protocol.OPENAI,
}
_KINDS = {kind.value: kind for kind in Kind}


def kind_of(route: Route) -> Kind | None:
    """The kind of the requests on a route; none where nothing is read."""
    return _KINDS.get(route.label)
