"""On a CUDA device the estimator learns and answers as on the CPU, to rounding."""

import numpy as np
import pytest
import torch

from survtrace import SurvTRACE, load, ops
from survtrace.batch import Batch, no_entry
from survtrace.datasets import make_cohort
from survtrace.errors import DataWarning
from survtrace.network.assembly import Network, Shape
from survtrace.ops import reasons_for_plain
from survtrace.ops.support import OPERATIONS
from survtrace.tables.covariates.magnitude import FARTHEST
from survtrace.training import step
from survtrace.training.flat_parameters import gather_parameters

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU, and SURVTRACE_TEST_GPU=1 to see it"
)

TINY = {"n_members": 3, "width": 16, "depth": 2, "hidden": 16, "max_epochs": 4, "verbose": False}
TIMES = [3.0, 30.0, 100.0]


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(600, missing=0.1, random_state=0)


@pytest.fixture(scope="module")
def on_cuda(cohort):
    return SurvTRACE(**TINY, device="cuda", random_state=0).fit(*cohort)


def test_training_happens_there(on_cuda):
    assert on_cuda.network_.device.type == "cuda"
    first, last = on_cuda.history_.groupby("epoch")["validation_loss"].mean().iloc[[0, -1]]
    assert last < first


def test_auto_finds_it(cohort):
    est = SurvTRACE(**{**TINY, "max_epochs": 1}, random_state=0).fit(*cohort)
    assert est.network_.device.type == "cuda"


@pytest.mark.filterwarnings("ignore::survtrace.errors.DataWarning")  # of auxiliary tasks
@pytest.mark.parametrize("share_of_time_unseen", [0.0, 0.5], ids=["from the start", "late entry"])
def test_without_dropout_it_learns_what_the_cpu_learns(cohort, share_of_time_unseen):
    """On whole cohorts, since each kind of device shuffles in its own way."""
    X, y = cohort
    entry = np.where(np.arange(len(y)) % 2, share_of_time_unseen, 0.0) * y["duration"]
    quiet = {"token_dropout": 0.0, "head_dropout": 0.0, "batch_size": 600, "max_epochs": 20}
    settings = {**TINY, **quiet, "random_state": 0}
    y = y.assign(entry=entry)
    there, here = (
        SurvTRACE(**settings, device=device).fit(X, y).predict_cumulative_incidence(X, TIMES)
        for device in ("cuda", "cpu")
    )
    np.testing.assert_allclose(there, here, atol=2e-3)


def test_cutting_rows_changes_a_fit_there_by_rounding_alone(cohort, cut):
    quiet = ("token_dropout", "head_dropout", "mortality_weight", "stay_weight", "unknown_steps")
    settings = {**TINY, **dict.fromkeys(quiet, 0), "batch_size": 10_000, "max_epochs": 20}
    X, y = cohort
    found, expected = (
        SurvTRACE(**settings, device="cuda", random_state=0)
        .fit(*table)
        .predict_cumulative_incidence(X, TIMES)
        for table in (cut(X, y), (X, y))
    )
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_answers_are_the_same_on_both_and_survive_saving(on_cuda, cohort, tmp_path):
    X = cohort[0]
    on_cuda.save(tmp_path / "est")
    here = load(tmp_path / "est").set_params(device="cpu")
    for ask in (
        lambda est: est.predict_cumulative_incidence(X, TIMES),
        lambda est: est.predict_survival_function(X, TIMES, conditional_after=2.0),
        lambda est: est.predict_cumulative_hazard_function(X[:20], TIMES),
        lambda est: est.predict_rmst(X, 60.0),
        lambda est: est.attention(X[:20]),
    ):
        np.testing.assert_allclose(ask(on_cuda), ask(here), rtol=1e-3, atol=1e-5)
    on_cuda.set_params(device="cuda")


def test_a_killed_fit_goes_on_there(cohort, tmp_path):
    settings = {**TINY, "device": "cuda", "random_state": 0, "checkpoint_dir": tmp_path / "state"}
    SurvTRACE(**{**settings, "max_epochs": 2}).fit(*cohort)
    resumed = SurvTRACE(**settings).fit(*cohort)
    whole = SurvTRACE(**{**settings, "checkpoint_dir": None}).fit(*cohort)
    X = cohort[0]
    np.testing.assert_allclose(resumed.predict(X), whole.predict(X), atol=1e-3)


def test_weighted_training_is_recalibrated_there(cohort):
    est = SurvTRACE(**TINY, ips="events", device="cuda", random_state=0).fit(*cohort)
    assert (est.network_.recalibration_factor != 1).all()


def network_and_cohort(width, hidden, n_heads, n_tokens, head_depth):
    """A network of two members on the GPU, 200 subjects, and 150 that each member sees."""
    shape = Shape(
        n_members=2,
        n_rows=4 * n_tokens,
        n_tokens=n_tokens,
        n_causes=2,
        n_intervals=5,
        silent_rows=(0,),
        width=width,
        depth=2,
        n_heads=n_heads,
        hidden=hidden,
        head_depth=head_depth,
        token_bias=True,
        proportional=3.0,
        dropout=0.0,
        attention_dropout=0.0,
        token_dropout=0.1,
        head_dropout=0.2,
    )
    torch.manual_seed(0)
    network, n, cuda = Network(shape), 200, torch.device("cuda")
    network.initialise([0, 1])
    cohort = Batch(
        rows=torch.randint(0, shape.n_rows, (n, n_tokens), dtype=torch.int32),
        values=torch.randn(n, n_tokens),
        interval=torch.randint(0, shape.n_intervals, (n,)),
        fraction=torch.rand(n),
        event=torch.randint(0, shape.n_causes + 1, (n,)),
        stay=torch.randn(n),
        weight=torch.rand(n),
        ips=torch.rand(n, shape.n_causes),
        **no_entry(n),
    ).to(cuda)
    return network.to(cuda), cohort, torch.randint(0, n, (2, 150), device=cuda)


@pytest.fixture(params=[(16, 16, 2, 18, 2), (32, 32, 4, 41, 1)], ids=str)
def small(request, enter_late):
    """Half of the subjects enter late."""
    network, cohort, subjects = network_and_cohort(*request.param)
    cohort = enter_late(cohort.to(torch.device("cpu"))).to(subjects.device)
    return network, cohort, subjects


def test_gradients_are_those_of_the_plain_form(small):
    """To the ten bits of a tensor core."""
    network, cohort, subjects = small
    assert reasons_for_plain(network.device, network.shape)["gradient"] is None
    flat_parameters = gather_parameters(network)
    weight = torch.tensor([1.0, 0.5, 0.2], device=network.device)
    network.train()
    found = []
    for context in (ops.plain("update"), ops.plain()):
        out = torch.full_like(flat_parameters, torch.nan).detach()
        network.seed_dropout(0)
        with context:
            losses = ops.gradient(network, cohort, subjects, weight, out)
        found.append((losses, out))
    (losses, ours), (expected_losses, theirs) = found
    torch.testing.assert_close(losses, expected_losses, rtol=2e-3, atol=1e-3)
    assert (ours - theirs).norm() < 0.02 * theirs.norm()


def test_losses_and_logits_are_those_of_the_plain_form(small):
    """To rounding: prediction does not round its factors."""
    network, cohort, subjects = small
    network.eval()
    rows, values = cohort.rows.unsqueeze(0), cohort.values.unsqueeze(0)
    loss, logits = (
        ops.survival_loss(network, cohort, subjects),
        ops.cause_logits(network, rows, values),
    )
    with ops.plain():
        expected_loss = ops.survival_loss(network, cohort, subjects)
        expected = ops.cause_logits(network, rows, values)
    torch.testing.assert_close(loss, expected_loss, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e37])
def test_what_is_no_number_harms_no_other_subject(bad):
    network, cohort, _ = network_and_cohort(16, 16, 2, 18, 2)
    rows, values = cohort.rows.unsqueeze(0), cohort.values.unsqueeze(0)
    expected = ops.cause_logits(network.eval(), rows, values)
    values[0, 4, 1] = bad
    logits = ops.cause_logits(network, rows, values)
    others = [subject for subject in range(200) if subject != 4]
    assert torch.equal(logits[:, others], expected[:, others])
    if bad != 1e37:
        assert not torch.isfinite(logits[:, 4]).all()


def test_kernels_are_compiled_before_they_are_needed():
    """What `prepare` compiles is what the operations run, whatever the number of subjects."""
    from survtrace.ops import cuda
    from survtrace.ops.cuda import encoder, heads, products

    network, cohort, subjects = network_and_cohort(16, 16, 2, 18, 2)
    kernels = [
        encoder.encode_kernel,
        encoder.encode_backward_kernel,
        heads.heads_kernel,
        products.products_kernel,
        products.sums_kernel,
    ]
    assert cuda.why_not(network.shape, network.device) is None
    compiled = [variants(kernel) for kernel in kernels]
    out = torch.cat([p.detach().flatten(1) for p in network.parameters()], dim=1)
    for n in (150, 64, 1):
        network.train()
        network.seed_dropout(0)
        weight = torch.ones(3, device=network.device)
        ops.gradient(network, cohort, subjects[:, :n], weight, out)
        network.eval()
        ops.survival_loss(network, cohort, subjects[:, :n])
        ops.cause_logits(network, cohort.rows[None, :n], cohort.values[None, :n])
    assert [variants(kernel) for kernel in kernels] == compiled


def variants(kernel):
    """How many forms of a kernel were compiled in this process."""
    return sum(len(cache[0]) for cache in kernel.device_caches.values())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_in_its_plain_form_trains_the_same(cohort, operation):
    with ops.plain(operation):
        plain = losses(cohort)
    np.testing.assert_allclose(losses(cohort), plain, rtol=5e-3)


def losses(cohort, **settings):
    est = SurvTRACE(**{**TINY, "batch_size": 64, **settings}, device="cuda", random_state=0)
    return est.fit(*cohort).history_["validation_loss"].to_numpy()


def test_recorded_steps_are_the_steps(cohort, monkeypatch):
    """Several in one graph, and those left over one by one."""
    monkeypatch.setattr(step, "N_TOGETHER", 3)
    recorded = losses(cohort)
    monkeypatch.setattr(step, "N_WARM", 10**9)
    np.testing.assert_allclose(recorded, losses(cohort), rtol=1e-3)


def test_a_step_that_cannot_be_recorded_is_taken_as_it_is(cohort, monkeypatch, caplog):
    recorded = losses(cohort)

    def refuse(*arguments):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "graph", refuse)
    with caplog.at_level("INFO", logger="survtrace"):
        np.testing.assert_allclose(recorded, losses(cohort), rtol=1e-3)
    assert "could not be recorded (operation not permitted" in caplog.text


def test_members_that_stop_leave_and_the_others_go_on(cohort):
    hasty = {"max_epochs": 40, "lr": 0.02, "patience": 2}
    est = SurvTRACE(**{**TINY, **hasty}, device="cuda", random_state=0).fit(*cohort)
    assert est.history_.groupby("member")["epoch"].max().nunique() > 1
    assert np.isfinite(est.predict(cohort[0])).all()


def test_a_file_is_learned_from_there(cohort, tmp_path):
    pytest.importorskip("pyarrow")
    X, y = cohort
    X.assign(event=y["event"], duration=y["duration"]).to_parquet(tmp_path / "cohort.parquet")
    est = SurvTRACE(**TINY, device="cuda", random_state=0)
    est.fit(tmp_path / "cohort.parquet", {"event": "event", "duration": "duration"})
    assert np.isfinite(est.predict(X)).all()


def test_a_subject_with_about_the_largest_number_allowed_spoils_no_other_answer(on_cuda, cohort):
    X = cohort[0][:40].copy()
    expected = on_cuda.predict_cumulative_incidence(X, TIMES)
    X.loc[X.index[3], "age"] = 0.9 * FARTHEST * cohort[0]["age"].std()
    with pytest.warns(DataWarning, match="age lies outside"):
        got = on_cuda.predict_cumulative_incidence(X, TIMES)
    others = [row for row in range(40) if row != 3]
    np.testing.assert_allclose(got[others], expected[others], rtol=1e-3, atol=1e-5)
