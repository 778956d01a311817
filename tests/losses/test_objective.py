import pytest
import torch

from survtrace.batch import Batch, no_entry
from survtrace.losses.objective import Tasks, objective, survival_loss, task_weights
from survtrace.network.assembly import Network, Shape

N_CAUSES, N_INTERVALS, N_TOKENS = 2, 3, 2


def some_cohort(n_subjects, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return Batch(
        rows=torch.randint(0, 5, (n_subjects, N_TOKENS), generator=rng),
        values=torch.randn(n_subjects, N_TOKENS, generator=rng),
        interval=torch.randint(0, N_INTERVALS, (n_subjects,), generator=rng),
        fraction=torch.rand(n_subjects, generator=rng),
        event=torch.randint(0, N_CAUSES + 1, (n_subjects,), generator=rng),
        stay=torch.randn(n_subjects, generator=rng),
        weight=torch.ones(n_subjects),
        ips=torch.rand(n_subjects, N_CAUSES, generator=rng),
        **no_entry(n_subjects),
    )


def some_network(n_members=2):
    shape = Shape(
        n_members=n_members,
        n_rows=5,
        n_tokens=N_TOKENS,
        n_causes=N_CAUSES,
        n_intervals=N_INTERVALS,
        silent_rows=(),
        width=4,
        depth=1,
        n_heads=1,
        hidden=4,
        head_depth=2,
        token_bias=True,
        proportional=3.0,
        dropout=0.0,
        attention_dropout=0.0,
        token_dropout=0.0,
        head_dropout=0.0,
    )
    net = Network(shape)
    net.initialise(list(range(n_members)))
    return net


def parts_of(net, cohort, tasks, epoch=0, subjects=None):
    everyone = torch.arange(len(cohort.event)) if subjects is None else subjects
    batch = cohort.take(everyone.expand(net.shape.n_members, -1))
    return objective(*net(batch.rows, batch.values), batch, task_weights(tasks, epoch))


def test_whole_sample_weights_equal_repeated_rows():
    net, cohort = some_network(), some_cohort(6)
    counts = torch.tensor([1, 2, 3, 1, 2, 1])
    repeated = parts_of(
        net, cohort, Tasks(1.0, 1.0, None), subjects=torch.arange(6).repeat_interleave(counts)
    )
    weight = counts / counts.float().mean()
    weighted = parts_of(net, cohort._replace(weight=weight), Tasks(1.0, 1.0, None))
    torch.testing.assert_close(weighted, repeated)


def test_a_weight_of_zero_takes_a_subject_out():
    net, cohort = some_network(), some_cohort(6)
    weight = torch.tensor([1.2, 1.2, 1.2, 1.2, 1.2, 0.0])
    changed = cohort.event.clone()
    changed[5] = (changed[5] + 1) % 3
    before = parts_of(net, cohort._replace(weight=weight), Tasks(1.0, 1.0, None))
    after = parts_of(net, cohort._replace(weight=weight, event=changed), Tasks(1.0, 1.0, None))
    torch.testing.assert_close(before, after)


def test_a_row_that_is_not_whole_is_left_out_of_auxiliary_tasks_alone():
    net, cohort = some_network(), some_cohort(6)
    changed = cohort._replace(whole=torch.tensor([0.0, 1, 1, 1, 1, 1]))
    without = cohort._replace(weight=changed.whole)
    all_rows, found, left_out = (
        parts_of(net, each, Tasks(1.0, 1.0, None)) for each in (cohort, changed, without)
    )
    torch.testing.assert_close(found[0], all_rows[0])
    torch.testing.assert_close(found[1:], left_out[1:])


def test_parts_are_weighted_and_annealed():
    net, cohort = some_network(), some_cohort(6)
    full = parts_of(net, cohort, Tasks(1.0, 1.0, None))
    half = parts_of(net, cohort, Tasks(2.0, 0.5, 4), epoch=2)
    torch.testing.assert_close(half[0], full[0])
    torch.testing.assert_close(half[1], full[1])
    torch.testing.assert_close(half[2], full[2] / 4)
    assert full.shape == (3, 2)
    assert not parts_of(net, cohort, Tasks(1.0, 1.0, 4), epoch=4)[1:].any()


def test_ips_weights_act_on_each_cause():
    cohort, logits = some_cohort(6), torch.randn(1, 6, N_CAUSES, N_INTERVALS)
    only_first = torch.tensor([1.0, 0.0]).expand(6, 2)
    batch = cohort._replace(ips=only_first).take(torch.arange(6)[None])
    loss = survival_loss(logits, batch)
    logits[:, :, 1] += 5
    torch.testing.assert_close(survival_loss(logits, batch), loss)
    logits[:, :, 0] += 5
    assert not torch.allclose(survival_loss(logits, batch), loss)


@pytest.mark.parametrize(
    ("tasks", "silent"),
    [
        (Tasks(0.0, 0.0, None), ("mortality", "stay")),
        (Tasks(1.0, 0.0, None), ("stay",)),
        (Tasks(0.0, 1.0, None), ("mortality",)),
        (Tasks(1.0, 1.0, 1), ("mortality", "stay")),
    ],
    ids=str,
)
def test_each_auxiliary_task_can_be_switched_off_alone(tasks, silent):
    net, cohort = some_network(), some_cohort(8)
    parts_of(net, cohort, tasks, epoch=1).sum().backward()
    for head in ("mortality", "stay"):
        gradients = [p.grad for p in getattr(net, head).parameters()]
        assert any(g.any() for g in gradients) == (head not in silent)


def test_switched_off_tasks_teach_the_shared_layers_nothing():
    cohort, gradients = some_cohort(8), []
    for change in (0.0, 7.0):
        net = some_network()
        with torch.no_grad():
            for head in (net.mortality, net.stay):
                head.outer.weight += change
        parts_of(net, cohort, Tasks(0.0, 0.0, None)).sum().backward()
        gradients.append(net.representation.align.weight.grad)
    assert torch.equal(*gradients)


def test_the_gradient_of_a_member_comes_from_its_own_loss():
    net, cohort = some_network(2), some_cohort(8)
    parts_of(net, cohort, Tasks(1.0, 1.0, None))[:, 0].sum().backward()
    assert all(not p.grad[1].any() for p in net.parameters())
    assert net.embedding.table.grad[0].any()
