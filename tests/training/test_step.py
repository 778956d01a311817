"""Recorded steps are the steps: here a stand-in for CUDA's graphs replays them on the CPU."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from survtrace.batch import Batch, no_entry
from survtrace.training import step
from survtrace.training.step import GraphedStep, Step

N_SUBJECTS, N_MEMBERS, BATCH_SIZE = 12, 2, 4


class Operations(TorchDispatchMode):
    """Writes down the operations of a context, and does them on the same tensors when replayed."""

    def __init__(self):
        super().__init__()
        self.calls, self.changed, self.generators, self.n_replays = [], [], [], 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation._schema.is_mutable:
            self.changed.append((args[0], args[0].clone()))
        result = operation(*args, **(kwargs or {}))
        self.calls.append((operation, args, kwargs or {}, result))
        return result

    def register_generator_state(self, generator):
        self.generators.append(generator)

    def replay(self):
        self.n_replays += 1
        for operation, args, kwargs, result in self.calls:
            again = operation(*args, **kwargs)
            if isinstance(result, torch.Tensor):
                result.copy_(again)


class Sums(Step):
    """A step that learns the sum of the fractions it has seen, and tells it as its loss."""

    def __init__(self, generator=None):
        self.seen = torch.zeros(N_MEMBERS)
        self.state = SimpleNamespace(network=SimpleNamespace(generator=generator))
        self.n_launched = 0

    def __call__(self, cohort, subjects, task_weight):
        self.n_launched += 1
        self.seen += cohort.fraction[subjects].sum(1)
        return task_weight.unsqueeze(1) * self.seen


@pytest.fixture
def graphs(monkeypatch):
    """Every graph that is made, in the order in which they are."""
    made = []

    def make():
        made.append(Operations())
        return made[-1]

    @contextmanager
    def recorded(graph):
        with graph:
            yield
        for tensor, before in reversed(graph.changed):  # as on a GPU, nothing has happened yet
            tensor.copy_(before)

    monkeypatch.setattr(torch.cuda, "CUDAGraph", make)
    monkeypatch.setattr(torch.cuda, "graph", recorded)
    monkeypatch.setattr(step, "side_stream", nullcontext)
    monkeypatch.setattr(step, "N_TOGETHER", 3)
    return made


def chunk(seed, n_steps, size=BATCH_SIZE):
    generator = torch.Generator().manual_seed(seed)
    cohort = Batch(
        rows=torch.zeros(N_SUBJECTS, 1, dtype=torch.int32),
        values=torch.zeros(N_SUBJECTS, 1),
        interval=torch.zeros(N_SUBJECTS, dtype=torch.int64),
        fraction=torch.rand(N_SUBJECTS, generator=generator),
        event=torch.zeros(N_SUBJECTS, dtype=torch.int64),
        stay=torch.zeros(N_SUBJECTS),
        weight=torch.ones(N_SUBJECTS),
        ips=torch.ones(N_SUBJECTS, 1),
        **no_entry(N_SUBJECTS),
    )
    shape = (n_steps, N_MEMBERS, size)
    return cohort, torch.randint(0, N_SUBJECTS, shape, generator=generator)


def take_all(taken, cohort, order, weight):
    losses = torch.full((len(order), len(weight), N_MEMBERS), torch.nan)
    k = 0
    while k < len(order):
        k += taken.take(cohort, order[k:], weight, losses[k:])
    return losses


def test_recorded_steps_of_several_chunks_are_the_steps(graphs):
    """Subjects of another chunk, and other weights of tasks, are copied to where a graph looks."""
    one_by_one, recorded = Sums(), GraphedStep(Sums())
    for number, n_steps in enumerate((8, 7, 7)):
        weight = torch.tensor([1.0, 0.5 * number])
        expected = take_all(one_by_one, *chunk(number, n_steps), weight)
        torch.testing.assert_close(take_all(recorded, *chunk(number, n_steps), weight), expected)


def test_some_steps_are_taken_before_the_first_is_recorded_and_all_others_are_replayed(graphs):
    taken = GraphedStep(Sums(generator := torch.Generator()))
    weight = torch.ones(1)
    take_all(taken, *chunk(0, 3), weight)
    assert (len(graphs), taken.step.n_launched) == (0, 3)
    take_all(taken, *chunk(0, 7), weight)
    assert [graph.n_replays for graph in graphs] == [2, 1], "three steps twice, and one"
    assert taken.step.n_launched == 3 + 3 + 1, "recording launches each of its steps once"
    assert [graph.generators for graph in graphs] == [[generator], [generator]]


def test_a_batch_of_another_size_is_taken_as_it_is(graphs):
    one_by_one, recorded = Sums(), GraphedStep(Sums())
    for size in (BATCH_SIZE, BATCH_SIZE - 1):
        parts = chunk(0, 7, size)
        expected = take_all(one_by_one, *parts, torch.ones(1))
        torch.testing.assert_close(take_all(recorded, *parts, torch.ones(1)), expected)
    assert [graph.n_replays for graph in graphs] == [1, 1]


def test_without_dropout_there_is_no_generator_to_record(graphs):
    take_all(GraphedStep(Sums()), *chunk(0, 4), torch.ones(1))
    assert [graph.generators for graph in graphs] == [[]]


def test_a_side_stream_waits_for_the_current_one_and_is_waited_for(monkeypatch):
    said = []

    class Stream:
        def __init__(self, name="side"):
            self.name = name

        def wait_stream(self, other):
            said.append(f"{self.name} waits for {other.name}")

    @contextmanager
    def entered(stream):
        said.append(f"{stream.name} begins")
        yield
        said.append(f"{stream.name} ends")

    monkeypatch.setattr(torch.cuda, "current_stream", lambda: Stream("current"))
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", entered)
    with step.side_stream():
        said.append("steps")
    assert said == [
        "side waits for current",
        "side begins",
        "steps",
        "side ends",
        "current waits for side",
    ]
