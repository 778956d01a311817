"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import io
import re

import numpy as np
import pandas as pd
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from survtrace import SurvTRACE  # noqa: E402
from survtrace.app import create_app  # noqa: E402

# In one process, so that one browser is started.
pytestmark = pytest.mark.xdist_group("browser")
expect = playwright.expect
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
EVENT_FREE = re.compile(r"event-free (\d+(?:\.\d)?)\s%")


@pytest.fixture(scope="module")
def address(serve_app, fitted_three, importance_file):
    app = create_app(fitted_three, importance=importance_file, time_unit="months", name="ward 7")
    with serve_app(app) as url:
        yield url


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(request, browser, address):
    """The page, opened; whatever it loads from elsewhere or says on its console fails the test."""
    page = browser.new_page(viewport=request.param)
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if "422" not in said.text else None)
    page.on(
        "request",
        lambda sent: trouble.append(sent.url) if not sent.url.startswith(address) else None,
    )
    page.goto(address)
    expect(page.locator("#summary")).to_contain_text("event-free")
    yield page
    page.close()
    assert trouble == []


def event_free(page):
    return float(EVENT_FREE.search(page.locator("#summary").inner_text())[1])


def survival_curve(page, kind="a"):
    return page.locator(f"#survival .{kind}.line").get_attribute("d")


def test_a_filled_form_changes_curve_and_words_to_what_the_estimator_says(page, fitted_three):
    before, words = survival_curve(page), page.locator("#summary").inner_text()
    page.get_by_label("age", exact=True).fill("75")
    page.get_by_label("size", exact=True).fill("3")
    page.get_by_label("sex", exact=True).select_option("m")
    page.get_by_label("stage unknown").check()
    expect(page.locator("#summary")).not_to_have_text(words)
    expect(page.locator("#A-3")).to_be_disabled()
    page.wait_for_timeout(400)
    assert survival_curve(page) != before
    X = pd.DataFrame({"age": [75.0], "size": [3.0], "sex": ["m"], "stage": [None]})
    time = float(page.locator("#horizon").input_value())
    expected = 100 * fitted_three.predict_survival_function(X, [time])[0, 0]
    assert event_free(page) == pytest.approx(expected, abs=0.51)


def test_the_words_are_those_of_the_time_that_is_read_off(page):
    early = event_free(page)
    page.get_by_label("Read off at time", exact=False).first.fill("8")
    expect(page.locator("#summary")).to_contain_text("By 8 months")
    assert event_free(page) < early


def test_tables_have_their_headings_above_their_cells_and_their_row_names_wrap_on_a_phone(page):
    page.get_by_text("About this model").click()
    table = page.locator("#model-card .learned")
    for cell in ("thead th >> nth=1", "tbody td >> nth=0"):
        expect(table.locator(cell)).to_have_css("text-align", "left")
    wrapped = "normal" if page.viewport_size == PHONE else "nowrap"
    expect(table.locator("tbody th").first).to_have_css("white-space", wrapped)


def test_two_patients_are_compared(page):
    page.get_by_role("button", name="Compare with patient B").click()
    second = page.get_by_role("group", name="Compare with: patient B")
    expect(second.get_by_label("age", exact=True)).to_be_focused()
    expect(page.locator("#survival .b.line")).to_have_count(1)
    assert survival_curve(page, "a") == survival_curve(page, "b")
    second.get_by_label("age", exact=True).fill("80")
    expect(second.locator(".field.changed")).to_have_count(1)
    expect(page.locator("#summary")).to_contain_text("for patient B (\u2212")
    assert survival_curve(page, "a") != survival_curve(page, "b")
    rows = page.locator("#states tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["event-free", "cause 1", "cause 2", "cause 3"]
    differences = [float(row.split("\t")[3].replace("\u2212", "-")) for row in rows]
    assert sum(differences) == pytest.approx(0, abs=0.21)
    page.get_by_role("button", name="Remove patient B").click()
    expect(page.locator("#survival .b.line")).to_have_count(0)


def test_a_table_is_uploaded_and_its_scores_are_downloaded(page, fitted_three, three_causes):
    X = three_causes[0].head(20)
    page.get_by_text("Score a table of patients").click()
    table = X.assign(id=range(20)).to_csv(index=False).encode()
    page.get_by_label("CSV file").set_input_files(
        {"name": "ward.csv", "mimeType": "text/csv", "buffer": table}
    )
    page.get_by_label("At times", exact=False).fill("2 6")
    page.get_by_role("button", name="Score").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the scored table").click()
    assert download.value.suggested_filename == "ward-scored.csv"
    expect(page.locator("#score-warnings")).to_contain_text("ignored: ['id']")
    scored = pd.read_csv(io.BytesIO(download.value.path().read_bytes()))
    assert scored["id"].tolist() == list(range(20))
    expected = fitted_three.predict_survival_function(X, [6.0])[:, 0]
    np.testing.assert_allclose(scored["survival_6"], expected, atol=1e-6)


def test_an_error_is_read_in_the_librarys_words_and_goes_when_it_is_mended(page):
    alert, age = page.get_by_role("alert"), page.get_by_label("age", exact=True)
    expect(alert).to_be_hidden()
    age.fill("1e30")
    expect(alert).to_contain_text("column 'age' has 1 of 1 values beyond")
    expect(alert).to_be_in_viewport()
    age.fill("")
    expect(alert).to_contain_text("age must be a number; got none. Type one, or tick unknown")
    age.fill("60")
    expect(alert).to_be_hidden()
    page.get_by_text("Score a table of patients").click()
    page.get_by_label("CSV file").set_input_files(
        {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"age\nold\n"}
    )
    page.get_by_role("button", name="Score").click()
    expect(alert).to_contain_text("column 'age' is numerical")
    expect(alert).to_be_in_viewport()


def test_what_the_library_warns_of_is_shown(page):
    page.get_by_label("age", exact=True).fill("150")
    expect(page.locator("#warnings")).to_contain_text("lies outside")


def test_the_keyboard_is_enough(page):
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the curves")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("age", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("age, slider")).to_be_focused()
    before = page.locator("#summary").inner_text()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#summary")).not_to_have_text(before)
    assert float(page.get_by_label("age", exact=True).input_value()) > 60
    page.locator("#attention-box > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#attention td")).to_have_count(16)


def test_attention_and_importance_can_be_read_as_tables(page):
    page.locator("#attention-box > summary").click()
    rows = page.locator("#attention tbody tr")
    expect(rows).to_have_count(4)
    for row in rows.all():
        assert sum(map(float, row.locator("td").all_inner_texts())) == pytest.approx(100, abs=0.3)
    page.locator("#importance-box > summary").click()
    expect(page.locator("#importance .bar")).to_have_count(4)
    page.get_by_label("Cause", exact=True).select_option("2")
    expect(page.locator("#importance-table caption")).to_have_text("Importance for cause 2")
    expect(page.locator("#importance-table th").nth(1)).to_have_text("importance x 1000")
    for cell in page.locator("#importance-table tbody td").all_text_contents():
        assert re.fullmatch(r"\W?\d+\.\d\d", cell)  # not -0.00000908


def test_every_control_has_a_name_every_figure_words_and_nothing_sticks_out(page):
    page.get_by_role("button", name="Compare with patient B").click()
    expect(page.locator("#B-0")).to_be_visible()
    for summary in page.locator("details > summary").all():
        if summary.is_visible():
            summary.click()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button")].filter((control) =>
             !control.labels?.length && !control.ariaLabel && !control.textContent.trim()).length"""
    )
    assert nameless == 0
    for figure in page.locator("svg:not([aria-hidden])").all():
        assert figure.get_attribute("role") == "img"
        assert len(figure.get_attribute("aria-label")) > 20
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_the_model_is_named_in_sight(page):
    expect(page.locator("#model")).to_contain_text("Model ward 7: ")
    expect(page).to_have_title("ward 7 · Risk explorer")


def test_a_model_called_model_is_not_named_twice(page, address):
    words = page.evaluate(
        """async (address) => (await import(`${address}page/card.js`)).modelWords(
             { name: "model", outcomes: [], n_subjects: 9 })""",
        address,
    )
    assert words == "Model: learned from 9 subjects."


def test_a_value_outside_the_usual_range_is_marked_at_its_field(page):
    page.get_by_label("age", exact=True).fill("150")
    expect(page.locator(".field.outside")).to_contain_text("the curves are a guess")
    page.get_by_label("age", exact=True).fill("60")
    expect(page.locator(".field.outside")).to_have_count(0)


def test_the_future_of_a_patient_who_is_event_free_until_a_time(page, fitted_three):
    age = float(page.get_by_label("age", exact=True).input_value())
    page.locator("#horizon").fill("8")
    page.get_by_label("Known to be event-free until").fill("3")
    expect(page.locator("#summary")).to_contain_text("Event-free until 3 months; by 8 months")
    expect(page.locator("#survival .past")).to_have_count(1)
    page.wait_for_timeout(400)
    known = {
        name: page.get_by_label(name, exact=True).input_value() for name in ("size", "sex", "stage")
    }
    X = pd.DataFrame({"age": [age], **{name: [value] for name, value in known.items()}})
    X["size"] = X["size"].astype(float)
    expected = fitted_three.predict_survival_function(X, [8.0], conditional_after=3.0)[0, 0]
    assert event_free(page) == pytest.approx(100 * expected, abs=0.51)
    page.get_by_label("Known to be event-free until").fill("9")
    expect(page.get_by_role("alert")).to_contain_text("must lie between 0 and the time read off")


def test_each_patient_is_printed_on_one_page(page, tmp_path):
    page.get_by_role("button", name="Compare with patient B").click()
    expect(page.locator(".sheet")).to_have_count(2)
    page.emulate_media(media="print")
    expect(page.locator("#explorer")).to_be_hidden()
    first = page.locator(".sheet").first
    for words in ("Predicted risks of patient A", "Model ward 7", "by time (months)", "stage"):
        expect(first).to_contain_text(words)
    for figure in first.locator("svg").all():
        expect(figure).to_be_visible()
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    page.emulate_media(media="screen")


@pytest.fixture(scope="module")
def many_clinics(one_cause, tiny):
    """A long list of levels; one member, no card and no intervals, as in an early file."""
    X, y = one_cause
    named = X.assign(clinic=[f"clinic {n % 40}" for n in range(len(X))])
    est = SurvTRACE(**{**tiny, "n_members": 1}).fit(named, y)
    est.card_, est.interval_ = {}, None
    return est


def test_a_long_list_of_categories_is_searched_by_typing(browser, serve_app, many_clinics):
    with serve_app(create_app(many_clinics)) as address:
        page = browser.new_page()
        page.goto(address)
        expect(page.locator("#summary")).to_contain_text("event-free")
        clinic, alert = page.get_by_label("clinic", exact=True), page.get_by_role("alert")
        assert page.locator("datalist option").count() == 40
        clinic.fill("nowhere")
        expect(alert).to_be_hidden()
        page.keyboard.press("Tab")
        expect(alert).to_contain_text("clinic must be one of its 40 categories")
        clinic.fill("clinic 7")
        expect(alert).to_be_hidden()
        expect(page.locator("#model")).to_contain_text("not stored in it")
        page.close()


def test_one_member_draws_no_band_and_gives_no_deviation(browser, serve_app, many_clinics):
    with serve_app(create_app(many_clinics)) as address:
        page = browser.new_page()
        page.goto(address)
        expect(page.locator("#summary")).to_contain_text("event-free")
        expect(page.locator("svg .band")).to_have_count(0)
        assert "\u00b1" not in page.locator("#table").inner_html()
        page.close()


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page_by_age(request, browser, serve_app, fitted_by_age):
    """The page of an estimator whose clock is age."""
    with serve_app(create_app(fitted_by_age)) as address:
        page = browser.new_page(viewport=request.param)
        trouble = []
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.goto(address)
        expect(page.locator("#summary")).to_contain_text("event-free")
        yield page
        page.close()
        assert trouble == []


def test_the_age_now_is_asked_for_and_the_next_years_are_shown(page_by_age, fitted_by_age):
    page = page_by_age
    page.get_by_label("Age now (years)").fill("62")
    page.get_by_label("Look ahead, from now on").fill("5")
    expect(page.locator("#summary")).to_contain_text("Age 62 to 67 years: event-free")
    expect(page.locator("#survival svg")).to_contain_text("age (years)")
    values = {"size": [float(page.get_by_label("size", exact=True).input_value())]}
    values |= {n: [page.get_by_label(n, exact=True).input_value()] for n in ("sex", "stage")}
    X = pd.DataFrame(values)
    expected = fitted_by_age.predict_survival_function(X, [67.0], conditional_after=62.0)[0, 0]
    assert event_free(page) == pytest.approx(100 * expected, abs=0.51)
    expect(page.locator("#after-row")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_two_ages_are_compared_over_as_many_years_from_now_on(page_by_age, fitted_by_age):
    page = page_by_age
    page.get_by_role("button", name="Compare with patient B").click()
    page.locator("#B-now").fill("66")
    expect(page.locator("#summary")).to_contain_text(
        "Patient A age 61 to 71 years, patient B age 66 to 76 years: event-free"
    )
    expect(page.locator("#survival svg")).to_contain_text("years from now")
    late = fitted_by_age.time_grid_[-1] - 4
    page.locator("#B-now").fill(str(late))
    expect(page.locator("#warnings")).to_contain_text("Only the next 4 years are shown")
    expect(page.locator("#summary")).to_contain_text("Patient A age 61 to 65 years")
    page.locator("#B-now").fill("30")
    expect(page.get_by_role("alert")).to_contain_text("age now must lie between 50 and")


def test_a_table_with_an_age_for_each_is_scored_for_the_years_from_then_on(page_by_age):
    page = page_by_age
    page.get_by_text("Score a table of patients").click()
    page.get_by_label("CSV file").set_input_files(
        {"name": "ward.csv", "mimeType": "text/csv", "buffer": b"age_now,size\n61,3\n66,4\n"}
    )
    expect(page.get_by_label("Column with the age now")).to_have_value("age_now")
    page.get_by_label("In the next", exact=False).fill("5 10")
    page.get_by_role("button", name="Score").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the scored table").click()
    scored = pd.read_csv(io.BytesIO(download.value.path().read_bytes()))
    assert {"survival_+5", "incidence_3_+10"} <= set(scored.columns)


def test_the_sheet_of_a_patient_begins_at_its_age(page_by_age):
    page_by_age.get_by_label("Age now (years)").fill("62")
    expect(page_by_age.locator("#summary")).to_contain_text("Age 62 to 72")
    page_by_age.emulate_media(media="print")
    sheet = page_by_age.locator(".sheet")
    for words in ("Age now", "62 years", "From age 62 years on", "by age (years)"):
        expect(sheet).to_contain_text(words)
    assert sheet.locator("tbody th").all_inner_texts() == ["64", "66", "68", "70", "72"]


def test_a_locked_page_opens_with_the_token_only(browser, serve_app, fitted_one):
    with serve_app(create_app(fitted_one, token="s3cret")) as address:
        page = browser.new_page()
        page.goto(address)
        expect(page.get_by_label("Token of this server")).to_be_focused()
        expect(page.locator("#explorer")).to_be_hidden()
        page.get_by_label("Token of this server").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("not the token of this server")
        page.get_by_label("Token of this server").fill("s3cret")
        page.keyboard.press("Enter")
        expect(page.locator("#summary")).to_contain_text("event-free")
        page.goto("about:blank")
        page.goto(f"{address}#token=s3cret")
        expect(page.locator("#summary")).to_contain_text("event-free")
        assert "s3cret" not in page.url
        page.close()
