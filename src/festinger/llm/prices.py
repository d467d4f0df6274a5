"""What did a call cost?

Prices come from the table that ships with genai-prices; nothing is looked up outside. They are found by the
address that was asked, so a model of the same name on another server is not billed as the famous one. What
has no known price costs `None`, never 0.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from festinger.llm.endpoint import Endpoint
from festinger.llm.port import Usage


def price(asked: Endpoint, usage: Usage | None, *, at: datetime) -> Decimal | None:
    """The cost in US dollars at that moment's prices; none if unknown."""
    if usage is None or not asked.address:
        return None
    # Imported at the first call: the table takes a third of a second to load, and most commands make no call.
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.tokens_in,
        output_tokens=usage.tokens_out,
        cache_read_tokens=usage.tokens_cached,
    )
    try:
        found = genai_prices.calc_price(
            counted, asked.model, provider_api_url=asked.address, genai_request_timestamp=at
        )
    except (LookupError, ValueError):
        # Unknown provider or model; or counts that contradict each other, such as more cached than read.
        return None
    return found.total_price


def together(costs: Iterable[Decimal | None]) -> Decimal | None:
    """The sum, if every part of it is known."""
    known = list(costs)
    if any(cost is None for cost in known):
        return None
    return sum((cost for cost in known if cost is not None), start=Decimal(0))
