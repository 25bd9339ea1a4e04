"""What a person does on the page, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def ask(page: Page, query: str) -> None:
    page.fill("#query", query)
    with page.expect_response("**/v1/search"):
        page.press("#query", "Enter")
    page.wait_for_function("() => !document.querySelector('#hits[aria-busy]')")


def ids(page: Page) -> list[Any]:
    return page.eval_on_selector_all(".hit", "hits => hits.map(hit => hit.dataset.id)")


def labels_collide(page: Page) -> bool:
    """Whether two labels of a number line overlap, or one leaves the page."""
    return bool(
        page.evaluate(
            """() => [...document.querySelectorAll('figure')].some(figure => {
                const boxes = [...figure.querySelectorAll('text')].map(text => text.getBoundingClientRect());
                const outside = boxes.some(box => box.left < 0 || box.right > innerWidth);
                return outside || boxes.some((a, i) => boxes.slice(i + 1).some(b =>
                    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
            })"""
        )
    )


def test_the_first_example_is_answered_on_arrival(page: Page) -> None:
    assert page.input_value("#query") == "mountains higher than 8,000 metres"
    assert page.locator(".hit").count() == 10
    assert "more than 8,000 metres" in page.inner_text("#understood")
    assert page.locator("figure .dot").count() > 0
    assert page.locator("#examples button").count() == 6


def test_a_search_marks_what_satisfies_and_draws_it_in_the_unit_asked_for(page: Page) -> None:
    ask(page, "the summit above 26,000 feet in metres")
    assert page.locator("figure text.limit").all_text_contents() == ["26,000 ft"]
    assert page.locator(".hit mark.yes, .hit mark.no").count() > 0
    assert page.locator("mark .converted").first.inner_text().strip().endswith("ft")


def test_the_explanation_opens_and_closes(page: Page) -> None:
    page.click(".hit .why")
    page.wait_for_selector(".explanation")
    assert "without the gate" in page.inner_text(".explanation")
    assert page.locator(".explanation .token.gated").count() == 1
    assert page.locator(".why").first.get_attribute("aria-expanded") == "true"
    page.click(".hit .why")
    assert page.locator(".explanation").count() == 0


def test_the_gate_can_be_switched_off_and_ranks_move(page: Page) -> None:
    before = ids(page)
    with page.expect_response("**/v1/search"):
        page.click("label:has(#ungated)")
    page.wait_for_function("() => /with the gate/.test(document.getElementById('hits').textContent)")
    assert ids(page) != before
    assert "without the gate" in page.inner_text("#understood")


def test_only_satisfying_passages_and_a_filter_by_click(page: Page) -> None:
    ask(page, "mountains below 8,000 metres")
    page.click("label:has(#verify)")
    page.wait_for_function("() => !document.querySelector('.hit.no')")
    page.locator(".fact", has_text="mountains").first.click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.hit')].every(h => h.dataset.id.startsWith('mount'))"
    )
    assert page.input_value("#where") == "kind = 'mountains'"
    page.fill("#where", "kind = 'nothing at all'")
    page.press("#where", "Enter")
    page.wait_for_selector(".empty")
    assert "filter" in page.inner_text(".empty")


def test_the_filter_that_the_page_suggests_works_on_any_index(page: Page) -> None:
    page.fill("#where", page.get_attribute("#where", "placeholder") or "")
    with page.expect_response("**/v1/search") as answer:
        page.press("#where", "Enter")
    assert answer.value.status == 200


def test_an_error_is_shown_kindly_and_the_page_stays_usable(page: Page) -> None:
    page.fill("#where", "year >>> 3")
    page.press("#where", "Enter")
    page.wait_for_selector("#problem:not([hidden])")
    assert "cannot be understood" in page.inner_text("#problem")
    assert "hint:" in page.inner_text("#problem")
    page.fill("#where", "")
    ask(page, "x" * 100_000)
    assert page.locator("#problem").is_visible()
    page.fill("#query", "  ")
    page.press("#query", "Enter")
    assert "empty" in page.inner_text("#problem")
    assert page.locator("body.stale").count() == 1, "the hits of the question before step back"
    ask(page, "bridges longer than 2 km")
    assert page.locator("#problem").is_hidden()
    assert page.locator("body.stale").count() == 0
    assert page.locator(".hit").count() == 10


def test_a_late_answer_does_not_hide_an_error(page: Page) -> None:
    held: list[Route] = []
    page.route("**/v1/search", lambda route: held.append(route))
    page.fill("#query", "bridges longer than 2 km")
    page.press("#query", "Enter")
    page.fill("#query", "  ")
    page.press("#query", "Enter")
    for route in held:
        with page.expect_response("**/v1/search"):
            route.continue_()
    page.wait_for_timeout(100)
    assert "empty" in page.inner_text("#problem")


def test_a_server_that_went_away_is_told(page: Page) -> None:
    page.route("**/v1/search", lambda route: route.abort())
    page.press("#query", "Enter")
    page.wait_for_selector("#problem:not([hidden])")
    assert "does not answer" in page.inner_text("#problem")


def test_own_text_is_added_found_and_never_run_as_markup(page: Page) -> None:
    page.click("#add summary")
    hostile = "<img src=x onerror=\"document.title='run'\"> The zyzzyva weighs 42 grams & 𝟜 more."
    page.fill("#text", hostile)
    page.click("#add button")
    page.wait_for_function("() => document.getElementById('added').textContent.includes('1 passage added')")
    ask(page, "the zyzzyva weighs 42 grams & more")
    assert page.locator(".passage").first.inner_text() == hostile
    assert page.locator(".hit img").count() == 0
    assert page.title() == "NumColBERT"
    assert page.locator(".hit mark").first.inner_text() == "42 grams"


def test_the_keyboard_is_enough(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("rivers longer than 3,000 miles")
    with page.expect_response("**/v1/search"):
        page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('understood').textContent.includes('3,000 miles')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[...document.querySelectorAll('.hit')].indexOf(document.activeElement)") == 1
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit:nth-child(2) .explanation")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "query"


def test_a_query_in_the_address_is_asked(open_page: OpenPage) -> None:
    page = open_page(path="#animals%20lighter%20than%205%20grams")
    assert page.input_value("#query") == "animals lighter than 5 grams"
    odd = open_page(path="#100%")  # not a valid escape
    assert odd.locator(".hit").count() == 10


@pytest.mark.parametrize(("width", "scheme"), [(1000, "light"), (390, "dark")])
def test_it_fits_and_labels_do_not_collide(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(width, scheme)
    for query in (
        "mountains higher than 8,000 metres",
        "phones that cost between 300 and 450 dollars",
        "elements that melt below 100 °C",
        "storage over 500 GB for less than 3,000 dollars",
        "rivers",
    ):
        ask(page, query)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not labels_collide(page), query
    page.click(".hit .why")
    page.wait_for_selector(".explanation")
    page.click(".explanation summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(paper.split("(")[1].split(",")[0]) < 128) == (scheme == "dark")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper


def test_hits_move_where_motion_is_welcome(open_page: OpenPage) -> None:
    page = open_page(motion="no-preference")
    page.click("label:has(#ungated)")
    page.wait_for_function("() => document.getAnimations().some(a => a.effect.target.matches('.hit'))")


def test_the_api_page_sends_an_example(open_page: OpenPage) -> None:
    page = open_page(path="docs/", wait=False)
    page.locator(".route", has_text="/v1/quantities").locator("summary").click()
    page.locator(".route[open] button").click()
    page.wait_for_function("() => document.querySelector('.route[open] pre').textContent.startsWith('200')")
    assert "range" in page.inner_text(".route[open] pre")
