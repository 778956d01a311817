"""The file in a real browser, opened from disk with the network off."""

import io
import re

import numpy as np
import pandas as pd
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from survtrace import SurvTRACE  # noqa: E402
from survtrace.app import write_page  # noqa: E402

pytestmark = pytest.mark.xdist_group("browser")
expect = playwright.expect
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
EVENT_FREE = re.compile(r"event-free (\d+(?:\.\d)?)\s%")
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def open_file(browser):
    """A function that opens a file; what it asks for or says on its console fails the test."""
    trouble, contexts = [], []

    def opened(file, viewport=DESK):
        context = browser.new_context(viewport=viewport, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda said: trouble.append(said.text))
        page.on("request", lambda sent: trouble.append(sent.url))
        page.goto(file.as_uri())
        trouble.remove(file.as_uri())
        expect(page.locator("#summary")).to_contain_text("event-free")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def event_free(page):
    return float(EVENT_FREE.search(page.locator("#summary").inner_text())[1])


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_filled_form_shows_what_the_estimator_says(open_file, certain_file, certain, viewport):
    page = open_file(certain_file, viewport)
    expect(page).to_have_title("ward 7 · Risk explorer")
    page.get_by_label("age", exact=True).fill("75")
    page.get_by_label("sex", exact=True).select_option("m")
    page.get_by_label("stage unknown").check()
    page.locator("#horizon").fill("8")
    page.get_by_label("Known to be event-free until").fill("3")
    expect(page.locator("#summary")).to_contain_text("Event-free until 3 months; by 8 months")
    values = {name: page.get_by_label(name, exact=True).input_value() for name in ("size", "ward")}
    X = pd.DataFrame(
        {"age": [75.0], "size": [float(values["size"])], "sex": ["m"], "stage": [None]}
    )
    X["ward"] = values["ward"]
    expected = certain.predict_survival_function(X, [8.0], conditional_after=3.0)[0, 0]
    assert event_free(page) == pytest.approx(100 * expected, abs=0.51)
    assert page.locator("#survival .a.band").count() == 1
    page.locator("#attention-box > summary").click()
    expect(page.locator("#attention td")).to_have_count(25)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_a_patient_unlike_those_learned_from_is_named_with_its_reason(open_file, certain_file):
    page = open_file(certain_file)
    page.get_by_label("age", exact=True).fill("150")
    expect(page.locator("#unlike")).to_contain_text("what makes it so: age")
    expect(page.locator("#warnings")).to_contain_text("age (150) lies outside")


def test_what_is_refused_leaves_no_numbers_on_the_page_or_on_paper(open_file, certain_file):
    page = open_file(certain_file)
    alert = page.get_by_role("alert")
    for field, value, words in (
        ("#horizon", "1e6", "The time must be more than 0 and at most"),
        ("#after", "1e6", "must lie between 0 and the time read off"),
        ("#A-0", "1e30", "column 'age' has 1 of 1 values beyond"),
        ("#A-0", "", "age must be a number; got none"),
    ):
        before = page.locator(field).input_value()
        page.locator(field).fill(value)
        expect(alert).to_contain_text(words)
        expect(page.locator("#summary")).to_be_hidden()
        expect(page.locator("#people")).to_be_hidden()
        expect(page.locator(".sheet")).to_have_count(0)
        if field != "#A-0":  # another change does not bring numbers of the old time back
            page.locator("#A-1").fill("5")
            page.wait_for_timeout(400)
            expect(page.locator("#summary")).to_be_hidden()
        page.locator(field).fill(before)
        expect(page.locator("#summary")).to_be_visible()
        expect(alert).to_be_hidden()


def test_a_table_is_scored_without_leaving_the_browser(open_file, certain_file, certain):
    page = open_file(certain_file)
    X = pd.DataFrame(
        {"age": [50.0, 71.5], "size": [4.0, None], "sex": ["f", "m"], "id": ["01", "02"]}
    )
    page.get_by_text("Score a table of patients").click()
    content = X.to_csv(index=False).encode()
    page.get_by_label("CSV file").set_input_files(
        {"name": "ward.csv", "mimeType": "text/csv", "buffer": content}
    )
    page.get_by_label("At times", exact=False).fill("2 6")
    page.get_by_role("button", name="Score").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the scored table").click()
    assert download.value.suggested_filename == "ward-scored.csv"
    expect(page.locator("#score-warnings")).to_contain_text("ignored: ['id']")
    scored = pd.read_csv(io.BytesIO(download.value.path().read_bytes()), dtype={"id": str})
    assert scored["id"].tolist() == ["01", "02"]
    known = X.drop(columns="id").assign(stage=None, ward=None)
    expected = certain.predict_survival_function(known, [6.0])[:, 0]
    np.testing.assert_allclose(scored["survival_6"], expected, atol=5e-6)


def test_one_page_is_printed_for_each_patient(open_file, certain_file):
    page = open_file(certain_file)
    page.get_by_role("button", name="Compare with patient B").click()
    expect(page.locator(".sheet")).to_have_count(2)
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1017})  # A4 within its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_where_age_is_the_clock_the_age_now_is_asked_for(open_file, fitted_by_age, tmp_path):
    page = open_file(write_page(fitted_by_age, tmp_path / "age.html"), PHONE)
    page.get_by_label("Age now (years)").fill("62")
    page.get_by_label("Look ahead, from now on").fill("5")
    expect(page.locator("#summary")).to_contain_text("Age 62 to 67 years: event-free")


def test_names_are_shown_as_they_are_and_run_nothing(open_file, one_cause, tiny, tmp_path):
    X, y = one_cause
    X = X.rename(columns={"age": HOSTILE}).assign(sex=[HOSTILE, "m"] * (len(X) // 2))
    est = SurvTRACE(**tiny, cause_names={1: HOSTILE}).fit(X, y)
    page = open_file(write_page(est, tmp_path / "hostile.html", name=HOSTILE))
    expect(page.locator("#summary")).to_contain_text(HOSTILE)
    expect(page.locator("label").filter(has_text=HOSTILE).first).to_be_visible()
    assert page.locator("img").count() == 0


def test_a_covariate_that_nobody_had_stays_unknown(open_file, one_cause, tiny, tmp_path):
    X, y = one_cause
    est = SurvTRACE(**tiny)
    with pytest.warns(match="carry no information"):
        est.fit(X.assign(crp=np.nan), y)
    page = open_file(write_page(est, tmp_path / "crp.html"))
    expect(page.get_by_label("crp unknown")).to_be_checked()
    expect(page.get_by_label("crp unknown")).to_be_disabled()
    expect(page.get_by_label("crp", exact=True)).to_have_value("")
    expect(page.locator(".field").filter(has_text="crp")).to_contain_text("never known")
