"""Shapes in signatures are checked in every test; small cohorts and estimators to share."""

import json
import os
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

# A shell that starts the tests in the background takes Ctrl-C from them; some of them press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Most tests compare bits, and those of one kind of device: they run as on a machine without a GPU,
# in their child processes too. Tests of the kernels for GPUs see the GPU in a run of their own,
# with SURVTRACE_TEST_GPU=1: `make test` does both.
if os.environ.get("SURVTRACE_TEST_GPU") != "1":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

# Before anything else imports survtrace: every module whose signatures carry shapes is checked.
# The doors (estimator, outcome, settings) are not: they take anything and answer in our own words.
# Nor are the kernels: numba compiles their functions itself.
# A whole number may stand for a float, hence a beartype of our own.
checker = ModuleType("shape_checker")
checker.check = beartype(conf=BeartypeConf(is_pep484_tower=True))
sys.modules[checker.__name__] = checker
LAYERS = ["member", "embedding", "attention", "encoder", "representation", "heads", "assembly"]
NETWORK = [f"network.{name}" for name in LAYERS]
WITH_SHAPES = [
    *NETWORK,
    "ops.dispatch",
    "losses",
    "training",
    "inference.curves",
    "inference.curve_function",
    "batch",
    "cohort.batch_source",
]
install_import_hook([f"survtrace.{name}" for name in WITH_SHAPES], "shape_checker.check")

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

from survtrace import SurvTRACE  # noqa: E402
from survtrace.saved_folder import DIGEST, NOTE, TENSORS, written_note  # noqa: E402

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels for GPUs, on this processor

hypothesis.settings.register_profile("house", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("house")

# Groups and files whose tests take longest, about in this order. One that began late would leave
# one of two processes with nothing to do at the end.
FIRST = [
    "ray",
    "report",
    "test_docs.py",
    "browser",
    "test_operations.py",
    "test_messy_tables.py",
    "test_cutting.py",
    "r",
    "test_checkpoint.py",
    "two processes",
    "test_predictor.py",
    "test_readme.py",
]


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items):
    """Keep a file's tests in one process, so that what its fixtures fit is fitted once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
    names = {item: item.get_closest_marker("xdist_group").args[0] for item in items}
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(names[item], len(FIRST)))


TINY = {
    "n_members": 2,
    "n_intervals": 3,
    "width": 4,
    "depth": 1,
    "n_heads": 2,
    "hidden": 8,
    "head_depth": 1,
    "batch_size": 32,
    "max_epochs": 2,
    "unknown_steps": 10,  # more than an epoch has batches; 200 take longer than the rest of a fit
    "intervals": False,  # another fit, which most tests have no use for
    "device": "cpu",
    "n_threads": 1,
    "random_state": 0,
    "verbose": False,
}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Tiny products are slower on several threads."""
    torch.set_num_threads(1)


def make_table(n_subjects, seed=0):
    """Two numericals (one with gaps), a text, a category: enough of everything."""
    rng = np.random.default_rng(seed)
    size = rng.gamma(2.0, 3.0, n_subjects)
    size[rng.random(n_subjects) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": rng.normal(60.0, 10.0, n_subjects),
            "size": size,
            "sex": rng.choice(["f", "m"], n_subjects),
            "stage": pd.Categorical(rng.choice(["I", "II", "III"], n_subjects)),
        }
    )


def make_outcome(X, n_causes, seed=0):
    """Exponential causes whose hazards grow with age, and uniform censoring."""
    rng = np.random.default_rng([seed, 1])
    hazard = np.exp((X["age"].to_numpy()[:, None] - 60) / 20) / np.arange(10, 10 + n_causes)
    latent, censoring = rng.exponential(1 / hazard), rng.uniform(1.0, 20.0, len(X))
    first = latent.min(axis=1)
    event = np.where(first < censoring, latent.argmin(axis=1) + 1, 0)
    return pd.DataFrame({"event": event, "duration": np.minimum(first, censoring)})


@pytest.fixture(scope="session")
def tiny():
    """Settings of an estimator that is fitted in a moment."""
    return dict(TINY)


@pytest.fixture(scope="session")
def draw_cohort():
    """A function of (subjects, causes, seed) that gives X and y."""

    def draw(n_subjects, n_causes=1, seed=0):
        X = make_table(n_subjects, seed)
        return X, make_outcome(X, n_causes, seed)

    return draw


@pytest.fixture(scope="session")
def one_cause():
    """160 subjects with one cause."""
    X = make_table(160)
    return X, make_outcome(X, 1)


@pytest.fixture(scope="session")
def three_causes():
    """240 subjects with three causes."""
    X = make_table(240, seed=1)
    return X, make_outcome(X, 3, seed=1)


@pytest.fixture(scope="session", params=["one_cause", "three_causes"])
def cohort(request):
    """Each of the two cohorts."""
    return request.getfixturevalue(request.param)


def make_late(y, seed=0):
    """Let half of the subjects enter after a part of their time."""
    rng = np.random.default_rng([seed, 2])
    share = np.where(rng.random(len(y)) < 0.5, 0.0, rng.uniform(0, 0.8, len(y)))
    return y.assign(entry=share * y["duration"])


def cut_rows(X, y, seed=0):
    """Cut most subjects' rows at random times into up to three, one behind the other."""
    rng = np.random.default_rng([seed, 3])
    entry = y["entry"].to_numpy() if "entry" in y else np.zeros(len(y))
    n_rows = rng.integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), n_rows)
    is_last = np.append(rows[1:] != rows[:-1], True)
    is_first = np.append(True, rows[1:] != rows[:-1])
    share = rng.uniform(0, 1, len(rows))
    share = np.sort(rows + np.where(is_last, 1 - 1e-12, 0.9 * share + 0.05)) - rows
    times = entry[rows] + share * (y["duration"].to_numpy() - entry)[rows]
    ends = np.where(is_last, y["duration"].to_numpy()[rows], times)
    begins = np.where(is_first, entry[rows], np.append(0.0, ends[:-1]))
    event = np.where(is_last, y["event"].to_numpy()[rows], 0)
    frame = pd.DataFrame({"event": event, "duration": ends, "entry": begins, "id": rows})
    return X.iloc[rows].reset_index(drop=True), frame


@pytest.fixture(scope="session")
def late_entry():
    """A function that lets half of an outcome's subjects enter late."""
    return make_late


@pytest.fixture(scope="session")
def cut():
    """A function that cuts the rows of a table and its outcome into start-stop rows."""
    return cut_rows


@pytest.fixture(scope="session")
def fitted_one(one_cause, tiny):
    """Fitted to one cause; not to be changed."""
    return SurvTRACE(**tiny).fit(*one_cause)


@pytest.fixture(scope="session")
def fitted_three(three_causes, tiny):
    """Fitted to three causes; not to be changed."""
    return SurvTRACE(**tiny).fit(*three_causes)


@pytest.fixture(scope="session", params=["fitted_one", "fitted_three"])
def fitted(request):
    """Each of the two fitted estimators."""
    return request.getfixturevalue(request.param)


def sign(folder, change=lambda note: None):
    """Change the plain values of a saved folder, and sign all it holds anew."""
    note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    for name in ("format", "format_version", DIGEST):
        del note[name]
    change(note)
    (folder / NOTE).write_bytes(written_note(note, (folder / TENSORS).read_bytes()))


@pytest.fixture(scope="session")
def sign_anew():
    """A function of a saved folder and a change of its plain values, which signs it anew."""
    return sign


@pytest.fixture(scope="session")
def enter_late():
    """A function of a batch: half of its rows enter late, and the first one is empty."""

    def change(batch, seed=4):
        generator = torch.Generator().manual_seed(seed)
        share = (2 * torch.rand(len(batch.event), generator=generator) - 1).clamp(min=0)
        entry = share * (batch.interval + batch.fraction)
        entry_interval = torch.minimum(entry.long(), batch.interval)
        entry_fraction = entry - entry_interval
        weight = batch.weight.clone()
        entry_interval[0], entry_fraction[0] = batch.interval[0], batch.fraction[0]
        weight[0] = 0.0
        return batch._replace(
            entry_interval=entry_interval,
            entry_fraction=entry_fraction,
            whole=(share == 0).to(batch.whole),
            weight=weight,
        )

    return change


@pytest.fixture
def kernels_run(monkeypatch):
    """Says how often kernels ran: ``trained`` counts gradients, ``predicted`` logits."""
    from survtrace.ops.cpu import operations as cpu

    seen = SimpleNamespace(trained=0, predicted=0)

    def count(operation, name):
        kernel = getattr(cpu, operation)

        def counted(*arguments):
            setattr(seen, name, getattr(seen, name) + 1)
            return kernel(*arguments)

        monkeypatch.setattr(cpu, operation, counted)

    count("gradient", "trained")
    count("cause_logits", "predicted")
    return seen


@pytest.fixture
def without_kernels():
    """A context in which everything is computed without kernels."""
    from survtrace.ops import plain

    return plain


@pytest.fixture(scope="session")
def cluster():
    """Ray on this machine, with room for two workers: started once, found running and left so."""
    ray = pytest.importorskip("ray", reason="needs ray: pip install 'survtrace[distributed]'")

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def shared_data():
    """The folder with METABRIC and SUPPORT; a test that needs it is skipped where it is not."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    for folder in (os.environ.get("SURVTRACE_DATA_HOME"), beside):
        if folder and all(
            Path(folder, name).exists()
            for name in ("metabric_IHC4_clinical_train_test.h5", "support_train_test.h5")
        ):
            return Path(folder)
    pytest.skip("METABRIC and SUPPORT are neither in $SURVTRACE_DATA_HOME nor in ../shared/data")
