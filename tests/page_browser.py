"""Pages in a real browser: Chromium and its driver are Debian's (`TEST_PACKAGES` of the Makefile)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def browsers(folders: pytest.TempPathFactory) -> Iterator[Callable[..., Chrome]]:
    """Yield a function that starts a browser; all are closed afterwards."""
    assert CHROMIUM, "expected chromium; `make test-fast` installs it"
    assert DRIVER, "expected chromedriver; `make test-fast` installs it"
    started: list[Chrome] = []

    def open_one(*, scheme: str = "light", width: int = 1280, has_script: bool = True) -> Chrome:
        options = ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for argument in (
            "--headless=new",
            "--no-sandbox",  # tests may run as root
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-proxy-server",
            f"--user-data-dir={folders.mktemp('browser')}",
            f"--window-size={width},1800",
            *(["--force-dark-mode"] if scheme == "dark" else []),
        ):
            options.add_argument(argument)
        if not has_script:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = Chrome(options, Service(DRIVER))
        started.append(browser)
        set_scheme(browser, scheme)
        return browser

    yield open_one
    for browser in started:
        browser.quit()


def set_scheme(browser: Chrome, scheme: str) -> None:
    """Make the browser prefer `light` or `dark`, and no motion."""
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    media = [{"name": name, "value": value} for name, value in wanted.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})


def set_width(browser: Chrome, width: int, height: int = 900) -> None:
    """Give the page a width in CSS pixels, also below the least width of a window."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def each_of(browser: Chrome, selector: str, what: str) -> list[Any]:
    """Something of every element, read at once."""
    script = f"return [...document.querySelectorAll(arguments[0])].map((each) => each.{what})"
    return list(browser.execute_script(script, selector))


def contrasts(browser: Chrome) -> list[tuple[str, float]]:
    """Text and contrast of every element that has text of its own."""
    found = browser.execute_script(
        """
        const ground = (each) => {
          for (; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor;
            if (!/, 0\\)$/.test(colour)) return colour;
          }
          return "rgb(255, 255, 255)";
        };
        return [...document.body.querySelectorAll("*")].filter((each) => each.checkVisibility() &&
          [...each.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()) &&
          !["SCRIPT", "STYLE", "METER"].includes(each.tagName)
        ).map((each) => [each.textContent.trim().slice(0, 40), getComputedStyle(each).color, ground(each)]);
        """
    )
    rows = []
    for text, colour, ground in found:
        light, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
        rows.append((text, (light + 0.05) / (dark + 0.05)))
    return rows


def luminance(colour: str) -> float:
    """Of `rgb(...)`, WCAG 2.2."""
    parts = [int(each) / 255 for each in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
