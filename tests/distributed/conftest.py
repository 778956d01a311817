"""A cohort in files, for the workers of a cluster to share out."""

import pytest


@pytest.fixture(scope="session")
def files(three_causes, tmp_path_factory):
    """A folder of three Parquet files that hold a cohort of 240, with an identifier."""
    X, y = three_causes
    folder = tmp_path_factory.mktemp("cohort")
    who = [f"{row:03d}" for row in range(len(X))]
    table = X.assign(cause=y["event"], months=y["duration"], who=who)
    for first, last in ((0, 100), (100, 130), (130, 240)):
        table[first:last].to_parquet(folder / f"{first:03d}.parquet", row_group_size=45)
    return folder
