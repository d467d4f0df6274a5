"""What tests of the pages ask for: a browser, if they need a real one."""

from tests.web.chromium import browser, chromium

__all__ = ["browser", "chromium"]
