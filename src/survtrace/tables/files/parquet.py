"""A table in one Parquet file, or in all those of a folder in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.errors import DataError


def parquet_files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder and its subfolders; hidden ones are not looked at.

    Examples
    --------
    >>> [file.name for file in parquet_files(Path("cohort.parquet"))]
    ['cohort.parquet']
    """
    if not path.is_dir():
        return [path]
    files = [
        file
        for file in path.rglob("*.parquet")
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    ]
    if not files:
        raise DataError(
            f"{path} is a folder without files that end in .parquet. Pass the path of a table."
        )
    return sorted(files, key=lambda file: file.relative_to(path).parts)


def is_parquet(path: Path) -> bool:
    """Whether a path leads to a Parquet file, or to a folder of them."""
    return path.suffix == ".parquet" or path.is_dir()


def parquet_columns(path: Path) -> list[str]:
    """The columns by name, without those in which pandas keeps the index of a frame."""
    schema = parquet_schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def count_parquet_rows(path: Path) -> int:
    """How many rows the files have together; only their ends are read."""
    from pyarrow import parquet

    return sum(int(parquet.read_metadata(file).num_rows) for file in parquet_files(path))


def parquet_schema(path: Path) -> Any:
    """Names and types of the columns that every file has, in the widest type of each."""
    import pyarrow
    from pyarrow import parquet

    files = parquet_files(path)
    schemas = [parquet.read_schema(file) for file in files]
    if all(schema.equals(schemas[0]) for schema in schemas):
        return schemas[0]
    _require_same_names(files, schemas)
    plain = [_without_dictionaries(schema) for schema in schemas]
    try:
        return pyarrow.unify_schemas(plain, promote_options="permissive")
    except (pyarrow.ArrowTypeError, pyarrow.ArrowInvalid) as error:
        raise DataError(
            f"a column must have one type in all files of {path} ({error}). Write them anew."
        ) from None


def parquet_chunks(
    path: Path, columns: Sequence[str], n_rows: int, span: range | None = None
) -> Iterator[Any]:
    """Some columns as Arrow tables of exactly ``n_rows`` rows, but for the last.

    Where one piece ends does not depend on how the table is cut into files and row groups. Of a
    ``span`` of pieces, by number, only the row groups that they lie in are read.
    """
    import pyarrow

    whole = parquet_schema(path)
    schema = pyarrow.schema([whole.field(name) for name in columns])
    first, n_pieces = (0, None) if span is None else (span.start, len(span))
    yield from islice(_cut(_batches(path, schema, n_rows, first * n_rows), n_rows), n_pieces)


def _cut(batches: Iterator[Any], n_rows: int) -> Iterator[Any]:
    """The same rows in tables of one size."""
    import pyarrow

    waiting: list[Any] = []
    n_waiting = 0
    for batch in batches:
        while n_waiting + len(batch) >= n_rows:
            missing = n_rows - n_waiting
            yield pyarrow.concat_tables([*waiting, batch.slice(0, missing)])
            batch, waiting, n_waiting = batch.slice(missing), [], 0
        if len(batch):
            waiting.append(batch)
            n_waiting += len(batch)
    if waiting:
        yield pyarrow.concat_tables(waiting)


def _batches(path: Path, schema: Any, n_rows: int, first_row: int) -> Iterator[Any]:
    """One file after the other, a little at a time: whole row groups may not fit in memory."""
    import pyarrow
    from pyarrow import parquet

    to_skip = first_row
    for file in parquet_files(path):
        with parquet.ParquetFile(file, buffer_size=1 << 20) as opened:
            groups, to_skip = _groups_behind(opened.metadata, to_skip)
            for batch in opened.iter_batches(
                n_rows, row_groups=groups, columns=schema.names, use_threads=False
            ):
                table = pyarrow.Table.from_batches([batch.slice(to_skip)]).select(schema.names)
                to_skip = max(0, to_skip - len(batch))
                yield table if table.schema.equals(schema) else table.cast(schema)


def _groups_behind(metadata: Any, n_rows: int) -> tuple[list[int], int]:
    """The row groups of a file behind so many rows, and how many rows of the first to skip."""
    ends = np.cumsum([metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)])
    first = int(np.searchsorted(ends, n_rows, side="right"))
    passed = int(ends[first - 1]) if first else 0
    return list(range(first, len(ends))), n_rows - passed


def _without_dictionaries(schema: Any) -> Any:
    """The types of the values, where each file has them in a dictionary of its own."""
    import pyarrow

    fields = [
        field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return pyarrow.schema(fields, metadata=schema.metadata)


def _require_same_names(files: Sequence[Path], schemas: Sequence[Any]) -> None:
    for file, schema in zip(files, schemas, strict=True):
        differing = set(schema.names) ^ set(schemas[0].names)
        if differing:
            raise DataError(
                f"all files of a table must have the same columns; {file.name} and {files[0].name} "
                f"differ in {sorted(differing)}. Write them anew."
            )
