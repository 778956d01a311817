"""Kernels of GPUs give what the plain forms give, to rounding."""

import numpy as np
import pytest
import torch

from survtrace import ops
from survtrace.ops.cuda import launches, operations
from survtrace.training.flat_parameters import hold, release

WEIGHT = torch.tensor([1.0, 0.5, 0.25])
SHAPES = {
    "one cause, heads of one layer, no bias": {"n_causes": 1, "head_depth": 1, "token_bias": False},
    "two causes": {"n_intervals": 5},
    "three causes, one member, wider": {
        "n_causes": 3,
        "n_members": 1,
        "hidden": 32,
        "n_tokens": 9,
        "n_heads": 4,
        "depth": 1,
    },
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def network(request, make_network):
    return make_network(**request.param)


@pytest.fixture
def rounding(monkeypatch, cuda_device):
    """How far gradients may be from the plain form's where factors of products are not rounded.

    In half precision, as in training, some draws could not be told from a fault: where the input of
    a ReLU lies so near zero that rounding takes it across, the gradient jumps, by 12 % in one draw
    of an H200. On a GPU each factor is therefore split in two; interpreted, "tf32" rounds nothing.
    """
    on_gpu = cuda_device.type == "cuda"
    monkeypatch.setattr(launches, "TRAINING", "tf32x3" if on_gpu else "tf32")
    return 1e-4 if on_gpu else 1e-5


@pytest.fixture
def near(cuda_device):
    """How far predictions may be from the plain form's: a GPU sums in another order."""
    return {"rtol": 1e-4 if cuda_device.type == "cuda" else 1e-5, "atol": 1e-5}


def gradients(run, network, cohort, subjects, weight=WEIGHT):
    """The gradient by each parameter, in memory that was not empty before, and the losses."""
    parameters = dict(network.named_parameters())
    n_parameters = sum(parameter[0].numel() for parameter in parameters.values())
    out = torch.full((len(subjects), n_parameters), torch.nan, device=subjects.device)
    if network.training:
        network.seed_dropout(3)
    losses = run(network, cohort, subjects, weight.to(subjects.device), out)
    sizes = [parameter[0].numel() for parameter in parameters.values()]
    found = dict(zip(parameters, out.split(sizes, dim=1), strict=True))
    for name in found:
        if "query_key_value.bias" in name:  # softmax ignores that of keys: rounding noise
            width = network.shape.width
            found[name] = torch.cat([found[name][:, :width], found[name][:, 2 * width :]], dim=1)
    return {**found, "losses": losses}


def plain_gradients(*given):
    with ops.plain():
        return gradients(ops.gradient, *given)


def errors(got, expected):
    """How far each parameter's gradient is from the expected one, relative to its norm."""
    return {
        name: float((got[name] - tensor).norm() / (tensor.norm() + 1e-4))
        for name, tensor in expected.items()
    }


def assert_close(got, expected, largest):
    for name, error in errors(got, expected).items():
        assert error < largest, f"{name}: {error:.1e}"


def test_losses_and_gradients_are_those_of_the_plain_form(
    cuda_kernels, network, draw_subjects, rounding
):
    """With dropout and weights; the last tile is not full."""
    cohort, subjects = draw_subjects(network.shape, 23)
    network.train()
    expected = plain_gradients(network, cohort, subjects)
    assert_close(gradients(cuda_kernels.gradient, network, cohort, subjects), expected, rounding)


def test_the_default_shape_gives_what_the_plain_form_gives(
    cuda_kernels, make_network, draw_subjects, default_shape, rounding, near
):
    network = make_network(**default_shape | {"n_members": 1, "n_tokens": 2})  # interpreted slowly
    cohort, subjects = draw_subjects(network.shape, 3)
    expected = plain_gradients(network.train(), cohort, subjects)
    assert_close(gradients(cuda_kernels.gradient, network, cohort, subjects), expected, rounding)
    batch = cohort.take(subjects)
    with ops.plain():
        logits = ops.cause_logits(network.eval(), batch.rows, batch.values)
    found = cuda_kernels.cause_logits(network, batch.rows, batch.values)
    torch.testing.assert_close(found, logits, **near)


def test_many_subjects_take_several_programs_of_every_kernel(
    cuda_kernels, make_network, draw_subjects, rounding, monkeypatch
):
    monkeypatch.setattr(launches, "N_BACKWARD", 2)
    network = make_network(depth=1, n_members=1).train()
    cohort, subjects = draw_subjects(network.shape, 150)
    expected = plain_gradients(network, cohort, subjects)
    assert_close(gradients(cuda_kernels.gradient, network, cohort, subjects), expected, rounding)


def test_in_half_precision_most_draws_are_near(cuda_kernels, make_network, draw_subjects):
    """The median of five: in one draw of five a ReLU or SELU is taken across zero (`rounding`)."""
    network, found = make_network(n_members=1).train(), []
    for seed in range(5):
        cohort, subjects = draw_subjects(network.shape, 23, seed)
        expected = plain_gradients(network, cohort, subjects)
        found.append(errors(gradients(cuda_kernels.gradient, network, cohort, subjects), expected))
    for name in found[0]:
        assert np.median([error[name] for error in found]) < 1e-2, name


def test_values_too_large_for_half_precision_are_survived(
    cuda_kernels, make_network, draw_subjects
):
    network = make_network(depth=1)
    cohort, subjects = draw_subjects(network.shape, 5)
    cohort.values[subjects[0, 0], 1] = 1e6
    found = gradients(cuda_kernels.gradient, network, cohort, subjects)
    assert all(torch.isfinite(tensor).all() for tensor in found.values())


def test_without_dropout_and_with_survival_alone_nothing_else_is_learned(
    cuda_kernels, make_network, draw_subjects, rounding
):
    network, weight = make_network(depth=1).eval(), torch.tensor([1.0, 0.0, 0.0])
    cohort, subjects = draw_subjects(network.shape, 5)
    expected = plain_gradients(network, cohort, subjects, weight)
    found = gradients(cuda_kernels.gradient, network, cohort, subjects, weight)
    assert_close(found, expected, rounding)
    assert not found["stay.outer.weight"].any()


def test_of_a_shared_batch_each_process_takes_its_part_of_the_random_bits(
    cuda_kernels, make_network, draw_subjects, rounding
):
    network = make_network(depth=1).train()
    network.share_dropout((3, 8, 8))
    cohort, subjects = draw_subjects(network.shape, 5)
    expected = plain_gradients(network, cohort, subjects)
    assert_close(gradients(cuda_kernels.gradient, network, cohort, subjects), expected, rounding)


def test_members_that_are_left_go_on(cuda_kernels, make_network, draw_subjects, rounding):
    network = make_network(n_members=3, depth=1).train()
    flat = torch.cat([p.detach().flatten(1) for p in network.parameters()], dim=1)
    hold(network, flat[1:].clone())
    cohort, subjects = draw_subjects(network.shape, 5)
    expected = plain_gradients(network, cohort, subjects[1:])
    assert_close(
        gradients(cuda_kernels.gradient, network, cohort, subjects[1:]), expected, rounding
    )


def test_the_survival_loss_is_that_of_the_plain_form(cuda_kernels, network, draw_subjects, near):
    cohort, subjects = draw_subjects(network.eval().shape, 23)
    with ops.plain():
        expected = ops.survival_loss(network, cohort, subjects)
    found = cuda_kernels.survival_loss(network, cohort, subjects)
    torch.testing.assert_close(found, expected, **near)


def test_logits_are_those_of_the_plain_form(cuda_kernels, network, draw_subjects, near):
    """Of subjects that members share, or of each member's own; of parameters apart as well."""
    cohort, subjects = draw_subjects(network.eval().shape, 9)
    shared = cohort.rows[:9].unsqueeze(0), cohort.values[:9].unsqueeze(0)
    own = cohort.rows[subjects], cohort.values[subjects]
    for given in (shared, own):
        with ops.plain():
            expected = ops.cause_logits(network, *given)
        torch.testing.assert_close(cuda_kernels.cause_logits(network, *given), expected, **near)
    flat = torch.cat([p.detach().flatten(1) for p in network.parameters()], dim=1)
    release(network, flat)
    logits = cuda_kernels.cause_logits(network, *own)
    torch.testing.assert_close(logits, expected, **near)


def test_more_subjects_than_kernels_can_count_come_in_parts(
    cuda_kernels, make_network, draw_subjects, monkeypatch
):
    network = make_network(n_members=1, depth=1).eval()
    cohort, subjects = draw_subjects(network.shape, 5)
    given = cohort.rows[subjects], cohort.values[subjects]
    whole = cuda_kernels.cause_logits(network, *given)
    monkeypatch.setattr(operations, "LARGEST", 2 * 3 * 16)
    assert torch.equal(cuda_kernels.cause_logits(network, *given), whole)
    with pytest.raises(ValueError, match="at most 2 subjects on a GPU; got 5"):
        gradients(cuda_kernels.gradient, network, cohort, subjects)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e37])
def test_what_is_no_number_harms_no_other_subject(cuda_kernels, make_network, draw_subjects, bad):
    network = make_network(n_members=1).eval()
    cohort, _ = draw_subjects(network.shape, 20)
    rows, values = cohort.rows.unsqueeze(0), cohort.values.unsqueeze(0)
    expected = cuda_kernels.cause_logits(network, rows, values)
    values[0, 4, 1] = bad
    logits = cuda_kernels.cause_logits(network, rows, values)
    others = [subject for subject in range(rows.shape[1]) if subject != 4]
    assert torch.equal(logits[:, others], expected[:, others])
    if bad != 1e37:
        assert not torch.isfinite(logits[0, 4]).all()
