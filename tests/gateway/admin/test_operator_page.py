"""The operator page in a real browser: what it shows, that it stays fresh, and its buttons; with and without script.

Chromium and its driver are Debian's (`TEST_PACKAGES` of the Makefile).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from admin_givens import ADMIN, CALLER, admin_port, begin
from echo_upstream import EchoUpstream, Script
from page_browser import browsers, contrasts, each_of, luminance
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from waiting import until

STATES = ("good", "warn", "bad", "out")


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    routes = [
        {"model": "assistant", "pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"},
        {"model": "inside", "pool": "chat"},
        {"model": "judged", "pool": "chat", "release": {"identifiers": {"default": "hand-off"}}},
    ]
    return begin(start, tmp_path_factory.mktemp("seen"), workers=2, routes=routes, handoff={})


@pytest.fixture(scope="module")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Chrome]]:
    """Starts browsers; all are closed at the end of the module."""
    yield from browsers(tmp_path_factory)


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
    """The cells of the table below a heading, by row; read at once, because the page may change itself meanwhile."""
    script = """
        const rows = document.querySelectorAll(`section[aria-labelledby=${arguments[0]}] tbody tr`);
        return [...rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
    """
    rows: list[list[str]] = browser.execute_script(script, heading)
    return rows


def read(browser: Chrome, selector: str) -> str:
    """What stands in an element, read at once."""
    return str(browser.execute_script("return document.querySelector(arguments[0])?.innerText || ''", selector))


def complaints(browser: Chrome) -> list[str]:
    """What the browser said about the page: broken policies, scripts, requests."""
    said = [str(entry["message"]) for entry in browser.get_log("browser")]  # type: ignore[no-untyped-call]
    expected = ("favicon", "status of 401")  # before the log-in
    return [each for each in said if not any(word in each for word in expected)]


def test_the_page_shows_what_happens_and_stays_fresh_by_itself(browser: Chrome, gateway: Any) -> None:
    assert browser.title == "lab: gateway"
    chat(gateway, "Please write to anna@example.com today.")

    def decided() -> list[list[str]]:
        return [row for row in table(browser, "decisions") if "EMAIL 1" in str(row) and row[4] == "sovereign-cloud"]

    (row, *_) = until(decided, "the decision, without loading again")
    assert row[1].startswith("branch")
    assert row[3] == "leave"
    assert {row[0]: row[1] for row in table(browser, "upstreams")} == {"chat": "up", "sovereign-cloud": "up"}
    assert ["inside", "chat", "never leaves", "pool", "0", "0"] in table(browser, "routes")
    assert any(row[:2] == ["team:cards", "tokens this month"] for row in table(browser, "budgets"))
    assert "anna" not in browser.page_source
    assert complaints(browser) == []


def test_a_hand_off_is_read_taken_and_answered_by_clicks(browser: Chrome, gateway: Any, pool: EchoUpstream) -> None:
    pool.script.message = lambda _: {"role": "assistant", "content": "Pay to FR1420041010050500013M02606."}
    chat(gateway, "Whom do I pay for anna@example.com?", "judged")
    pool.forget()
    browser.get(f"http://127.0.0.1:{admin_port(gateway)}/")
    (row,) = until(lambda: table(browser, "handoffs"), "it waits")
    assert row[2:] == ["waiting", "retail", "judged", "identifiers:hand-off:IBAN", "Take"]
    follow(browser, row[0])
    until(lambda: browser.find_elements(By.CLASS_NAME, "held"), "what was held back")
    said = browser.find_element(By.CSS_SELECTOR, "dl.said").text
    assert "Whom do I pay for EMAIL_" in said
    assert "Pay to IBAN_" in said
    assert "anna" not in browser.page_source
    assert "FR14" not in browser.page_source
    assert {text: ratio for text, ratio in contrasts(browser) if ratio < 4.5} == {}
    press(browser, "Take")
    until(lambda: [row[2] for row in table(browser, "handoffs")] == ["taken ops"], "it is taken")
    follow(browser, row[0])
    until(lambda: browser.find_elements(By.TAG_NAME, "textarea"), "a place for the answer")[0].send_keys("Nobody.")
    press(browser, "Resolve")
    until(lambda: "Nothing waits." in browser.page_source, "it is done")
    assert complaints(browser) == []


def test_buttons_do_what_they_say_and_the_page_tells_so(browser: Chrome, gateway: Any) -> None:
    press(browser, "Drain")
    until(lambda: "draining" in read(browser, ".headline"), "the page says so")
    assert "reports `draining`" in read(browser, ".told")
    until(lambda: {gateway.request("GET", "/readyz")[0] for _ in range(6)} == {503}, "all workers drain")
    press(browser, "Resume")
    until(lambda: {gateway.request("GET", "/readyz")[0] for _ in range(6)} == {200}, "all workers are back")
    actions = [each["action"] for each in gateway.records() if each["type"] == "gateway.admin"]
    assert actions[-2:] == ["drain", "resume"]


def follow(browser: Chrome, text: str) -> None:
    """Click a link."""
    script = """
        const link = [...document.links].find((each) => each.text === arguments[0]);
        if (link) link.click();
        return Boolean(link);
    """
    until(lambda: browser.execute_script(script, text), f"a link {text}")


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
def test_text_contrast_meets_the_minimum(
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


def test_the_longest_names_fit_a_narrow_screen(
    open_browser: Callable[..., Chrome], gateway: Any, pool: EchoUpstream
) -> None:
    pool.script = Script(message=lambda _: {"role": "assistant", "content": "Pay FR1420041010050500013M02606."})
    chat(gateway, "Where to?", "judged")
    pool.forget()
    browser = open_browser()
    log_in(browser, gateway)
    browser.set_window_size(500, 900)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    fits = """
        for (const each of document.querySelectorAll(".out > span, .tag, .calm")) each.textContent = "w".repeat(99);
        return [document.documentElement.scrollWidth, document.documentElement.clientWidth];
    """
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "a[href^=handoffs]"), "one that waits")
    address = browser.execute_script("return document.querySelector('a[href^=handoffs]').href")
    for page in (browser.current_url, address):
        browser.get(page)
        scroll, client = browser.execute_script(fits)
        assert scroll <= client, page
    press(browser, "Resolve")
    until(lambda: "Nothing waits." in browser.page_source, "it is done")


def test_page_has_screen_reader_labels_and_keyboard_access(browser: Chrome) -> None:
    unnamed = """
        const all = [...document.querySelectorAll("button, input:not([type=hidden]), textarea, table, meter")];
        const isNamed = (each) => each.textContent.trim() || each.labels?.length || each.getAttribute("aria-label");
        return all.filter((each) => !isNamed(each)).map((each) => each.outerHTML);
    """
    assert browser.execute_script(unnamed) == []
    headings = each_of(browser, "h1, h2, h3", "tagName.toLowerCase()")
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert all(each_of(browser, "th", "scope"))
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    assert set(each_of(browser, ".wide", "tabIndex")) == {0}


def test_unavailable_pool_is_shown_by_text_and_colour(
    open_browser: Callable[..., Chrome], start: Callable[..., Any], tmp_path: Path, pool: EchoUpstream
) -> None:
    gateway, browser = begin(start, tmp_path, workers=2, down_s=60), open_browser()
    log_in(browser, gateway)
    pool.script.status = 500
    for _ in range(6):
        with pytest.raises(Exception, match=r"50[23]"):
            chat(gateway, "Hello", "inside")

    script = """
        const shown = document.querySelector("section[aria-labelledby=upstreams] tbody tr .state");
        return [shown.innerText, [...shown.classList]];
    """
    until(lambda: browser.execute_script(script)[0] != "up", "it is said")
    word, classes = browser.execute_script(script)
    assert word in ("down", "down for some workers", "left alone")
    assert set(STATES) & set(classes) <= {"bad", "warn"}
