"""The page in headless Chromium."""

import base64
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scenekin.web.app import create_app
from storage.workspace import Workspace
from tests.scenekin.web.conftest import MARKUP, a_picture, an_id, serving
from tests.trained import Trained

CHROMIUM = shutil.which("chromium")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
PHONE = {"width": 390, "height": 800}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(trained: Trained) -> Iterator[str]:
    with serving(create_app(Workspace(trained.workspace))) as address:
        yield address


@contextmanager
def opened(browser: Browser, address: str, path: str = "/", allow: str = "(?!)", **context: object) -> Iterator[Page]:
    """Open the page; fail on foreign requests and on logged errors other than those `allow` matches."""
    elsewhere: list[str] = []
    errors: list[str] = []
    with browser.new_context(**context) as session:  # type: ignore[arg-type]
        page = session.new_page()
        page.on(
            "request",
            lambda sent: None if sent.url.startswith((f"{address}/", "data:")) else elsewhere.append(sent.url),
        )
        page.on("console", lambda said: errors.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + path)
        yield page
        page.wait_for_load_state("networkidle")
    assert elsewhere == []
    assert [error for error in errors if not re.search(allow, error)] == []


def first(page: Page) -> str | None:
    """The id of the first result."""
    return page.locator(".why").first.get_attribute("data-id")


def test_a_picture_is_chosen_and_words_move_it(browser: Browser, address: str, trained: Trained) -> None:
    with opened(browser, address) as page:
        page.set_input_files("#image", a_picture(trained))
        expect(page.locator(".score").first).to_have_text(re.compile(r"^(1\.000|0\.999)$"))
        assert first(page) == an_id(trained)
        expect(page.locator("#query img")).to_have_attribute("src", re.compile("^data:image/jpeg"))
        before = page.locator(".score").all_text_contents()

        page.locator("#add").press_sequentially("bo")
        option = page.get_by_role("option", name=re.compile("^boat"))
        expect(option).to_be_visible()
        page.keyboard.press("Escape")
        expect(option).to_be_hidden()
        page.locator("#add").press_sequentially("a")
        expect(option).to_be_visible()
        while option.get_attribute("aria-selected") != "true":
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".chips span")).to_have_text("boat")
        expect(page.locator(".score").first).not_to_have_text(before[0])
        expect(page.locator("#add")).to_be_focused()

        page.locator("#remove").fill("tree, zeppelin,")
        expect(page.locator(".chips span")).to_have_text(["boat", "tree", "zeppelin"])
        expect(page.locator(".note")).to_contain_text("No training caption contains 'zeppelin'")
        for phrase in ("boat", "tree", "zeppelin"):
            page.get_by_role("button", name=f"Remove {phrase}").click()
        expect(page.locator(".score").first).to_have_text(before[0])
        assert page.locator(".score").all_text_contents() == before


def test_a_picture_is_dropped(browser: Browser, address: str, trained: Trained) -> None:
    drop = """data => {
        const file = new File([Uint8Array.from(atob(data), letter => letter.charCodeAt())], "mine.jpg");
        const transfer = new DataTransfer();
        transfer.items.add(file);
        document.querySelector("h2").dispatchEvent(
            new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: transfer }));
    }"""
    with opened(browser, address) as page:
        page.evaluate(drop, base64.b64encode(a_picture(trained).read_bytes()).decode())
        expect(page.locator("#query img")).to_have_attribute("alt", "Query: mine.jpg")
        assert first(page) == an_id(trained)


def test_a_clicked_result_starts_a_search_without_the_words_and_back_restores_them(
    browser: Browser, address: str, trained: Trained
) -> None:
    asked = re.escape(f"/?{urlencode({'id': an_id(trained)})}")
    with opened(browser, address, f"/?id={an_id(trained)}") as page:
        page.locator("#add").fill("boat")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"{asked}.*add=boat"))
        page.locator(".picture").nth(2).click()
        expect(page).not_to_have_url(re.compile(asked))
        expect(page.locator(".chips span")).to_have_count(0)
        expect(page.locator("#query img")).to_be_visible()
        page.go_back()
        expect(page).to_have_url(re.compile(f"{asked}.*add=boat"))
        expect(page.locator(".chips span")).to_have_text("boat")


def test_search_by_text(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        page.locator("#text").fill("a boat")
        page.keyboard.press("Enter")
        expect(page.locator(".score").first).to_be_visible()
        expect(page.locator(".why")).to_have_count(0)
        page.get_by_role("button", name="Show more").click()
        expect(page.locator(".score")).to_have_count(48)


def test_a_pair_shows_its_heat_maps_and_closes(browser: Browser, address: str, trained: Trained) -> None:
    with opened(browser, address) as page:
        page.set_input_files("#image", a_picture(trained))
        why = page.locator(".why").nth(1)
        why.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Why they match")
        expect(dialog).to_contain_text("Similarity of the two images")
        for picture in dialog.locator("img").all():
            expect(picture).to_have_attribute("src", re.compile("^data:image/jpeg"))
            assert picture.evaluate("picture => picture.naturalWidth") > 0
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(why).to_be_focused()
        page.goto(f"{address}/?id={an_id(trained)}")
        page.locator(".why").nth(1).click()
        expect(dialog).to_contain_text("Similarity of the two images")
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_be_hidden()


def test_a_refused_upload_keeps_the_form_and_the_results(
    browser: Browser, address: str, trained: Trained, tmp_path: Path
) -> None:
    (tmp_path / "none.jpg").write_bytes(b"no picture")
    (tmp_path / "large.jpg").write_bytes(bytes(21 * 2**20))
    with opened(browser, address, allow="415") as page:
        page.set_input_files("#image", a_picture(trained))
        page.locator("#add").fill("boat,")
        expect(page.locator("h2 small")).to_have_text("more of boat")
        scores = page.locator(".score").all_text_contents()
        page.locator("#text").fill("a house")
        page.set_input_files("#image", tmp_path / "none.jpg")
        expect(page.get_by_role("alert")).to_contain_text(
            "Cannot decode the image: not an image, or of an unknown type"
        )
        page.set_input_files("#image", tmp_path / "large.jpg")
        expect(page.get_by_role("alert")).to_have_text("The upload is larger than 20 MB; choose a smaller image.")
        assert page.locator(".score").all_text_contents() == scores
        expect(page.locator("#text")).to_have_value("a house")
        expect(page.locator(".chips span")).to_have_text("boat")
        page.locator("#text").fill("")
        page.get_by_role("button", name="Search").click()  # the accepted picture is still the query
        expect(page.get_by_role("alert")).to_have_count(0)
        assert page.locator(".score").all_text_contents() == scores


def test_a_new_picture_drops_the_words_of_the_last_search_alone(
    browser: Browser, address: str, trained: Trained
) -> None:
    with opened(browser, address) as page:
        page.locator("#text").fill("a boat")
        page.locator("#add").fill("snow,")
        expect(page.locator("h2 small")).to_have_text("more of snow")
        page.locator("#remove").fill("car")  # not part of a search yet
        page.set_input_files("#image", a_picture(trained))
        expect(page.locator("#answer h2")).to_contain_text(f"Images like {a_picture(trained).name}")
        expect(page.locator(".chips span")).to_have_count(0)
        expect(page.locator("#text")).to_have_value("")
        expect(page.locator("#remove")).to_have_value("car")
        page.locator("#remove").press("Enter")
        expect(page.locator("h2 small")).to_have_text("less of car")


def test_sliders_show_their_value_and_clear_all_resets(browser: Browser, address: str, trained: Trained) -> None:
    with opened(browser, address, f"/?id={an_id(trained)}&add=boat") as page:
        page.locator("summary").click()
        slider = page.locator("[name=alpha]")
        expect(page.locator("output").first).to_have_text("1.0")
        slider.fill("2.5")
        expect(page.locator("output").first).to_have_text("2.5")
        expect(page).to_have_url(re.compile("alpha=2.5"))
        slider.fill("1")
        expect(page).not_to_have_url(re.compile("alpha"))
        page.get_by_role("link", name="Clear all").click()
        expect(page).to_have_url(f"{address}/")
        expect(page.locator(".chips span")).to_have_count(0)
        expect(page.locator("#query img")).to_have_count(0)


def test_the_original_is_opened_or_downloaded(browser: Browser, address: str, trained: Trained) -> None:
    data = a_picture(trained).read_bytes()
    with opened(browser, address, f"/?id={an_id(trained)}") as page:
        with page.expect_download() as download:
            page.get_by_role("link", name=f"Save {a_picture(trained).name}").click()
        assert download.value.suggested_filename == a_picture(trained).name
        assert Path(download.value.path()).read_bytes() == data
        with page.context.expect_page() as opened_page:
            page.get_by_role("link", name=f"Open {a_picture(trained).name}").click()
        assert opened_page.value.evaluate("document.contentType") == "image/jpeg"


def test_all_is_reached_by_keyboard_and_seen(browser: Browser, address: str, trained: Trained) -> None:
    with opened(browser, address, f"/?id={an_id(trained)}") as page:
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            reached.append(focused.evaluate("e => e.id || e.className || e.type || e.tagName"))
            frame = "e => getComputedStyle(e.closest('.drop') ?? e.closest('.field') ?? e)"
            assert focused.evaluate(f"{frame}.outlineStyle".replace("e => ", "e => (") + ")") == "solid"
        assert reached[:10] == [
            "brand",
            "image",
            "text",
            "add",
            "remove",
            "SUMMARY",
            "submit",
            "button",
            "picture",
            "why",
        ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(browser: Browser, address: str, trained: Trained, scheme: str) -> None:
    with opened(browser, address, f"/?id={an_id(trained)}", viewport=PHONE, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        light = [
            int(part) for part in page.evaluate("getComputedStyle(document.body).backgroundColor")[4:-1].split(", ")
        ]
        assert (min(light) > 200) if scheme == "light" else (max(light) < 60)
        page.locator(".why").nth(1).click()
        expect(page.get_by_role("dialog")).to_contain_text("Similarity of the two images")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_captions_are_text_and_alternatives(browser: Browser, odd: Trained) -> None:
    with (
        serving(create_app(Workspace(odd.workspace))) as address,
        opened(browser, address, "/?id=turned.jpg") as page,
    ):
        page.locator(".why").first.click()
        expect(page.get_by_role("dialog")).to_contain_text("Similarity of the two images")
        page.keyboard.press("Escape")
        alternatives = page.locator(".grid img").evaluate_all("all => all.map(one => one.alt)")
        assert {MARKUP, "A quiet street.", "deep/er/plain.jpg"} <= set(alternatives)
        assert page.locator(".grid img").evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")
        page.get_by_role("button", name=f"Why does {MARKUP} match?").click()
        expect(page.get_by_role("dialog").locator("figcaption").last).to_have_text(MARKUP)
        assert page.title() == "scenekin"


def test_a_new_version_is_searched(browser: Browser, trained_copy: Trained) -> None:
    assert trained_copy.run("index", "--name", "living").code == 0
    with (
        serving(create_app(Workspace(trained_copy.workspace), "living")) as address,
        opened(browser, address) as page,
    ):
        page.set_input_files("#image", a_picture(trained_copy))
        expect(page.locator('[data-id="new.jpg"]')).to_have_count(0)
        shutil.copy(a_picture(trained_copy), trained_copy.collection / "new.jpg")
        assert trained_copy.run("index", "--name", "living").code == 0
        page.get_by_role("button", name="Search").click()
        expect(page.locator('[data-id="new.jpg"]')).to_be_visible()


def test_it_searches_without_a_script(browser: Browser, address: str, trained: Trained) -> None:
    with opened(browser, address, java_script_enabled=False) as page:
        page.set_input_files("#image", a_picture(trained))
        page.locator("#add").fill("boat, tree")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".score")).to_have_count(24)
        expect(page.locator(".why").first).to_be_hidden()
        expect(page.locator("h2 small")).to_have_text("more of boat, tree")
        page.locator(".picture").first.click()
        expect(page).to_have_url(re.compile(r"\?id=[^&]*$"))


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE])
def test_a_long_phrase_stays_in_its_field(browser: Browser, address: str, viewport: dict[str, int]) -> None:
    phrase = "a group of children playing near a zeppelin in the rain"
    with opened(browser, address, f"/?{urlencode({'text': 'dog', 'add': phrase})}", viewport=viewport) as page:
        expect(page.locator(".chips span").first).to_have_text(phrase)
        for box in ("#search", "main", "html"):
            assert page.evaluate(f"(e => e.scrollWidth - e.clientWidth)(document.querySelector('{box}'))") <= 0
