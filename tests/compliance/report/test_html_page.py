"""The report page in a real browser: no request, no error, readable at three widths, light, dark and in print."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from page_browser import browsers, contrasts, each_of, luminance, set_scheme, set_width
from page_specimen import ALIKE, FAILED, page_report
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from sovctl.compliance.report.html import STATES
from sovctl.compliance.report.publish import Published

OPEN_ALL = "for (const each of document.querySelectorAll('details')) each.open = true"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return page_report(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def html(reported: Published) -> str:
    return (reported.folder / "report.html").read_text()


@pytest.fixture(scope="module")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Chrome]]:
    yield from browsers(tmp_path_factory)


@pytest.fixture(scope="module")
def started(open_browser: Callable[..., Chrome]) -> Chrome:
    return open_browser()


@pytest.fixture
def browser(started: Chrome, reported: Published) -> Chrome:
    set_scheme(started, "light")
    set_width(started, 1024, 768)
    started.get("about:blank")
    started.get((reported.folder / "report.html").as_uri())
    return started


def visible(browser: Chrome, selector: str) -> list[str]:
    """The texts of the elements that are shown, read at once."""
    script = """return [...document.querySelectorAll(arguments[0])].filter((each) => each.checkVisibility())
        .map((each) => each.innerText.trim())"""
    return list(browser.execute_script(script, selector))


def test_the_page_has_no_console_message_and_makes_no_request(browser: Chrome, reported: Published) -> None:
    page = (reported.folder / "report.html").as_uri()
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # type: ignore[no-untyped-call]
    browser.get("about:blank")
    browser.get(page)
    browser.execute_script(OPEN_ALL)
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    entries = browser.get_log("performance")  # type: ignore[no-untyped-call]
    events = [json.loads(entry["message"])["message"] for entry in entries]
    addresses = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert addresses - {"about:blank"} == {page}


def test_the_policy_permits_only_the_script_of_the_page(browser: Chrome) -> None:
    policy = browser.find_element(By.CSS_SELECTOR, "meta[http-equiv]").get_attribute("content") or ""
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='(;|$)", policy)
    added = """const script = document.createElement("script"); script.textContent = "window.added = true";
        document.body.append(script); return Boolean(window.added)"""
    assert browser.execute_script(added) is False
    browser.get_log("browser")  # type: ignore[no-untyped-call]


def test_the_first_screen_states_result_coverage_gaps_and_simulation(browser: Chrome) -> None:
    script = """return [...document.querySelectorAll("header *")].filter((each) => !each.children.length &&
        each.getBoundingClientRect().bottom <= innerHeight).map((each) => each.innerText)"""
    seen = browser.execute_script(script)
    for text in ("SIMULATED", "Covered", "Failed", "Without a complete result", "Not looked at", "Accepted by people"):
        assert text in seen
    assert re.search(r"\d+ of 287 controls failed", "\n".join(seen))
    assert re.search(r"12 nodes, \d+ checks, [\d,]+ evidence records", "\n".join(seen))


@pytest.mark.parametrize("width", [390, 1024, 1600])
def test_only_tables_scroll_sideways(browser: Chrome, width: int) -> None:
    set_width(browser, width)
    browser.execute_script(OPEN_ALL)
    sizes = browser.execute_script("const it = document.documentElement; return [it.scrollWidth, it.clientWidth]")
    assert sizes[0] <= sizes[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_contrast_of_all_text_meets_the_minimum(browser: Chrome, scheme: str) -> None:
    set_scheme(browser, scheme)
    browser.execute_script(OPEN_ALL)
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (luminance(ground) < 0.1) == (scheme == "dark")
    found = contrasts(browser)
    assert len(found) > 1000
    assert {text: ratio for text, ratio in found if ratio < 4.5} == {}  # WCAG 2.2, 1.4.3


def test_headings_labels_tables_and_links_are_complete(browser: Chrome) -> None:
    levels = [int(each[1]) for each in each_of(browser, "h1, h2, h3, h4", "tagName")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert set(each_of(browser, "th", "scope")) <= {"col", "row", "rowgroup"}
    assert all(each_of(browser, "input, select", "labels.length"))
    assert set(each_of(browser, ".wide", "tabIndex")) == {0}
    unnamed = (
        "return [...document.querySelectorAll('[role=region], section')].filter((each) => !each.ariaLabel && "
        "!document.getElementById(each.getAttribute('aria-labelledby'))).length"
    )
    assert browser.execute_script(unnamed) == 0
    ids = each_of(browser, "[id]", "id")
    assert len(ids) == len(set(ids))
    links = {link[1:] for link in each_of(browser, "a", "getAttribute('href')") if link.startswith("#")}
    assert links <= set(ids)


def test_the_page_works_with_the_keyboard(browser: Chrome) -> None:
    ActionChains(browser).send_keys(Keys.TAB).perform()
    focused = browser.switch_to.active_element
    assert focused.text == "Skip to the findings"
    assert browser.execute_script("return arguments[0].getBoundingClientRect().top", focused) >= 0
    ActionChains(browser).send_keys(Keys.ENTER).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element.get_attribute("id") == "search"


def test_a_finding_leads_to_its_record_with_digest_index_and_proof(browser: Chrome, reported: Published) -> None:
    finding = browser.find_element(By.CSS_SELECTOR, "article.finding")
    assert FAILED in finding.text
    assert "network team" in finding.text
    number = int(finding.find_element(By.CSS_SELECTOR, "a.ref").text[1:])
    item = reported.document["evidence"][number - 1]
    browser.execute_script("document.querySelector('article.finding a.ref').click()")
    (row,) = visible(browser, f"#e{number}")
    for text in (item["sha256"], str(item["leaf_index"]), item["record"]["target"]):
        assert text in row
    proof = browser.execute_script(
        "return arguments[0].querySelector('pre').textContent", browser.find_element(By.ID, f"e{number}")
    )
    assert proof.split() == item["proof"]
    raw = browser.find_element(By.CSS_SELECTOR, f"#e{number} a").get_attribute("href") or ""
    assert Path(raw.removeprefix("file://")).is_file()


def test_like_nodes_share_a_column_and_a_description(browser: Chrome, html: str) -> None:
    headers = visible(browser, ".heat thead th.node")
    assert len(headers) == 4
    assert any(header.endswith(str(len(ALIKE))) for header in headers)
    assert set(visible(browser, ".heat td:nth-child(2)")) == set(STATES)
    assert set(visible(browser, ".heat td:nth-child(n + 3):not([colspan])")) <= set(STATES)
    assert "ssh {node} ip -6 route show" in html
    assert html.count('<tr id="e') == len(re.findall(r'href="raw/[0-9a-f]{64}"', html))


def test_every_file_of_the_folder_is_linked(browser: Chrome, reported: Published) -> None:
    links = {link for link in each_of(browser, ".files a", "getAttribute('href')") if not link.startswith("#")}
    names = {str(path.relative_to(reported.folder)) for path in reported.folder.rglob("*") if path.is_file()}
    assert links == {name for name in names if not name.startswith("raw/")} - {"report.html"}


def test_a_failure_outside_the_framework_is_on_the_first_screen(browser: Chrome) -> None:
    assert any("1 failed record" in text for text in visible(browser, ".notice"))
    assert any("site-own.check on gpu-02" in text for text in visible(browser, "section[aria-labelledby=findings] li"))


def test_search_and_filters_hide_the_rest(browser: Chrome) -> None:
    total = len(visible(browser, ".control"))
    browser.find_element(By.CSS_SELECTOR, "input[value=pass]").click()
    assert "pass" not in {each.splitlines()[0].split()[-1] for each in visible(browser, ".control h3")}
    browser.find_element(By.ID, "search").send_keys("sc-7")
    browser.execute_async_script("setTimeout(arguments[0], 400)")
    shown = visible(browser, ".control")
    assert 0 < len(shown) < total
    assert all("sc-7" in each for each in shown)
    assert f"{len(shown)} of {total} controls" in browser.find_element(By.ID, "shown").text
    browser.execute_script("location.hash = '#c-ac-3'")
    browser.execute_async_script("setTimeout(arguments[0], 200)")
    assert len(visible(browser, ".control")) == total


def test_print_has_white_ground_no_tools_and_the_findings(browser: Chrome) -> None:
    set_scheme(browser, "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert visible(browser, "nav, #tools") == []
        for element in ("body", ":root"):
            script = f"return getComputedStyle(document.querySelector('{element}')).backgroundColor"
            assert luminance(browser.execute_script(script)) > 0.9
        assert luminance(browser.execute_script("return getComputedStyle(document.querySelector('h1')).color")) < 0.1
        assert any(FAILED in text for text in visible(browser, "article.finding"))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_without_script_the_page_is_complete(open_browser: Callable[..., Chrome], browser: Chrome, html: str) -> None:
    path = browser.current_url
    shown = visible(browser, "main *:not(script)")
    plain = open_browser(has_script=False)
    set_width(plain, 1024, 768)
    plain.get(path)
    assert plain.find_element(By.ID, "tools").is_displayed() is False
    assert len(plain.find_elements(By.CSS_SELECTOR, ".control")) == html.count('class="control ')
    assert len(plain.find_element(By.TAG_NAME, "main").text) > 10_000
    assert len(shown) > 1000
