import torch


def test_every_column_is_taken(module):
    columns = [
        torch.randint(0, 9, (50, 5), dtype=torch.int32),
        torch.randn(50, 5),
        torch.randint(0, 9, (50,)),
        torch.randn(50),
        torch.randint(0, 9, (50,)),
        torch.randn(50),
        torch.randn(50),
        torch.randn(50, 1),
    ]
    subjects = torch.randint(0, 50, (2, 41))
    for column, taken in zip(columns, module("gather").take(columns, subjects), strict=True):
        assert torch.equal(taken, column[subjects])
        assert taken.dtype == column.dtype
