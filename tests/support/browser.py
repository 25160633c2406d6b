"""A real browser, Debian's chromium with its driver, that reaches nothing but this machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from support.patience import PATIENCE, eventually

__all__ = ["Browser", "Keys", "a_browser"]

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Browser:
    """A browser with one page.

    Args:
        driver: Selenium's.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def open(self, url: str, *, width: int = 1280, scheme: str = "light") -> None:
        """Load a page anew in a window of this width, for readers who prefer this colour scheme."""
        self._driver.get("about:blank")
        self.look(width=width, scheme=scheme)
        self._driver.get(url)

    def look(self, *, width: int = 1280, scheme: str = "light") -> None:
        """Change the width and the preferred colour scheme."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)

    def run(self, script: str, *arguments: Any) -> Any:
        """What an expression of JavaScript gives."""
        return self._driver.execute_script(f"return {script}", *arguments)

    def wait(self, script: str, *arguments: Any) -> None:
        """Wait until an expression of JavaScript is true."""
        eventually(lambda: self.run(script, *arguments))

    def count(self, css: str) -> int:
        """How many elements there are."""
        return int(self.run("document.querySelectorAll(arguments[0]).length", css))

    def texts(self, css: str) -> list[str]:
        """The texts of elements, as they are seen."""
        return list(self.run("[...document.querySelectorAll(arguments[0])].map((e) => e.innerText.trim())", css))

    def text(self, css: str) -> str:
        """The text of the first such element."""
        return self.texts(css)[0]

    def click(self, css: str, text: str | None = None) -> None:
        """Click on the first such element that is seen and has this text; wait for it to come."""

        def clicked() -> bool:
            try:
                for element in self._driver.find_elements(By.CSS_SELECTOR, css):
                    if element.is_displayed() and text in (None, element.text.strip()):
                        element.click()
                        return True
            except StaleElementReferenceException:  # the page has just put another in its place
                pass
            return False

        eventually(clicked)

    def write(self, css: str, text: str) -> None:
        """Write into a field, in place of what it has."""
        field = self._driver.find_element(By.CSS_SELECTOR, css)
        field.clear()
        field.send_keys(text)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        webdriver.ActionChains(self._driver).send_keys(*keys).perform()

    def complaints(self) -> list[str]:
        """What the browser has said since it was last asked: errors, and what a policy refused."""
        return [entry["message"] for entry in self._driver.get_log("browser")]


@contextmanager
def a_browser(profile: Path) -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("there is no chromium with its chromedriver here")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        driver.set_page_load_timeout(PATIENCE)
        driver.set_script_timeout(PATIENCE)
        yield Browser(driver)
    finally:
        driver.quit()
