"""The page on a validation says what was found, what is known, and what the user must tell."""

import copy
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from survtrace import SurvTRACE
from survtrace.naming import Names
from survtrace.report import card_facts, write_validation
from survtrace.report.checklist import as_markdown
from survtrace.report.tripod import read_items
from survtrace.report.validated import verdicts
from survtrace.settings import ABOUT_TOPICS

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from survtrace.report import validation_figures


@pytest.fixture(scope="module")
def validated(draw_cohort, tiny, tmp_path_factory):
    """An estimator, the folder of its validation, and what was found."""
    X, y = draw_cohort(700, 2, seed=3)
    X = X.assign(hospital=np.arange(len(X)) % 4)
    told = {"dates": "2004 to 2015", "place": "Leiden <b>"}
    est = SurvTRACE(**tiny, about=told, cause_names={1: "relapse"}, time_unit="months")
    est.fit(X[:300].drop(columns="hospital"), y[:300])
    folder = tmp_path_factory.mktemp("validation")
    found = write_validation(
        est,
        X[300:],
        y[300:],
        folder,
        horizons=[8.0],
        thresholds=[0.1, 0.2, 0.4],
        by=["sex"],
        centre="hospital",
        about={"dates": "2016", "ethics": "waived"},
    )
    return est, folder, found


def test_the_folder_holds_page_tables_figures_checklist_and_card(validated):
    _, folder, found = validated
    assert {"report.html", "checklist.md", "card.md"} <= {file.name for file in folder.iterdir()}
    scores = pd.read_csv(folder / "scores.csv")
    np.testing.assert_allclose(scores["value"], found.validation.scores["value"])
    assert len(list(folder.glob("calibration-*.svg"))) == 2
    assert (folder / "groups-1.svg").read_text("utf-8").startswith("<?xml")


def test_the_page_stands_alone_and_escapes_what_it_is_told(validated):
    page = (validated[1] / "report.html").read_text("utf-8")
    assert "Leiden &lt;b&gt;" in page
    assert "Leiden <b>" not in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    ids = re.findall(r'id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert set(re.findall(r'aria-labelledby="([^"]*)"', page)) <= set(ids)


def test_the_page_shows_the_scores_found(validated):
    _, folder, found = validated
    page = (folder / "report.html").read_text("utf-8")
    scores = found.validation.scores.set_index(["cause", "score"])["value"]
    for name in ("O/E", "slope", "AUC", "Brier"):
        assert f"{scores[1, name]:.3f} (".replace("-", "\N{MINUS SIGN}") in page
    assert "A new centre" in page
    assert page.count("Relapse by 8") >= 2


def test_every_item_is_there_and_is_answered_or_asked(validated):
    entries = validated[2].checklist
    assert [entry.item for entry in entries] == read_items()
    assert set(ABOUT_TOPICS.values()) <= {entry.item.number for entry in entries}
    for entry in entries:
        assert entry.found or entry.is_open
        assert entry.topic is not None or not entry.is_open
    by_number = {entry.item.number: entry for entry in entries}
    assert by_number["5b"].found == ("Model: 2004 to 2015", "Validation: 2016")
    assert not by_number["17"].is_open
    assert by_number["18a"].is_open
    assert "300 subjects" in by_number["10"].found[0]
    assert "400 subjects" in by_number["10"].found[1]
    assert "hospital" in " ".join(by_number["12d"].found)


def test_the_checklist_in_markdown_names_the_gaps_first(validated):
    entries = validated[2].checklist
    text = as_markdown(entries, "Checklist")
    n_open = sum(entry.is_open for entry in entries)
    assert f"{n_open} of 52 items wait" in text
    assert text.count("\n- **") == n_open
    assert text.count("\n| ") == 53


def test_the_card_has_counts_and_no_subject(validated):
    est, folder, _ = validated
    card = card_facts(est)
    assert card["Dates"] == "2004 to 2015"
    assert card["Learned from"].startswith("300 subjects: ")
    assert "reverse Kaplan-Meier" in card["Follow-up"]
    assert "# Model card" in (folder / "card.md").read_text("utf-8")


def test_an_updated_model_without_a_card_says_both(validated, draw_cohort, tmp_path):
    est = copy.copy(validated[0])
    way = {"integrated_brier": 0.2, "difference": 0.0, "standard_error": 0.0}
    ways = [
        {**way, "how": "none", "observed_expected": {"1": 1.5, "2": 1.0}},
        {**way, "how": "level", "observed_expected": {"1": 1.02, "2": 1.0}},
    ]
    record = {"date": "2026-01-31", "subjects": 1300, "events": {"1": 40, "2": 20}, "how": "level"}
    record |= {"asked": "auto", "scores": ways}
    est.card_, est.updates_ = {}, [record]
    X, y = draw_cohort(300, 2, seed=4)
    found = write_validation(est, X, y, tmp_path / "page.html", horizons=[8.0], thresholds=[0.2])
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "kept no card" in page
    assert "Update of 2026-01-31: level, chosen" in page
    assert "level (taken)" in page
    by_number = {entry.item.number: entry.found for entry in found.checklist}
    assert by_number["12f"] == ("Updated on 2026-01-31 with 1,300 subjects: level.",)
    assert not len(found.validation.groups)


def test_the_share_of_unusual_subjects_is_told(validated):
    est, folder, found = validated
    assert (found.unlike is None) == (est.typicality_ is None)
    told = "more unusual than 99 % of those" in (folder / "report.html").read_text("utf-8")
    assert told == (found.unlike is not None)


def test_what_was_told_of_the_training_data_does_not_answer_for_those_validated_on(validated):
    by_number = {entry.item.number: entry for entry in validated[2].checklist}
    assert by_number["6a"].found == ("Model: Leiden <b>",)
    assert by_number["6a"].is_open


def test_where_no_event_came_the_page_says_so(validated):
    _, _, found = validated
    cause, horizon = found.validation.causes[0], found.validation.horizons[0]
    scores, decisions = found.validation.scores.copy(), found.validation.decisions
    ours = (scores["cause"] == cause) & (scores["score"] == "O/E")
    scores.loc[ours, ["value", "low", "high"]] = [0.0, 0.0, 0.2]
    one = decisions[decisions["threshold"] == 0.2].copy()
    one["value"] = one["strategy"].map({"model": 0.1, "treat all": 0.0, "treat none": 0.0})
    one["low"] = one["value"] - 0.05
    changed = replace(found.validation, scores=scores, decisions=one)
    words = " ".join(verdicts(replace(found, validation=changed), cause, horizon))
    assert "100% fewer events came than were predicted" in words
    assert (
        "at 1 of 1 thresholds examined (0.2); its interval lies above both at 1 of them." in words
    )


def test_a_net_benefit_whose_interval_reaches_down_to_another_is_not_called_clear(validated):
    _, _, found = validated
    cause, horizon = found.validation.causes[0], found.validation.horizons[0]
    one = found.validation.decisions[found.validation.decisions["threshold"] == 0.2].copy()
    one["value"] = one["strategy"].map({"model": 0.1, "treat all": 0.0, "treat none": 0.0})
    one["low"] = one["value"] - 0.2
    changed = replace(found, validation=replace(found.validation, decisions=one))
    words = " ".join(verdicts(changed, cause, horizon))
    assert "(0.2); its interval lies above both at none of them." in words


def test_the_title_of_a_forest_plot_stands_above_the_words_beside_it(monkeypatch):
    figures = list[Figure]()
    monkeypatch.setattr(validation_figures, "uri", lambda figure: figures.append(figure) or "")
    row = {"column": "", "group": "all", "value": 1.0, "low": 0.8, "high": 1.2, "n": 9, "events": 5}
    title = "relapse or second malignancy by 270.5 days after surgery"
    validation_figures._forest(
        pd.DataFrame([row]), Names({}, {}), title, "observed / expected", 1.0, True
    )
    ax = figures[0].axes[0]
    figures[0].draw_without_rendering()
    (words,) = [text for text in ax.texts if text.get_text() == "subjects / events"]
    assert not ax.title.get_window_extent().overlaps(words.get_window_extent())
