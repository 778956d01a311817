"""Read tables by pyarrow: a Parquet file, all those of a folder, or a Feather file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from survtrace.errors import DataError
from survtrace.tables.covariates.covariate import require_distinct_names


def parquet_files(path: Path) -> list[Path]:
    """List the file itself, or the files of a folder and its subfolders, but for hidden ones.

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
        and not file.is_dir()
    ]
    if not files:
        raise DataError(
            f"{path} is a folder without files that end in .parquet. Pass the path of a table."
        )
    if odd := [file for file in files if not file.is_file()]:
        raise DataError(
            f"{odd[0]} is a pipe, a device or a link to nothing, and no Parquet file. Take it away."
        )
    return sorted(files, key=lambda file: file.relative_to(path).parts)


def is_parquet(path: Path) -> bool:
    """Check whether a path leads to a Parquet file, or to a folder of them."""
    return path.suffix.lower() == ".parquet" or path.is_dir()


def parquet_columns(path: Path) -> list[str]:
    """List the columns by name, without those in which pandas keeps the index of a frame."""
    schema = parquet_schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def count_parquet_rows(path: Path) -> int:
    """Count the rows of the files together; only their ends are read."""
    from pyarrow import parquet

    return sum(int(parquet.read_metadata(file).num_rows) for file in parquet_files(path))


def parquet_schema(path: Path) -> Any:
    """Read names and types of the columns that every file has, in the widest type of each."""
    import pyarrow
    from pyarrow import parquet

    files = parquet_files(path)
    schemas = [parquet.read_schema(file) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        require_distinct_names(schema.names, file.name, "schema")
    if all(schema.equals(schemas[0]) for schema in schemas):
        return schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        differing = set(schema.names) ^ set(schemas[0].names)
        if differing:
            raise DataError(
                f"all files of a table must have the same columns; {file.name} and {files[0].name} "
                f"differ in {sorted(differing)}. Write them anew."
            )
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
    """Read some columns as Arrow tables of exactly ``n_rows`` rows, but for the last.

    Where one chunk ends does not depend on how the table is cut into files and row groups. Of a
    ``span`` of chunks, by number, only the row groups that they lie in are read.
    """
    import pyarrow

    whole = parquet_schema(path)
    schema = pyarrow.schema([whole.field(name) for name in columns])
    first, n_chunks = (0, None) if span is None else (span.start, len(span))
    yield from islice(_cut(_batches(path, schema, n_rows, first * n_rows), n_rows), n_chunks)


def arrow_schema(path: Path) -> Any:
    """Read names and types of the columns of Parquet files or a Feather file."""
    import pyarrow

    if is_parquet(path):
        return parquet_schema(path)
    with pyarrow.memory_map(str(path)) as source:
        return pyarrow.ipc.open_file(source).schema


def arrow_chunks(path: Path, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
    """Read some columns of Parquet files or a Feather file as tables of at most ``n_rows`` rows."""
    import pyarrow

    if is_parquet(path):
        yield from parquet_chunks(path, columns, n_rows)
        return
    with pyarrow.memory_map(str(path)) as source:
        file = pyarrow.ipc.open_file(source)
        for number in range(file.num_record_batches):
            table = pyarrow.Table.from_batches([file.get_batch(number)]).select(columns)
            for first in range(0, len(table), n_rows):
                yield table.slice(first, n_rows)


def arrow_writer(path: Path, suffix: str, schema: Any) -> Any:
    """Open a Parquet or Feather file, by the suffix of its final name, to write tables to."""
    import pyarrow
    from pyarrow import parquet

    to_file = parquet.ParquetWriter if suffix == ".parquet" else pyarrow.ipc.new_file
    return to_file(str(path), schema)


def _cut(batches: Iterator[Any], n_rows: int) -> Iterator[Any]:
    """Cut the same rows into tables of one size."""
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
    """Read one file after the other in small batches: whole row groups may not fit in memory."""
    import pyarrow
    from pyarrow import parquet

    to_skip = first_row
    for file in parquet_files(path):
        with parquet.ParquetFile(file, buffer_size=1 << 20) as opened:
            sizes = [opened.metadata.row_group(g).num_rows for g in range(opened.num_row_groups)]
            ends = np.cumsum([0, *sizes])
            first = int(np.searchsorted(ends[1:], to_skip, side="right"))
            groups, to_skip = list(range(first, len(sizes))), to_skip - int(ends[first])
            for batch in opened.iter_batches(
                n_rows, row_groups=groups, columns=schema.names, use_threads=False
            ):
                table = pyarrow.Table.from_batches([batch.slice(to_skip)]).select(schema.names)
                to_skip = max(0, to_skip - len(batch))
                yield table if table.schema.equals(schema) else table.cast(schema)


def _without_dictionaries(schema: Any) -> Any:
    """Replace dictionary types, which may differ between files, by those of their values."""
    import pyarrow

    fields = [
        field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return pyarrow.schema(fields, metadata=schema.metadata)
