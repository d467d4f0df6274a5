"""Translates pydantic-ai's errors into ours.

`ProviderDown` means that a retry may help, `ProviderRefused` that it will not. A provider may echo in its
error what it was sent, including the key, so none of its words are passed on: the message has the status and
the provider's error code, and the chained cause is a stand-in with the same two facts.
"""

import re

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)

from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.endpoint import Endpoint, ProviderName
from festinger.llm.http import AnswerTooLargeError, RedirectError

UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What the client libraries raise on an answer in an unknown form: they parse it without checking."""

FOREIGN = (AgentRunError, UserError, AnswerTooLargeError, RedirectError, *UNREADABLE)
"""Everything that talking to a provider raises."""

_PASSING = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError)
_LASTING = (ModelRequestRejectedError, ModelQuotaExceededError)
_CODE = re.compile(r"[A-Za-z_]{1,60}")
"""Matches error codes (`rate_limit_exceeded`) but no keys."""
_NO_TOOLS = re.compile(
    r"support\w* tool|tool(?:s| choice| use| calling)?(?: param)? (?:requires|(?:is|are) not)", re.IGNORECASE
)


class UpstreamError(Exception):
    """What a provider's library raised, without the provider's words."""


def to_provider_error(error: Exception, asked: Endpoint) -> ProviderDown | ProviderRefused:
    """Return our error for theirs, with its cause set."""
    ours = _ours(error, asked)
    # Without the traceback too: its frames hold the request with its headers.
    ours.__cause__ = UpstreamError(f"{type(error).__name__}: {_facts(error)}")
    return ours


def refuses_tools(error: Exception) -> bool:
    """Whether a server says that this model, or the way that it is served, takes no tools."""
    return isinstance(error, ModelHTTPError) and _NO_TOOLS.search(str(error.body)) is not None


def _ours(error: Exception, asked: Endpoint) -> ProviderDown | ProviderRefused:
    if _caused_by(error, AnswerTooLargeError):
        return ProviderRefused(f"`{asked.name}` sent more than an answer can be.")
    if _caused_by(error, RedirectError):
        return ProviderRefused(
            f"{asked.server} sends us to another address.", hint="Give the address that it really answers at."
        )
    if isinstance(error, UNREADABLE):
        return ProviderRefused(f"`{asked.name}` answered in a form that cannot be read.")
    if isinstance(error, ContentFilterError):
        return ProviderRefused(f"`{asked.name}` held its answer back.", hint="Its filter does not pass this text.")
    if isinstance(error, ModelAPIError) and _may_pass(error):
        down = ProviderDown(f"{asked.server} cannot answer now ({_facts(error)}).")
        if error.retry_after is not None:
            down.details["retry_after"] = error.retry_after
        return down
    return ProviderRefused(f"`{asked.name}` refused ({_facts(error)}).", hint=_hint(error, asked))


def _may_pass(error: ModelAPIError) -> bool:
    if isinstance(error, _LASTING):
        return False
    # No status and no kind: something other than the provider answered, such as a gateway in between.
    return isinstance(error, _PASSING) or not isinstance(error, ModelHTTPError)


def _hint(error: Exception, asked: Endpoint) -> str | None:
    if isinstance(error, ModelAuthenticationError):
        return f"Check the API key of `{asked.name}`."
    if isinstance(error, ModelQuotaExceededError):
        return f"The account at {asked.provider} has nothing left."
    if isinstance(error, ModelNotFoundError):
        fetch = f" `ollama pull {asked.model}` fetches it." if asked.provider is ProviderName.OLLAMA else ""
        return f"Check the model's name and the address {asked.address}.{fetch}"
    return None


def _facts(error: Exception) -> str:
    facts = [type(error).__name__]
    if isinstance(error, ModelHTTPError):
        facts = [f"status {error.status_code}"]
    if isinstance(error, ModelAPIError):
        codes = (error.provider_error_code, error.provider_error_type)
        facts += [code for code in codes if code and _CODE.fullmatch(code)][:1]
    return ", ".join(facts)


def _caused_by(error: BaseException, kind: type[Exception]) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
