"""May this address be spoken to?

A provider on this machine always may. One beyond it is used only because a person named it in the settings, and
never when offline.
"""

from urllib.parse import urlsplit

from festinger.errors import BadSetting, ProviderRefused
from festinger.text.loopback import stays_here


def allowed(url: str, *, offline: bool) -> str:
    """`url`, if it may be spoken to."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadSetting(f"`{url}` is not an http address.", hint="Write it like `http://127.0.0.1:11434`.")
    if offline and not stays_here(url):
        raise ProviderRefused(
            f"`{urlsplit(url).hostname}` is beyond this machine, and Festinger is offline.",
            hint="Unset `FESTINGER_OFFLINE`, or choose a provider on this machine.",
        )
    return url.rstrip("/")
