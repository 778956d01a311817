"""The page needs nothing but itself, is well formed, and says what the scores say."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from survtrace.metrics import concordance_cause_specific, integrated_brier_score
from survtrace.naming import Names
from survtrace.report import collect, page, render, write_report
from survtrace.report.collected import choose_groups

# In one process, so that what the fixtures fit is fitted once.
pytestmark = pytest.mark.xdist_group("report")
VOID = {"meta", "img", "br", "hr", "link", "input"}
NBSP = "\N{NO-BREAK SPACE}"


class Reader(HTMLParser):
    """Collects tags, text and links; fails where a tag closes that is not the last open one."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.text += " "
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data

    def all(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]

    @property
    def words(self):
        return " ".join(self.text.replace(NBSP, " ").split())


def shown(score, digits):
    low, high = score.interval()
    return f"{score:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def test_nothing_is_loaded_from_elsewhere(report):
    reader = Reader(report.page)
    links = [
        attrs[name]
        for _, attrs in reader.tags
        for name in ("src", "href", "srcset")
        if name in attrs
    ]
    assert links
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in links)
    style = re.search(r"<style>(.*)</style>", report.page, re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in re.sub(r"data:[^\"]*", "", report.page)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in reader.tags}


def test_every_tag_is_closed_and_every_reference_has_a_target(report):
    reader = Reader(report.page)
    assert not reader.open
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs["href"].removeprefix("#") for attrs in reader.all("a")]
    targets += [a["aria-labelledby"] for _, a in reader.tags if "aria-labelledby" in a]
    assert set(targets) <= set(ids)


def test_headings_are_in_order_and_pictures_have_words(report):
    reader = Reader(report.page)
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(len(attrs["alt"]) > 20 for attrs in reader.all("img"))
    assert reader.all("html")[0]["lang"] == "en"
    assert len(reader.all("nav")) == 1


def test_a_name_is_text_and_never_a_tag(of_one_cause):
    reader = Reader(of_one_cause.page)
    assert not reader.all("b")
    assert not reader.all("i")
    assert 'age <b>&"years"</b>' in reader.words
    assert "<i>Odd</i> & plain" in reader.words
    assert "size ($) per $" in reader.words


def test_the_page_shows_the_numbers_of_the_metrics(report):
    words, (X, y) = Reader(report.page).words, report.scored
    est, horizon = report.est, report.summary.scores.horizon
    times = est.score_times_[est.score_times_ <= est.censoring_.last_usable]
    for k, cause in enumerate(est.causes_):
        known = {"cause": cause, "y_train": est.censoring_}
        early = est.predict_cumulative_incidence(X, [horizon])[:, k, 0]
        always = est.predict_cumulative_incidence(X, times)[:, k]
        assert shown(concordance_cause_specific(y, early, horizon, **known), 3) in words
        assert shown(integrated_brier_score(y, always, times, **known), 4) in words


def test_missing_values_and_events_are_counted(report):
    words, (X, y) = Reader(report.page).words, report.scored
    n = int(X.iloc[:, 1].isna().sum())
    assert n > 0
    assert f"{X.columns[1]} {n} ({100 * n / len(X):.1f} %)" in words
    for cause in report.est.causes_:
        events = int((y["event"] == cause).sum())
        assert f"cause {cause} {events} {100 * events / len(y):.1f} %" in words


def test_the_model_card_states_limits_versions_seed_and_changed_settings(report):
    words = Reader(report.page).words
    for said in ("Intended use", "Out of scope", "not a medical device", "Neither is causation"):
        assert said in words
    assert f"torch {report.summary.versions['torch']}" in words
    assert "Seed of the fit 0" in words
    assert "max_epochs 2 100" in words
    assert f"{report.summary.made:%Y-%m-%d %H:%M} UTC" in words


def test_the_training_rows_are_described_where_they_are_given(of_one_cause, of_three_causes):
    learned = of_one_cause.est.card_["n_subjects"]
    assert f"from {learned} subjects with" in Reader(of_one_cause.page).words
    assert "240 subjects, as given" in Reader(of_three_causes.page).words


def test_without_scikit_survival_the_forest_is_left_out_with_a_sentence(
    of_three_causes, monkeypatch
):
    monkeypatch.setitem(sys.modules, "sksurv.ensemble", None)
    est, scored, train = of_three_causes.est, of_three_causes.scored, of_three_causes.train
    summary = collect(est, *scored, train=train, n_repeats=1)
    assert summary.scores.methods == ["SurvTRACE", "Aalen-Johansen", "Cox"]
    assert "Forest is left out: it needs scikit-survival" in Reader(render(summary)).words


def test_without_shap_the_shares_are_left_out_with_a_sentence(of_one_cause, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    summary = collect(of_one_cause.est, *of_one_cause.scored, n_repeats=1)
    assert "it needs the library shap" in Reader(render(summary)).words


def test_a_saved_estimator_is_reported_by_its_path(of_one_cause, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "collect", lambda est, X, y, **known: of_one_cause.summary)
    of_one_cause.est.save(tmp_path / "est")
    monkeypatch.setattr(page, "render", lambda summary, title: f"{title}: {summary.versions}")
    path = write_report(tmp_path / "est", *of_one_cause.scored, tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8") == f"None: {of_one_cause.summary.versions}"


def test_a_report_that_fails_leaves_the_earlier_one_alone(of_one_cause, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("earlier")
    monkeypatch.setattr(page, "collect", lambda est, X, y, **known: None)
    with pytest.raises(AttributeError, match="NoneType"):
        write_report(of_one_cause.est, *of_one_cause.scored, path)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_verdict_claims_no_more_than_a_95_percent_interval(report):
    words = Reader(report.page).words
    assert "no doubt" not in words
    assert "about one such interval in twenty misses 0 by chance" in words


def test_causes_covariates_times_and_card_are_named_as_in_the_fit(of_three_causes):
    summary = of_three_causes.summary
    causes = {1: "relapse", 2: "stroke", 3: "other"}
    card = {
        "fitted_on": "2026-03-01",
        "n_subjects": 240,
        "n_events": {"1": 50, "2": 40, "3": 30},
        "n_censored": 120,
        "n_missing": {"size": 24, "age": 0},
        "interrupted": True,
        "survtrace_version": "0.1.0",
    }
    names = Names(causes, {"age": "Age at diagnosis (years)"}, "months", card)
    words = Reader(render(replace(summary, names=names, learned=None))).words
    assert "cause 1" not in words.split("Model card")[0].split("May attention")[0]
    assert "relapse" in words
    assert "Age at diagnosis (years)" in words
    assert "Times are in months." in words
    learned = "Learned on 2026-03-01 from 240 subjects with 120 events."
    assert f"{learned} Training was interrupted." in words
    assert "censored 120" in words.split("Data it learned from")[1]
    assert "Missing values: size 24." in words
    assert "Model fitted 2026-03-01 with survtrace 0.1.0; training was interrupted" in words


def test_one_member_has_no_band_and_the_page_speaks_of_none(of_three_causes):
    summary = of_three_causes.summary
    unknown = tuple(
        replace(each, low=np.full_like(each.low, np.nan), high=np.full_like(each.high, np.nan))
        for each in summary.patients.each
    )
    fit = replace(summary.fit, members=summary.fit.members[:1])
    patients = replace(summary.patients, each=unknown)
    words = Reader(render(replace(summary, fit=fit, patients=patients))).words
    assert "Bands" not in words
    assert "The upper panels share one scale" in words


def test_the_step_at_work_is_shown_when_asked_for(of_one_cause, tmp_path, capsys):
    est, scored = of_one_cause.est, of_one_cause.scored
    write_report(est, *scored, tmp_path / "report.html", n_repeats=1, verbose=True)
    assert "drawing" in capsys.readouterr().err
    write_report(est, *scored, tmp_path / "report.html", n_repeats=1, verbose=False)
    assert capsys.readouterr().err == ""


def test_calibration_has_a_band_and_decisions_and_groups_are_there(report):
    reader, causes = Reader(report.page), report.est.causes_
    validation, horizon = report.summary.validation, report.summary.scores.horizon
    assert validation.horizons == (horizon,)
    assert set(validation.groups["column"]) == set(choose_groups(report.summary.cohort))
    for words in ("with a 95 % band", "Net benefit by prediction", "Does it hold for everybody?"):
        assert words in reader.words
    ratio = validation.scores.set_index(["cause", "score"])["value"]
    assert all(f"{ratio[cause, 'O/E']:.2f} (" in reader.words for cause in causes)
    drawn = [image["alt"] for image in reader.all("img")]
    for start in ("Calibration of", "Net benefit of", "observed / expected of"):
        assert sum(alt.startswith(start) for alt in drawn) == len(causes)


def test_groups_are_age_and_categories_that_divide_the_subjects(of_three_causes):
    cohort = of_three_causes.summary.cohort
    assert choose_groups(cohort)[:2] == ["age", "sex"]
    sex = next(c for c in cohort.covariates if c.name == "sex")
    hardly_any = replace(sex, levels=(("f", cohort.n_rows - 1), ("m", 1)))
    others = tuple(c for c in cohort.covariates if c.name == "size")
    assert choose_groups(replace(cohort, covariates=(hardly_any, *others))) == []


def test_bands_of_the_example_patients_are_intervals_where_the_model_has_them(report):
    patients = report.summary.patients
    assert patients.has_intervals == (report.est.interval_ is not None)
    for patient in patients.each if patients.has_intervals else ():
        assert ((patient.low <= patient.incidence) & (patient.incidence <= patient.high)).all()


def test_an_update_is_shown_with_the_scores_of_all_ways(of_three_causes):
    ratios = {"1": 1.234, "2": None, "3": 0.9}
    score = {"integrated_brier": 0.1234, "standard_error": 0.0021, "observed_expected": ratios}
    record = {
        "date": "2026-01-31",
        "subjects": 1300,
        "events": {"1": 40, "2": 0, "3": 20},
        "asked": "auto",
        "how": "level",
        "scores": [
            {**score, "how": "none", "difference": 0.0},
            {**score, "how": "level", "difference": -0.0123},
        ],
    }
    page = render(replace(of_three_causes.summary, updates=[record]))
    assert "Update of 2026-01-31: level, chosen." in page
    assert "1,300 subjects with 60 events" in page
    assert "level (taken)" in page
    assert "\N{MINUS SIGN}0.012 (± 0.0021)" in page
    assert "Updates</h3>" not in of_three_causes.page
