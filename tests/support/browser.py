"""A real Chromium for tests of pages; tests that need it are skipped where there is none."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["FLAGS", "Page", "chromium"]

#: Nothing goes out to the network by itself, and nothing of the user's own browser is used.
FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--force-color-profile=srgb"),
]
_SHOWN = """
    const main = document.querySelector("main");
    return performance.getEntriesByType("mark").length > arguments[0] && !main.ariaBusy
      && !main.hasAttribute("aria-busy");
"""


class Page:
    """A page of the explorer in a browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], Any], what: str = "the page") -> Any:
        """Wait until something is so: a minute, on a machine that does other things as well."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.02)
        pytest.fail(f"{what} did not come: {self.text('main')[:300]}")

    def open(self, url: str) -> None:
        """Load a page afresh, and wait for its first figure."""
        self.driver.get("about:blank")
        self.driver.get(url)
        self.wait(lambda: self.run(_SHOWN, 0), url)

    def go(self, state: str) -> None:
        """Show another state of the same page."""
        before = self.run("return performance.getEntriesByType('mark').length")
        self.run("location.hash = arguments[0]", state)
        self.wait(lambda: self.run(_SHOWN, before), state)

    def wait_for_text(self, selector: str, text: str) -> None:
        self.wait(lambda: text in self.text(selector), repr(text))

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def rows(self) -> dict[str, list[str]]:
        """Return the table of numbers beneath the figure, by the learner of a row."""
        return self.run(
            "return Object.fromEntries([...document.querySelectorAll('#reading tbody tr')]"
            ".map((row) => [row.dataset.row, [...row.cells].map((cell) => cell.innerText.trim())]))"
        )

    def click(self, selector: str) -> None:
        self.run("document.querySelector(arguments[0]).click()", selector)

    def press(self, selector: str, *keys: str) -> None:
        from selenium.webdriver.common.by import By

        self.driver.find_element(By.CSS_SELECTOR, selector).send_keys(*keys)

    def complaints(self) -> list[str]:
        """Return what is on the console since the last look."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def resize(self, width: int, height: int) -> None:
        options = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", options)

    def picture(self, path: Path) -> None:
        self.driver.save_screenshot(str(path))


@contextmanager
def chromium(profile: Path, *flags: str) -> Iterator[Page]:
    """Start a browser with a profile of its own; skip where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_binary = shutil.which("chromedriver")
    if binary is None or driver_binary is None:
        pytest.skip("there is no chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, *flags, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_binary))
    try:
        page = Page(driver)
        page.resize(1280, 1000)
        yield page
    finally:
        driver.quit()
