"""The model that the user's own client talks to, used for reading and judging in the background.

Where a setting says `auto`, this model is asked: it is there anyway, and nothing leaves the user's machines. Only a server
at a loopback or private address counts, never a hosted model behind a local one. A few calls an hour at most; jobs wait
while requests are served.
"""

from dataclasses import dataclass

from festinger.llm.endpoint import AUTO
from festinger.settings.tree import LlmSettings
from festinger.text.addresses import is_nearby

CALLS_PER_HOUR = 120
HOSTED = (":cloud", "-cloud")
"""How models are called that a local server only passes on to a hosted one."""


@dataclass(slots=True)
class OwnModel:
    """The last model that a client used, as far as it may be used by us."""

    setting: str = ""
    """As `provider:model@address`; empty if none was seen."""

    def note(self, *, provider: str, model: str, address: str) -> None:
        """A client uses this model at this address."""
        if model and is_nearby(address) and not model.endswith(HOSTED):
            self.setting = f"{provider}:{model}@{address}"

    def applied(self, settings: LlmSettings, purpose: str) -> LlmSettings:
        """The settings with `auto` replaced by the model that it means now; by none if there is none."""
        if getattr(settings, purpose) != AUTO:
            return settings
        calls = min(settings.max_calls_per_hour, CALLS_PER_HOUR)
        return settings.model_copy(update={purpose: self.setting, "max_calls_per_hour": calls})
