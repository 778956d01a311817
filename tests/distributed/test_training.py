"""Two workers learn what one process learns, even if one of them is killed."""

import os
import signal
from functools import partial

import numpy as np
import pytest

from survtrace import SettingError, SurvTRACE, estimator, load
from survtrace.cohort.file_source import FileSource

pytest.importorskip("ray", reason="needs ray: pip install 'survtrace[distributed]'")

from survtrace.distributed import fit, training

pytestmark = [
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),
    pytest.mark.xdist_group("ray"),
]
ROLES = {"event": "cause", "duration": "months", "drop": ["who"]}
LOSSES = ["survival_loss", "mortality_loss", "stay_loss", "validation_loss"]


@pytest.fixture(scope="module")
def settings(tiny):
    """Dropout everywhere, and batches that two workers cannot halve."""
    return {**tiny, "batch_size": 33, "max_epochs": 4, "dropout": 0.1, "attention_dropout": 0.1}


def killing_once(work, flag):
    """The same work, but the second worker is killed in the middle of the third epoch."""

    def doomed(config):
        from survtrace.training.step import Step

        step, taken = Step.__call__, 0

        def dying(self, *batch):
            nonlocal taken
            taken += 1
            if self.group.rank == 1 and taken == 2 * 7 + 3 and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return step(self, *batch)

        Step.__call__ = dying
        return work(config)

    return doomed


def assert_same(found, expected, X):
    """The same losses and predictions, to rounding."""
    np.testing.assert_allclose(found.history_[LOSSES], expected.history_[LOSSES], atol=2e-6)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-6)


def test_two_workers_learn_what_one_process_learns(cluster, settings, three_causes, tmp_path):
    X, y = three_causes
    alone = SurvTRACE(**settings).fit(X, y)
    est = SurvTRACE(**settings)
    handler = signal.getsignal(signal.SIGINT)
    assert fit(est, X, y, n_workers=2) is est
    assert signal.getsignal(signal.SIGINT) is handler, "Ctrl-C is ours again"
    assert cluster.is_initialized(), "a cluster that ran before goes on"
    assert_same(est, alone, X)
    est.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), est.predict(X))


def test_a_worker_killed_in_mid_epoch_changes_nothing(
    cluster, settings, three_causes, files, tmp_path, monkeypatch
):
    """Of files too: read by the cluster, in the same chunks as by one process."""
    monkeypatch.setattr(estimator, "FileSource", partial(FileSource, chunk_rows=64))
    alone = SurvTRACE(**settings).fit(files, ROLES)
    flag = tmp_path / "killed"
    monkeypatch.setattr(training, "work", killing_once(training.work, flag))
    est = fit(SurvTRACE(**settings), files, ROLES, n_workers=2, storage=tmp_path / "storage")
    assert flag.exists(), "a worker was killed"
    assert_same(est, alone, three_causes[0])
    assert est.censored_ == [0]
    left = [path.name for path in (tmp_path / "storage").iterdir()]
    assert [name.partition("-")[0] for name in left] == ["fit"], "the records are gone"


def test_start_stop_rows_are_learned_from_alike(
    cluster, settings, three_causes, cut, tmp_path, monkeypatch
):
    """In memory and from files, whose chunks cut through subjects."""
    monkeypatch.setattr(estimator, "FileSource", partial(FileSource, chunk_rows=64))
    settings = {**settings, "mortality_weight": 0, "stay_weight": 0, "max_epochs": 2}
    rows, parts = cut(*three_causes)
    rows.assign(**parts).to_parquet(tmp_path / "t.parquet")
    roles = {name: name for name in ("event", "duration", "entry", "id")}
    for table in ((rows, parts), (tmp_path / "t.parquet", roles)):
        alone = SurvTRACE(**settings).fit(*table)
        est = fit(SurvTRACE(**settings), *table, n_workers=2, storage=tmp_path / "storage")
        assert_same(est, alone, three_causes[0])
        assert est.has_start_stop_


@pytest.mark.parametrize("change", [{"n_workers": 0}, {"cpus_per_worker": 0}])
def test_a_worker_needs_a_processor(one_cause, tiny, change):
    with pytest.raises(SettingError, match=r"at least one worker, with a CPU; got"):
        fit(SurvTRACE(**tiny), *one_cause, **change)


def test_a_batch_must_have_a_subject_for_each_worker(cluster, one_cause, tiny):
    with pytest.raises(SettingError, match=r"subject for each .*; got 1 for 2.*batch_size"):
        fit(SurvTRACE(**{**tiny, "batch_size": 1}), *one_cause)
