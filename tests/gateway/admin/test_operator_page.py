"""The operator page in a real browser: what it shows, that it stays fresh, and its buttons; with and without script.

Chromium and its driver are Debian's (`TEST_PACKAGES` of the Makefile).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from admin_givens import ADMIN, CALLER, admin_port, begin
from echo_upstream import EchoUpstream
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from waiting import until

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
STATES = ("good", "warn", "bad", "out")


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return begin(start, tmp_path_factory.mktemp("seen"), workers=2, down_s=60)


@pytest.fixture(scope="module")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Chrome]]:
    """Starts browsers; all are closed at the end of the module."""
    assert CHROMIUM, "expected chromium; `make test-fast` installs it"
    assert DRIVER, "expected chromedriver; `make test-fast` installs it"
    browsers: list[Chrome] = []

    def open_one(*, scheme: str = "light", width: int = 1280, has_script: bool = True) -> Chrome:
        options = ChromeOptions()
        options.binary_location = CHROMIUM or ""
        folder = tmp_path_factory.mktemp("browser")
        for argument in (
            "--headless=new",
            "--no-sandbox",  # tests may run as root
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-proxy-server",
            f"--user-data-dir={folder}",
            f"--window-size={width},1800",
            *(["--force-dark-mode"] if scheme == "dark" else []),
        ):
            options.add_argument(argument)
        if not has_script:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = Chrome(options, Service(DRIVER))
        browsers.append(browser)
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        return browser

    yield open_one
    for browser in browsers:
        browser.quit()


@pytest.fixture(scope="module")
def browser(open_browser: Callable[..., Chrome], gateway: Any) -> Chrome:
    made = open_browser()
    log_in(made, gateway)
    return made


def log_in(browser: Chrome, gateway: Any) -> None:
    browser.get(f"http://127.0.0.1:{admin_port(gateway)}/")
    browser.find_element(By.ID, "key").send_keys(ADMIN)
    browser.find_element(By.TAG_NAME, "button").click()
    until(lambda: browser.find_elements(By.ID, "upstreams"), "the page behind the door")


def chat(gateway: Any, text: str, model: str = "assistant") -> None:
    messages = [{"role": "user", "content": text}]
    gateway.client(CALLER).chat.completions.create(model=model, messages=messages, max_tokens=9)


def table(browser: Chrome, heading: str) -> list[list[str]]:
    """The cells of the table below a heading, by row."""
    rows = browser.find_elements(By.CSS_SELECTOR, f"section[aria-labelledby={heading}] tbody tr")
    return [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in rows]


def complaints(browser: Chrome) -> list[str]:
    """What the browser said about the page: broken policies, scripts, requests."""
    said = [str(entry["message"]) for entry in browser.get_log("browser")]  # type: ignore[no-untyped-call]
    expected = ("favicon", "status of 401")  # before the log-in
    return [each for each in said if not any(word in each for word in expected)]


def test_the_page_shows_what_happens_and_stays_fresh_by_itself(browser: Chrome, gateway: Any) -> None:
    assert browser.title == "lab: gateway"
    chat(gateway, "Please write to anna@example.com today.")
    until(lambda: "EMAIL 1" in str(table(browser, "decisions")), "the decision, without loading again")
    (first, *_) = table(browser, "decisions")
    assert first[1].startswith("branch")
    assert (first[3], first[4]) == ("leave", "sovereign-cloud")
    assert {row[0]: row[1] for row in table(browser, "upstreams")} == {"chat": "up", "sovereign-cloud": "up"}
    assert ["inside", "chat", "never leaves", "pool", "0", "0"] in table(browser, "routes")
    assert any(row[:2] == ["team:cards", "tokens this month"] for row in table(browser, "budgets"))
    assert "anna" not in browser.page_source
    assert complaints(browser) == []


def test_a_pool_that_is_down_is_said_by_word_and_by_colour(browser: Chrome, gateway: Any, pool: EchoUpstream) -> None:
    pool.script.status = 500
    for _ in range(6):
        with pytest.raises(Exception, match=r"50[23]"):
            chat(gateway, "Hello", "inside")

    def state() -> WebElement | None:
        found = browser.find_elements(By.CSS_SELECTOR, "section[aria-labelledby=upstreams] tbody tr:first-child .state")
        return found[0] if found and found[0].text != "up" else None

    shown = until(state, "it is said")
    assert shown.text in ("down", "down for some workers", "left alone")
    assert set(STATES) & set((shown.get_attribute("class") or "").split()) <= {"bad", "warn"}
    pool.forget()


def test_buttons_do_what_they_say_and_the_page_tells_so(browser: Chrome, gateway: Any) -> None:
    press(browser, "Drain")
    until(lambda: "draining" in browser.find_element(By.CLASS_NAME, "headline").text, "the page says so")
    assert "says `draining`" in browser.find_element(By.CLASS_NAME, "told").text
    until(lambda: {gateway.request("GET", "/readyz")[0] for _ in range(6)} == {503}, "all workers drain")
    press(browser, "Resume")
    until(lambda: {gateway.request("GET", "/readyz")[0] for _ in range(6)} == {200}, "all workers are back")
    assert [each["action"] for each in gateway.records() if each["type"] == "gateway.admin"] == ["drain", "resume"]


def press(browser: Chrome, word: str) -> None:
    xpath = f"//button[normalize-space()='{word}']"
    until(lambda: browser.find_elements(By.XPATH, xpath), f"a button {word}")[0].click()


def test_without_script_everything_is_there_and_works(open_browser: Callable[..., Chrome], gateway: Any) -> None:
    browser = open_browser(has_script=False)
    log_in(browser, gateway)
    assert table(browser, "routes")
    assert "As of" in browser.find_element(By.TAG_NAME, "footer").text
    press(browser, "Reload settings")
    until(lambda: browser.find_elements(By.CLASS_NAME, "told"), "what was done")
    press(browser, "Log out")
    until(lambda: browser.find_elements(By.ID, "key"), "the door")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_on_its_ground(
    open_browser: Callable[..., Chrome], gateway: Any, scheme: str, tmp_path: Path
) -> None:
    browser = open_browser(scheme=scheme)
    log_in(browser, gateway)
    browser.save_screenshot(str(tmp_path / f"{scheme}.png"))
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (luminance(ground) < 0.1) == (scheme == "dark")
    low = {text: ratio for text, ratio in contrasts(browser) if ratio < 4.5}  # WCAG 2.2, 1.4.3
    assert low == {}


def test_on_a_narrow_screen_nothing_but_tables_scrolls_sideways(
    open_browser: Callable[..., Chrome], gateway: Any
) -> None:
    browser = open_browser(width=500)
    log_in(browser, gateway)
    width = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scroll, client = browser.execute_script(width)
    assert scroll <= client


def test_it_can_be_heard_and_reached_by_keyboard(browser: Chrome) -> None:
    unnamed = """
        const all = [...document.querySelectorAll("button, input:not([type=hidden]), textarea, table, meter")];
        const isNamed = (each) => each.textContent.trim() || each.labels?.length || each.getAttribute("aria-label");
        return all.filter((each) => !isNamed(each)).map((each) => each.outerHTML);
    """
    assert browser.execute_script(unnamed) == []
    headings = [each.tag_name for each in browser.find_elements(By.CSS_SELECTOR, "h1, h2, h3")]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert all(each.get_attribute("scope") for each in browser.find_elements(By.CSS_SELECTOR, "th"))
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    scrollable = browser.find_elements(By.CSS_SELECTOR, ".wide")
    assert all(each.get_attribute("tabindex") == "0" for each in scrollable)


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
