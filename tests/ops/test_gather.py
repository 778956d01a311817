import torch

from survtrace import ops
from survtrace.batch import Batch


def test_every_column_is_taken(cuda_kernels):
    cohort = Batch(
        rows=torch.randint(0, 9, (50, 5), dtype=torch.int32),
        values=torch.randn(50, 5),
        interval=torch.randint(0, 9, (50,)),
        fraction=torch.randn(50),
        event=torch.randint(0, 9, (50,)),
        stay=torch.randn(50),
        weight=torch.randn(50),
        ips=torch.randn(50, 1),
    )
    subjects = torch.randint(0, 50, (2, 41))
    with ops.plain():
        expected = ops.gather(cohort, subjects)
    for taken, column in zip(cuda_kernels.gather(cohort, subjects), expected, strict=True):
        assert torch.equal(taken, column)
        assert taken.dtype == column.dtype
