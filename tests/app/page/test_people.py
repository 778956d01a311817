"""Risk as people: numbers add up to 100, and words, figures and print say the same."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from survtrace.app import create_app  # noqa: E402
from survtrace.portable import load  # noqa: E402

pytestmark = pytest.mark.xdist_group("browser")
expect = playwright.expect
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
on_both = pytest.mark.parametrize("page", [DESK, PHONE], ids=["desk", "phone"], indirect=True)


def known_ends(est, mean, std, times, level):
    """Ends a tenth from each curve, as if the estimator knew them; of any event, of survival."""
    low, high = (factor * mean[..., -len(times) :] for factor in (0.9, 1.1))
    low[:, 0], high[:, 0] = 1 - high[:, 0], 1 - low[:, 0]
    return low, high


def judge_by_age(encoding):
    """Those over 90 are unlike whom the estimator learned from."""
    place = encoding.names.tolist().index("age")
    scale = encoding.columns[place]

    def judge(encoded):
        age = encoded.values[:, place] * scale.deviation + scale.mean
        return np.where(age > 90, 0.002, 0.5)

    return judge


@pytest.fixture(scope="module")
def address(serve_app, fitted_three, tmp_path_factory):
    """A server of an estimator that knows intervals and who is unlike."""
    folder = tmp_path_factory.mktemp("certain") / "model"
    fitted_three.save(folder)
    est = load(folder)
    est.cause_names_ = {1: "relapse", 2: "death", 3: "second cancer"}
    est.interval_ = "known"
    because = SimpleNamespace(reasons=lambda encoded: [("age", "stage")] * len(encoded.rows))
    est.typicality_ = because
    object.__setattr__(est._predictor(), "judge", judge_by_age(est.encoding_))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("survtrace.app.answers.answers.ends", known_ends)
        with serve_app(create_app(est, time_unit="months", name="ward 7")) as url:
            yield url


@pytest.fixture
def page(request, browser, address):
    page = browser.new_page(viewport=getattr(request, "param", DESK))
    page.goto(address)
    expect(page.locator("#summary")).to_contain_text("event-free")
    yield page
    page.close()


@pytest.fixture(scope="module")
def script(browser, address):
    """A page of which only people.js is asked."""
    page = browser.new_page()
    page.goto(address)
    yield page
    page.close()


def in_page(page, expression, *given):
    """Evaluate a function of people.js."""
    call = (
        f"async (given) => {{ const m = await import('./page/people.js'); return {expression}; }}"
    )
    return page.evaluate(call, list(given))


def test_people_of_all_states_add_up_to_all_people(script):
    draws = np.random.default_rng(0)
    chances = [draws.dirichlet(np.full(k, 0.4)).tolist() for k in (2, 3, 5, 9) for _ in range(25)]
    for total in (100, 1000):
        found = in_page(script, "given[0].map((p) => m.counts(p, given[1]))", chances, total)
        for people, chance in zip(found, chances, strict=True):
            assert sum(people) == total
            assert np.abs(np.array(people) - total * np.array(chance)).max() < 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((23, 100, 0.171, 0.304), "about 23 (between 17 and 30)"),
        ((23, 100, None, None), "about 23"),
        ((23, 100, 0.228, 0.232), "about 23"),
        ((0, 100, 0.0, 0.034), "fewer than 1 (at most 3)"),
        ((100, 100, 0.96, 1.0), "nearly all (at least 96)"),
    ],
    ids=str,
)
def test_a_number_of_people_is_said_with_its_interval(script, given, words):
    assert "".join(in_page(script, "m.spokenCount(...given)", *given)) == words


def test_the_sentence_the_figures_and_their_key_agree(page):
    words = page.locator("#people .sentence").inner_text()
    assert re.match(r"Of 100 people like this one, within \S+ months relapse happens to ", words)
    numbers = [int(n) for n in re.findall(r"about (\d+) \(between \d+ and \d+\)", words)]
    assert len(numbers) == 4
    assert sum(numbers) == 100
    for cause, number in enumerate(numbers[:3]):
        assert page.locator(f"#people .icons .cause-{cause}").count() == number
    assert page.locator("#people .icons .event-free").count() == numbers[3]
    assert page.locator("#people .icons").get_attribute("aria-label") == words
    key = page.locator("#people .people-key li").all_inner_texts()
    names = ["relapse", "death", "second cancer", "event-free"]
    assert key == [f"{name}: {n}" for name, n in zip(names, numbers, strict=True)]


def test_causes_differ_in_shape_as_well_as_in_colour(page):
    drawn = page.locator("#people .icons defs path")
    shapes = {path.get_attribute("d") for path in drawn.all()}
    colours = {path.get_attribute("fill") for path in drawn.all()}
    assert len(shapes) >= 3
    assert len(colours) == drawn.count() == 4


def test_a_whole_number_of_years_is_one_press_away(page):
    page.get_by_role("button", name="1 year", exact=True).click()
    expect(page.locator("#people .sentence")).to_contain_text("within 12 months relapse")
    expect(page.locator("#horizon")).to_have_value("12")


def test_where_all_is_rare_there_are_a_thousand_people(script):
    assert in_page(script, "m.crowd(given[0])", [[0.004, 0.0099], [0.001, 0.002]]) == 1000
    assert in_page(script, "m.crowd(given[0])", [[0.004, 0.0099], [0.001, 0.02]]) == 100


def test_bands_and_table_are_the_intervals(page):
    expect(page.locator("#survival .a.band")).to_have_count(1)
    expect(page.locator("#band-words")).to_contain_text("95 % interval")
    page.get_by_text("The same as a table").first.click()
    expect(page.locator("#table caption")).to_have_text("Probabilities, with 95 % intervals")
    assert re.search(r"\d+\s% \(\d+ to \d+\s%\)", page.locator("#table").inner_text())
    assert "\u00b1" not in page.locator("#table").inner_text()


@on_both
def test_a_patient_unlike_those_it_learned_from_is_told_on_screen_and_paper(page):
    expect(page.locator("#unlike")).to_be_hidden()
    page.get_by_role("button", name="Compare with patient B").click()
    page.locator("#B-0").fill("95")
    words = "Patient B is unlike the patients the model learned from: only about 1 in 500 of them"
    expect(page.locator("#unlike")).to_contain_text(words)
    expect(page.locator("#unlike")).to_contain_text("what makes it so: age and stage.")
    expect(page.locator(".patient.b .field.odd")).to_have_count(2)
    page.emulate_media(media="print")
    expect(page.locator(".sheet .unlike")).to_have_count(1)
    expect(page.locator(".sheet").last).to_contain_text(words)
    sentences = page.locator(".sheet .sentence").all_inner_texts()
    assert [s.split(",")[0] for s in sentences] == [
        "Of 100 people like patient A",
        "Of 100 people like patient B",
    ]
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


@on_both
def test_the_card_tells_whom_the_model_learned_from(page):
    page.locator("#card-box > summary").click()
    expect(page.locator("#model-card .facts")).to_contain_text("Learned from")
    assert page.locator("#model-card .learned tbody tr").count() == 4
    page.evaluate("window.print = () => {}")
    page.get_by_role("button", name="Print this card").click()
    page.emulate_media(media="print")
    expect(page.locator("#card-sheet")).to_contain_text("Model ward 7")
    expect(page.locator("#card-sheet")).to_be_visible()
    expect(page.locator("#sheets")).to_be_hidden()
    page.emulate_media(media="screen")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
