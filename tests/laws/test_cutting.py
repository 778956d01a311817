"""Cutting a subject's row at any times changes neither loss nor gradient, on any device."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from survtrace import SurvTRACE, ops
from survtrace.batch import Batch
from survtrace.cohort.records import Layout
from survtrace.losses.hazard import lived_through
from survtrace.network.assembly import Network, Shape
from survtrace.ops.cpu import operations as cpu
from survtrace.tables.covariates.encoding import Encoded
from survtrace.tables.outcome.outcome import Outcome
from survtrace.tables.outcome.time_grid import StayScale
from survtrace.training.flat_parameters import gather_parameters
from survtrace.training.recalibration import count_events

SHAPE = Shape(
    n_members=2,
    n_rows=9,
    n_tokens=3,
    n_causes=2,
    n_intervals=4,
    silent_rows=(0,),
    width=16,
    depth=1,
    n_heads=2,
    hidden=16,
    head_depth=2,
    token_bias=True,
    proportional=3.0,
    dropout=0.0,
    attention_dropout=0.0,
    token_dropout=0.0,
    head_dropout=0.0,
)
CUTS = np.array([0.0, 1.0, 2.5, 3.0, 7.0])
N_SUBJECTS = 12
N_EXAMPLES = 20 if torch.cuda.is_available() else 1  # interpreted, one takes many seconds
ALL_TASKS, SURVIVAL_ALONE = (1.0, 0.5, 0.25), (1.0, 0.0, 0.0)


class Plain:
    """Loss and gradient in their plain form."""

    device, rounding = torch.device("cpu"), 1e-5

    @staticmethod
    def gradient(*given):
        with ops.plain():
            return ops.gradient(*given)

    @staticmethod
    def survival_loss(*given):
        with ops.plain():
            return ops.survival_loss(*given)


class Processor:
    """Loss and gradient by the kernels of a processor."""

    device, rounding = torch.device("cpu"), 1e-5
    gradient, survival_loss = staticmethod(cpu.gradient), staticmethod(cpu.survival_loss)


@pytest.fixture(scope="module")
def gpu():
    """Loss and gradient by the kernels of a GPU, interpreted where none is seen.

    On a GPU each piece's gradient is rounded to ten bits on its own.
    """
    pytest.importorskip("triton", reason="Triton, which compiles kernels, is not installed")
    from survtrace.ops import cuda
    from survtrace.ops.cuda import launches

    class Gpu:
        seen = torch.cuda.is_available()
        device, rounding = (torch.device("cuda"), 2e-3) if seen else (torch.device("cpu"), 1e-5)
        gradient, survival_loss = staticmethod(cuda.gradient), staticmethod(cuda.survival_loss)

    with pytest.MonkeyPatch.context() as patch:
        if not Gpu.seen:
            patch.setattr(launches, "TRAINING", "tf32")
        yield Gpu


@st.composite
def cohorts(draw, all_late=False):
    """A cohort in which some subjects enter late, and times at which to cut their rows.

    Times may lie on the cuts of the grid and beyond its end, or be next to each other.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numbers = st.one_of(st.sampled_from(CUTS[1:].tolist()), st.floats(0.1, 9.0))
    at = draw(st.lists(numbers, max_size=6, unique=True))
    entry = rng.uniform(0.05, 4.0, N_SUBJECTS)
    entry[(rng.random(N_SUBJECTS) < 0.5) & (not all_late)] = 0.0
    outcome = Outcome(
        duration=entry + rng.exponential(2.0, N_SUBJECTS) + 1e-3,
        event=rng.integers(0, 3, N_SUBJECTS),
        causes=(1, 2),
        entry=entry,
        id=np.arange(N_SUBJECTS),
    )
    encoded = Encoded(
        rng.integers(0, SHAPE.n_rows, (N_SUBJECTS, SHAPE.n_tokens)).astype(np.int32),
        rng.normal(size=(N_SUBJECTS, SHAPE.n_tokens)).astype(np.float32),
    )
    weight, ips = rng.uniform(0.2, 2.0, N_SUBJECTS), rng.uniform(0.2, 2.0, (N_SUBJECTS, 2))
    return outcome, encoded, weight, ips, at


def cut(outcome, times):
    """Cut each row wherever one of the times lies within it; tell the row each piece is of."""
    pieces = []
    for i, (begin, end) in enumerate(zip(outcome.entry, outcome.duration, strict=True)):
        ends = [begin, *sorted(t for t in times if begin < t < end), end]
        pieces += [(i, a, b) for a, b in pairwise(ends)]
    row, entry, duration = (np.array(column) for column in zip(*pieces, strict=True))
    event = np.where(duration == outcome.duration[row], outcome.event[row], 0)
    cut_rows = replace(
        outcome, duration=duration, event=event, entry=entry, id=outcome.id[row], goes_on=None
    )
    return cut_rows, row


def make_batch(outcome, encoded, weight, ips):
    """Rows as a batch, weighted such that its mean is over subjects, however many rows they are."""
    layout = Layout(None, CUTS, 2, StayScale(2.0, 1.5), weight=1.0, has_entry=True)
    weight = weight * len(outcome) / N_SUBJECTS
    columns = layout.columns(encoded, outcome, weight)
    return layout.tensors({**columns, "ips": ips})


def make_network(device):
    network = Network(SHAPE)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0.0, 0.15, generator=generator)
    network.to(device).eval()
    gather_parameters(network)
    return network


def loss_and_gradient(form, batch, task_weight):
    """The losses (part, member), the survival loss alone, and the gradient."""
    network, batch = make_network(form.device), batch.to(form.device)
    everybody = torch.arange(len(batch.event), device=form.device).expand(SHAPE.n_members, -1)
    out = torch.cat([p.detach().flatten(1) for p in network.parameters()], dim=1)
    weight = torch.tensor(task_weight, device=form.device)
    parts = form.gradient(network, batch, everybody.contiguous(), weight, out)
    return parts, form.survival_loss(network, batch, everybody.contiguous()), out


def check(form, cohort, task_weight):
    outcome, encoded, weight, ips, times = cohort
    pieces, row = cut(outcome, times)
    whole = make_batch(outcome, encoded, weight, ips)
    again = make_batch(
        pieces, Encoded(encoded.rows[row], encoded.values[row]), weight[row], ips[row]
    )
    assert_same(form, again, whole, task_weight)


def assert_same(form, batch, other, task_weight):
    """Two batches give the same losses and gradients, to rounding."""
    found = loss_and_gradient(form, batch, task_weight)
    expected = loss_and_gradient(form, other, task_weight)
    for name, a, b in zip(("losses", "survival loss", "gradient"), found, expected, strict=True):
        error = (a - b).norm() / (b.norm() + 1e-3)
        assert error < form.rounding, f"{name}: {error:.1e}"


@pytest.mark.parametrize("form", [Plain, Processor])
@given(cohort=cohorts())
def test_cutting_rows_changes_neither_loss_nor_gradient(form, cohort):
    check(form, cohort, SURVIVAL_ALONE)


@pytest.mark.parametrize("form", [Plain, Processor])
@given(cohort=cohorts(all_late=True))
def test_where_no_row_is_whole_auxiliary_tasks_change_as_little(form, cohort):
    check(form, cohort, ALL_TASKS)


def add_empty_row(batch):
    """Add a row that enters when it leaves and has no weight, as ends a list that is too short."""
    n_rows = len(batch.event)
    longer = Batch(*(column[[*range(n_rows), 0]] for column in batch))
    longer.entry_interval[-1], longer.entry_fraction[-1] = batch.interval[0], batch.fraction[0]
    weight = longer.weight * (n_rows + 1) / n_rows
    weight[-1] = 0.0
    return longer._replace(weight=weight)


@pytest.mark.parametrize("form", [Plain, Processor])
@given(cohort=cohorts())
def test_an_empty_row_adds_nothing(form, cohort):
    batch = make_batch(*cohort[:4])
    assert_same(form, add_empty_row(batch), batch, ALL_TASKS)


@pytest.mark.parametrize("form", [Plain, Processor])
def test_where_all_have_the_same_covariates_hazards_become_events_over_exposure(form):
    """In each interval, with late entries; as near as float32 lets the gradient vanish."""
    rng = np.random.default_rng(7)
    entry = rng.uniform(0.0, 5.0, 300)
    duration = entry + rng.exponential(2.0, 300)
    outcome = Outcome(duration, rng.integers(0, 3, 300), (1, 2), entry=entry)
    same = Encoded(np.ones((300, 3), np.int32), np.ones((300, 3), np.float32))
    batch = make_batch(outcome, same, np.full(300, N_SUBJECTS / 300), np.ones((300, 2)))
    network, everybody = make_network(form.device), torch.arange(300).expand(2, -1).contiguous()
    flat = gather_parameters(network)
    survival_alone = torch.tensor(SURVIVAL_ALONE)

    def loss():
        out = torch.empty_like(flat.data)
        parts = form.gradient(network, batch, everybody, survival_alone, out)
        flat.grad = out
        return parts.sum()

    # The loss has too few digits to search along it at the end: last steps follow the gradient.
    for search in ("strong_wolfe", None):
        torch.optim.LBFGS(
            [flat], max_iter=300, tolerance_grad=1e-7, tolerance_change=0, line_search_fn=search
        ).step(loss)
    ends = batch.entry_interval, batch.entry_fraction, batch.interval, batch.fraction
    lived = lived_through(*ends, SHAPE.n_intervals).sum(0)
    n_events = count_events(batch.interval, batch.event, torch.ones(300), 2, SHAPE.n_intervals)
    logits = network.cause_logits(
        batch.rows[:1].expand(2, 1, -1), batch.values[:1].expand(2, 1, -1)
    )
    hazard = torch.nn.functional.softplus(logits.detach()).squeeze(1)
    torch.testing.assert_close(hazard, (n_events / lived).expand(2, -1, -1), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("late", [False, True])
def test_cutting_rows_does_not_change_a_fit_by_kernels(
    three_causes, tiny, cut, late_entry, late, kernels_run
):
    """Of full batches without dropout; auxiliary tasks know whole rows alone and are left out."""
    quiet = ("token_dropout", "head_dropout", "mortality_weight", "stay_weight", "unknown_steps")
    sizes = {"width": 16, "hidden": 32, "batch_size": 10_000, "max_epochs": 10}
    X, y = three_causes
    y = late_entry(y) if late else y
    fits = [
        SurvTRACE(**{**tiny, **sizes, **dict.fromkeys(quiet, 0)}).fit(*table)
        for table in ((X, y), cut(X, y))
    ]
    assert kernels_run.trained == 20
    found, expected = (est.predict_cumulative_incidence(X, est.time_grid_[1:]) for est in fits)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@settings(max_examples=2 * N_EXAMPLES)
@given(cohort=cohorts())
def test_a_gpu_keeps_the_law(gpu, cohort):
    check(gpu, cohort, SURVIVAL_ALONE)


@settings(max_examples=N_EXAMPLES)
@given(cohort=cohorts(all_late=True))
def test_a_gpu_leaves_rows_that_are_not_whole_out_of_auxiliary_tasks(gpu, cohort):
    check(gpu, cohort, ALL_TASKS)


@settings(max_examples=N_EXAMPLES)
@given(cohort=cohorts())
def test_an_empty_row_adds_nothing_on_a_gpu(gpu, cohort):
    batch = make_batch(*cohort[:4])
    assert_same(gpu, add_empty_row(batch), batch, ALL_TASKS)
