"""Talks to models of any protocol through pydantic-ai.

Converts our messages to its messages and its responses to ours. One exchange is one request: nothing is
retried inside, because each try is a call with a ledger row of its own; only a model that turns out to take no
tools is asked again without them, which costs nothing. The client library of a provider takes seconds to load, so
each is imported when it is first opened.

Of the errors, `ProviderDown` means that a retry may help, `ProviderRefused` that it will not. A provider may echo in its
error what it was sent, including the key, so none of its words are passed on: the message has the status and
the provider's error code, and the chained cause is a stand-in with the same two facts.
"""

import re
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import groupby

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
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
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.endpoint import OWN_ADDRESS, Endpoint, ProviderName
from festinger.llm.http import READ_SECONDS, AnswerTooLargeError, RedirectError, http_client
from festinger.llm.model import (
    AnswerSchema,
    FinishReason,
    MessageRole,
    ModelReply,
    ModelToolCall,
    PromptMessage,
    ReplyChunk,
    ToolOffer,
    Usage,
)

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
    ours = _translate_error(error, asked)
    # Without the traceback too: its frames hold the request with its headers.
    ours.__cause__ = UpstreamError(f"{type(error).__name__}: {_facts(error)}")
    return ours


def is_tools_refusal(error: Exception) -> bool:
    """Whether a server says that this model, or the way that it is served, takes no tools."""
    return isinstance(error, ModelHTTPError) and _NO_TOOLS.search(str(error.body)) is not None


def _translate_error(error: Exception, asked: Endpoint) -> ProviderDown | ProviderRefused:
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
    if isinstance(error, ModelAPIError) and _is_transient_error(error):
        down = ProviderDown(f"{asked.server} cannot answer now ({_facts(error)}).")
        if error.retry_after is not None:
            down.details["retry_after"] = error.retry_after
        return down
    return ProviderRefused(f"`{asked.name}` refused ({_facts(error)}).", hint=_hint(error, asked))


def _is_transient_error(error: ModelAPIError) -> bool:
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


SETTINGS = ModelSettings(max_retries=0, timeout=READ_SECONDS)
"""No cap on the output: thinking models spend it before the answer. The guards enforce the timeout."""

NO_KEY = "none"
"""Sent where a client library insists on a key and the server wants none."""

FINISHES = {
    "stop": FinishReason.DONE,
    "tool_call": FinishReason.DONE,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.FILTERED,
}


class PydanticAiProvider:
    def __init__(self, endpoint: Endpoint, model: Model, client: httpx2.AsyncClient) -> None:
        self.endpoint = endpoint
        self._model = model
        self._client = client
        self._takes_tools = True

    async def complete(self, messages: Sequence[PromptMessage], shape: type[AnswerSchema] | None) -> ModelReply:
        said, wanted = to_pydantic_messages(messages), self._parameters(shape)
        try:
            response = await model_request(
                self._model, said, model_settings=SETTINGS, model_request_parameters=wanted, instrument=False
            )
        except FOREIGN as error:
            fault = to_provider_error(error, self.endpoint)
        else:
            return _reply(response)
        # Raised here and not above, so that the original, which may echo a key, is not chained.
        raise fault

    async def stream(
        self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()
    ) -> AsyncIterator[ReplyChunk]:
        said, wanted = to_pydantic_messages(messages), _offer(tools if self._takes_tools else ())
        try:
            async with model_request_stream(
                self._model, said, model_settings=SETTINGS, model_request_parameters=wanted, instrument=False
            ) as response:
                async for text in _texts(response):
                    yield ReplyChunk(text=text)
                whole = response.get()
        except FOREIGN as error:
            fault = to_provider_error(error, self.endpoint)
            self._takes_tools = self._takes_tools and not is_tools_refusal(error)
        else:
            ended = _reply(whole)
            yield ReplyChunk(finish=ended.finish, usage=ended.usage, calls=_calls(whole))
            return
        if wanted.function_tools and not self._takes_tools:
            async for chunk in self.stream(messages):
                yield chunk
            return
        raise fault

    async def close(self) -> None:
        await self._client.aclose()

    def _parameters(self, shape: type[AnswerSchema] | None) -> ModelRequestParameters:
        if shape is None:
            return ModelRequestParameters()
        schema = shape.model_json_schema()
        if self._model.profile.get("supports_json_schema_output", False):
            wanted = OutputObjectDefinition(json_schema=schema, name=shape.__name__)
            return ModelRequestParameters(output_mode="native", output_object=wanted)
        # Models without constrained decoding are asked to call a tool that takes the shape.
        tool = ToolDefinition(name="answer", description="Give the answer.", parameters_json_schema=schema)
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def to_pydantic_messages(messages: Sequence[PromptMessage]) -> list[ModelMessage]:
    """Convert our messages to pydantic-ai's form: consecutive messages of ours become one request."""
    theirs: list[ModelMessage] = []
    for spoken, run in groupby(messages, key=lambda message: message.role is MessageRole.ASSISTANT):
        if spoken:
            theirs.append(ModelResponse(parts=[part for message in run for part in _spoken_parts(message)]))
        else:
            theirs.append(ModelRequest(parts=[_part(message) for message in run]))
    return theirs


def _spoken_parts(message: PromptMessage) -> list[TextPart | ToolCallPart]:
    calls = [ToolCallPart(call.name, dict(call.arguments), tool_call_id=call.id) for call in message.calls]
    return [*([TextPart(message.text)] if message.text or not calls else []), *calls]


def _part(message: PromptMessage) -> SystemPromptPart | UserPromptPart | ToolReturnPart:
    if message.role is MessageRole.TOOL:
        [call] = message.calls
        return ToolReturnPart(call.name, message.text, tool_call_id=call.id)
    if message.role is MessageRole.SYSTEM:
        return SystemPromptPart(message.text)
    return UserPromptPart(message.text)


def _offer(tools: Sequence[ToolOffer]) -> ModelRequestParameters:
    offered = [
        ToolDefinition(name=each.name, description=each.description, parameters_json_schema=dict(each.schema))
        for each in tools
    ]
    return ModelRequestParameters(function_tools=offered)


def _calls(response: ModelResponse) -> tuple[ModelToolCall, ...]:
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    return tuple(
        ModelToolCall(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_dict()) for part in parts
    )


def _reply(response: ModelResponse) -> ModelReply:
    parts = (
        part.content if isinstance(part, TextPart) else part.args_as_json_str()
        for part in response.parts
        if isinstance(part, TextPart | ToolCallPart)
    )
    return ModelReply(
        text="".join(parts),
        finish=FINISHES.get(response.finish_reason or "", FinishReason.UNKNOWN),
        usage=_usage(response.usage),
    )


def _usage(theirs: RequestUsage) -> Usage | None:
    if not theirs.input_tokens and not theirs.output_tokens:
        return None
    return Usage(tokens_in=theirs.input_tokens, tokens_out=theirs.output_tokens, tokens_cached=theirs.cache_read_tokens)


async def _texts(response: StreamedResponse) -> AsyncIterator[str]:
    async for event in response:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield text
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield text


def open_provider(asked: Endpoint) -> PydanticAiProvider:
    """Open a provider for this endpoint. It holds connections until it is closed."""
    client = http_client(asked)
    return PydanticAiProvider(asked, _MODELS[asked.provider](asked, client), client)


def _claude(asked: Endpoint, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(base_url=asked.address, api_key=_key(asked), http_client=client)
    return AnthropicModel(asked.model, provider=provider)


def _openai(asked: Endpoint, client: httpx2.AsyncClient) -> Model:
    """OpenAI, and every server that speaks its chat completions API."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider: OpenAIProvider | OpenAICompatibleProvider
    if asked.address == OWN_ADDRESS[ProviderName.OPENAI]:
        provider = OpenAIProvider(base_url=asked.address, api_key=_key(asked), http_client=client)
    else:
        # Other servers are not sent what only OpenAI's own understands.
        provider = OpenAICompatibleProvider(
            "openai-compatible", base_url=asked.address, api_key=_key(asked), http_client=client
        )
    return OpenAIChatModel(asked.model, provider=provider)


def _ollama(asked: Endpoint, client: httpx2.AsyncClient) -> Model:
    """Ollama, through its OpenAI-compatible API, which takes a JSON schema for the answer."""
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    address = asked.address if asked.address.endswith("/v1") else f"{asked.address}/v1"
    provider = OllamaProvider(base_url=address, api_key=_key(asked), http_client=client)
    return OllamaModel(asked.model, provider=provider)


def _gemini(asked: Endpoint, client: httpx2.AsyncClient) -> Model:
    with warnings.catch_warnings():
        # Google's library has string escapes that Python warns about when it first compiles them.
        warnings.simplefilter("ignore")
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(base_url=asked.address, api_key=_key(asked), http_client=client)
    return GoogleModel(asked.model, provider=provider)


_MODELS: Mapping[ProviderName, Callable[[Endpoint, httpx2.AsyncClient], Model]] = {
    ProviderName.CLAUDE: _claude,
    ProviderName.OPENAI: _openai,
    ProviderName.OLLAMA: _ollama,
    ProviderName.GEMINI: _gemini,
}


def _key(asked: Endpoint) -> str:
    """Return the key as the client library wants it."""
    return asked.api_key.get_secret_value() if asked.api_key else NO_KEY
