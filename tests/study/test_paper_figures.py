"""The paper's figures show what they are given, for patients chosen by a rule."""

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, SurvTRACE
from survtrace.baselines import CoxPH
from survtrace.metrics import corrected_t_test
from survtrace.study import paper_figures, presets, protocol
from survtrace.study.protocol import Task, random_splits

pytest.importorskip("matplotlib")


def make_scores(data=("metabric", "support"), causes=(1,)):
    """Every split has a level of its own; without both tasks concordance is .02 lower."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {"data": name, "method": method, "split": split, "cause": cause}
            | {
                score: 0.7 + 0.05 * split - 0.02 * (method == "w/o MTL") + rng.normal(0, 0.001)
                for score in paper_figures.HORIZONS
            }
            for name in data
            for method in presets.ABLATION
            for split in range(4)
            for cause in causes
        ]
    )


@pytest.fixture(scope="module")
def cohort_like_metabric():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.integers(0, 2, 200) for name in paper_figures.TREATMENTS})
    X = X.astype("category").assign(age=rng.normal(60, 10, 200))
    latent, censoring = rng.exponential(60, 200), rng.uniform(10, 120, 200)
    y = {"event": (latent < censoring).astype(int), "duration": np.minimum(latent, censoring)}
    return X, pd.DataFrame(y)


@pytest.fixture(scope="module")
def est(cohort_like_metabric, tiny):
    return SurvTRACE(**tiny).fit(*cohort_like_metabric)


def test_the_ablation_figure_shows_paired_differences_and_their_corrected_intervals():
    scores = make_scores()
    figure = paper_figures.ablation_figure(scores)
    assert [ax.get_title() for ax in figure.axes] == ["METABRIC", "SUPPORT"]
    first = figure.axes[0].containers[0]
    assert first.get_label() == "without both tasks"
    wide = scores[scores["data"] == "metabric"].pivot_table("C50", "split", "method")
    expected = corrected_t_test(wide["w/o MTL"] - wide["SurvTRACE"], 0.3)
    assert first.lines[0].get_ydata()[1] == pytest.approx(expected.difference)
    bar = first.lines[2][0].get_segments()[1][:, 1]
    np.testing.assert_allclose(bar, [expected.low, expected.high])
    assert expected.high - expected.low < 0.02  # though splits differ by .05 and more
    shown = figure.axes[0].get_xticklabels()[1].get_text()
    assert shown == f"50 %\n({wide['SurvTRACE'].mean():.3f})"


def test_the_ablation_figure_has_a_panel_for_each_cause():
    figure = paper_figures.ablation_figure(make_scores(("flchain",), causes=(1, 2)))
    assert [ax.get_title() for ax in figure.axes] == ["flchain, cause 1", "flchain, cause 2"]


def test_the_ablation_figure_knows_the_methods_of_the_study():
    assert {paper_figures.FULL, *paper_figures.WITHOUT} <= set(presets.ABLATION)


@pytest.mark.parametrize("broken", ["column", "method"])
def test_scores_of_another_study_are_refused(broken):
    scores = make_scores()
    one = (scores["data"] == "support") & (scores["method"] == "w/o LS")
    scores = scores.drop(columns="C75") if broken == "column" else scores[~one]
    with pytest.raises(DataError, match=r"needs the columns .*C75.* methods .*w/o LS"):
        paper_figures.ablation_figure(scores)


def test_one_split_has_no_interval():
    scores = make_scores()
    with pytest.raises(DataError, match="two or more"):
        paper_figures.ablation_figure(scores[scores["split"] == 0])


def test_patients_are_chosen_by_outcome_and_treatment_alone(cohort_like_metabric):
    X, y = cohort_like_metabric
    uncensored, censored = paper_figures.middle_patients(y).values()
    assert (y["event"].iloc[uncensored], y["event"].iloc[censored]) == (1, 0)
    events = y.loc[y["event"] == 1, "duration"]
    rank = (events < y["duration"].iloc[uncensored]).sum()
    assert abs(rank - len(events) / 2) <= 1
    for title, row in paper_figures.treated_alone(X, y).items():
        given = X[list(paper_figures.TREATMENTS)].astype(int).iloc[row]
        assert title == f"{given.idxmax().replace('_', ' ')} alone"
        assert given.sum() == 1


def test_a_kind_of_patient_that_is_not_there_is_named():
    with pytest.raises(DataError, match="no subject is of the kind"):
        paper_figures.middle_patients(pd.DataFrame({"event": [1, 1], "duration": [1.0, 2.0]}))


def test_attention_maps_share_a_scale_centred_on_even_attention(est, cohort_like_metabric):
    X, y = cohort_like_metabric
    left, right, bar = paper_figures.attention_figure(est, X, y).axes
    assert left.get_title() == "hormone treatment alone"
    low, high = left.images[0].get_clim()
    assert right.images[0].get_clim() == (low, high)
    assert (low + high) / 2 == pytest.approx(100 / 4)
    assert high - low >= 100 / 4 / 2 - 1e-9
    row = paper_figures.treated_alone(X, y)["radiotherapy alone"]
    expected = 100 * est.attention(X.iloc[[row]])[0].mean(axis=(0, 1))
    np.testing.assert_allclose(right.images[0].get_array(), expected, rtol=1e-5)
    names = [tick.get_text() for tick in left.get_yticklabels()]
    assert names == ["hormone treatment", "radiotherapy", "chemotherapy", "age"]
    assert "even: 25.0" in bar.get_ylabel()


def test_curves_stand_beside_cox_with_the_outcome_marked(est, cohort_like_metabric):
    X, y = cohort_like_metabric
    cox = CoxPH().fit(X, y)
    figure = paper_figures.patients_figure(est, cox, X, y, unit="months")
    for ax, (kind, row) in zip(figure.axes, paper_figures.middle_patients(y).items(), strict=True):
        own, baseline, mark = ax.lines
        duration = y["duration"].iloc[row]
        assert ax.get_title().startswith(f"{kind} patient")
        assert list(mark.get_xdata()) == [duration, duration]
        times, patient = own.get_xdata(), X.iloc[[row]]
        np.testing.assert_allclose(
            own.get_ydata(), est.predict_survival_function(patient, times)[0]
        )
        np.testing.assert_allclose(
            baseline.get_ydata(), cox.predict_survival_function(patient, times)[0]
        )


def test_all_figures_are_written(cohort_like_metabric, tiny, tmp_path, monkeypatch):
    X, y = cohort_like_metabric
    task = Task("metabric", X, y, random_splits(len(X), 1))
    monkeypatch.setattr(paper_figures, "load_task", lambda name: task)
    make_scores().to_csv(tmp_path / "scores.csv", index=False)
    written = paper_figures.paper_figures(tmp_path / "new", tmp_path / "scores.csv", **tiny)
    names = ["paper_ablation.png", "paper_attention.png", "paper_patients.png"]
    assert [path.name for path in written] == names
    assert all(path.stat().st_size > 10_000 for path in written)


def test_metabric_has_patients_of_each_kind(shared_data, tiny, tmp_path, monkeypatch):
    if not (shared_data / "splits_metabric.npz").exists():
        pytest.skip(f"splits_metabric.npz is not in {shared_data}")
    monkeypatch.setenv("SURVTRACE_DATA_HOME", str(shared_data))
    protocol.load_task.cache_clear()
    written = paper_figures.paper_figures(tmp_path, **tiny)
    assert [path.name for path in written] == ["paper_attention.png", "paper_patients.png"]


def test_a_fit_that_was_interrupted_is_not_drawn(cohort_like_metabric, tmp_path, monkeypatch):
    def broken_off(est, X, y):
        est.card_ = {"interrupted": True}
        return est

    task = Task("metabric", *cohort_like_metabric, random_splits(200, 1))
    monkeypatch.setattr(paper_figures, "load_task", lambda name: task)
    monkeypatch.setattr(SurvTRACE, "fit", broken_off)
    with pytest.raises(KeyboardInterrupt):
        paper_figures.paper_figures(tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
