"""A real Chromium, driven through the console's pages.

One browser a worker, started with the first test that asks. It keeps nothing between tests, reaches nothing but this
machine, and hands over whatever it complained about.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from selenium.common.exceptions import (
    NoSuchElementException,
    StaleElementReferenceException,
    TimeoutException,
    WebDriverException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

Seen = TypeVar("Seen")

PATIENCE_S = 120.0
"""Longer than anything takes on a busy machine; a test that waits this long has failed."""

NEEDED = {"chromium": "chromium", "chromedriver": "chromium-driver"}
"""Programs, with the Debian package that brings each."""

LEAVING = "window.leaving = true"
ARRIVED = "return window.leaving !== true && document.readyState === 'complete'"
"""A mark on the page that is being left, and how the next one is known."""

SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root, where the sandbox refuses to
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1000,900",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """What a person does and sees."""

    driver: Chrome

    def open(self, address: str) -> None:
        """Go there, and wait until the page is there whole: on a busy machine the driver comes back before."""
        self.run(LEAVING)
        self.driver.get(address)
        self._until(lambda _: self.run(ARRIVED), what=address)

    def find(self, css: str) -> WebElement:
        """The first such element, as soon as there is one."""
        return self._until(lambda driver: driver.find_element(By.CSS_SELECTOR, css), what=css)

    def all(self, css: str) -> list[WebElement]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, css))

    def press(self, label: str, *, within: str = "main") -> None:
        """Press the button that says this, and wait for the page that follows."""
        path = f".//button[normalize-space()='{label}']"
        button = self._until(
            lambda driver: driver.find_element(By.CSS_SELECTOR, within).find_element(By.XPATH, path), what=label
        )
        self.run(LEAVING)
        button.click()
        self._until(lambda _: self.run(ARRIVED), what=f"the page after {label}")

    def click_on(self, css: str) -> None:
        """Click the first such element; another one, if a live page puts it in its place meanwhile."""

        def clicked(driver: Chrome) -> bool:
            driver.find_element(By.CSS_SELECTOR, css).click()
            return True

        moved = [NoSuchElementException, StaleElementReferenceException]
        WebDriverWait(self.driver, PATIENCE_S, ignored_exceptions=moved).until(clicked)

    def click(self, label: str) -> None:
        """Press the first button that says this, where no script can tell when the next page is there."""
        self.driver.find_element(By.XPATH, f"//main//button[normalize-space()='{label}']").click()

    @contextmanager
    def without_scripts(self) -> Iterator[None]:
        """Run no script of any page meanwhile."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def text(self, css: str = "main") -> str:
        """What the first such element says, as soon as there is one."""
        return self._until(lambda driver: str(driver.find_element(By.CSS_SELECTOR, css).text), what=css)

    def look_again_until(self, css: str, text: str) -> None:
        """Load the page again until an element says this, among other things."""

        def says(driver: Chrome) -> bool:
            driver.refresh()
            return bool(driver.find_element(By.CSS_SELECTOR, css).text.count(text) > 0)

        self._until(says, what=f"{css} that says {text}")

    def narrow(self, width: int, *, height: int = 800) -> None:
        """Look through a window of this width; below a tablet's it is a phone."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800},
        )

    def prefer(self, scheme: str) -> None:
        """Prefer light or dark pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def complaints(self) -> list[str]:
        """What the console of the browser has to say since it was last asked: errors, refused by policy."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]

    def forget(self) -> None:
        """Begin anew: no cookie, no page, no complaint, no odd window."""
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        self.driver.get("about:blank")
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.complaints()

    def _until(self, seen: Callable[[Chrome], Seen], *, what: str) -> Seen:
        """What is waited for; if it does not come, the page that is there instead is told."""
        try:
            # While one page gives way to the next, Chromium knows neither; it is asked again.
            return WebDriverWait(self.driver, PATIENCE_S, ignored_exceptions=[WebDriverException]).until(seen)
        except TimeoutException as error:
            page = self.driver.find_element(By.TAG_NAME, "html").text
            said = f"{what} did not appear at {self.driver.current_url}: {page[:2000]!r} {self.complaints()}"
            raise AssertionError(said) from error


def start(folder: Path) -> Chrome:
    """Chromium with an empty profile in a folder of its own."""
    paths = {program: shutil.which(program) for program in NEEDED}
    if missing := [NEEDED[program] for program, path in paths.items() if path is None]:
        pytest.fail(
            f"The console is tested in a real browser. Run `apt-get install {' '.join(missing)}`,"
            " or set `FESTINGER_NO_BROWSER=1` to leave these tests out.",
            pytrace=False,
        )
    options = ChromeOptions()
    options.binary_location = str(paths["chromium"])
    for switch in (*SWITCHES, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # It keeps crash reports and caches at home, whatever the profile says.
    home = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    service = Service(str(paths["chromedriver"]), env={**os.environ, **home})
    driver = Chrome(options=options, service=service)
    driver.set_page_load_timeout(PATIENCE_S)
    return driver


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if os.environ.get("FESTINGER_NO_BROWSER") == "1":
        pytest.skip("FESTINGER_NO_BROWSER is set")
    driver = start(tmp_path_factory.mktemp("chromium"))
    yield Browser(driver=driver)
    driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The browser, with nothing left from the test before."""
    chromium.forget()
    return chromium
