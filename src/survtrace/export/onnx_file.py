"""Write a fitted estimator as an ONNX file, with a JSON Schema of its inputs beside it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from survtrace import __version__
from survtrace.errors import SettingError, require
from survtrace.export.graph import Graph
from survtrace.export.input_schema import input_schema
from survtrace.export.output_nodes import declare_outputs
from survtrace.export.parameters import Parameters, read_parameters
from survtrace.export.verification import verify
from survtrace.files import replacing, require_apart
from survtrace.inference.interval import require_level
from survtrace.portable import PortableSurvTRACE, load
from survtrace.rules import read_path

if TYPE_CHECKING:
    from survtrace.estimator import SurvTRACE

DOC = (
    "Survival and cumulative incidences of each subject at given times, predicted by a SurvTRACE "
    "network. The metadata 'schema' is a JSON Schema of one patient that says which covariate is "
    "which column of the inputs, and what the outputs are."
)


@dataclass(frozen=True)
class ExportedFile:
    """What was written, and how it was verified.

    Attributes
    ----------
    path, schema_path
        The ONNX file and the JSON Schema of its inputs.
    level
        That of the intervals; None where the file has none.
    verified_by, largest_difference
        What ran the file on random subjects, and how far its outputs were from the model's.
    """

    path: Path
    schema_path: Path
    level: float | None
    verified_by: str
    largest_difference: float


def export_onnx(
    model: SurvTRACE | str | Path,
    path: str | Path,
    *,
    schema_path: str | Path | None = None,
    level: float | None = 0.95,
) -> ExportedFile:
    """Write an ONNX file that computes curves from raw numbers and category codes.

    The file has the inputs ``numbers`` (subject, numerical covariate; float64, NaN if missing),
    ``codes`` (subject, categorical covariate; int64, -1 if missing, -2 if not seen in fit),
    ``times`` (1 or subject, time), and ``after`` (1 or subject), until when subjects are known to
    be event-free, 0 if that is not asked. Its outputs are ``survival`` (subject, time) and
    ``incidence`` (subject, cause, time), each also with ``_std``, between members, and ``_low``
    and ``_high``, the ends of its interval. They are those of the estimator, to rounding of
    float32. Both files appear only when the file has been run and gives the model's numbers.

    Parameters
    ----------
    model
        A fitted estimator, or the folder of a saved one. torch is not needed for a folder.
    path
        The file to write; what is there is replaced.
    schema_path
        The JSON Schema to write; by default ``model.schema.json`` beside ``model.onnx``.
    level
        That of the intervals; None for a file without them. An estimator that has not learned
        intervals gives a file without them, too.

    Examples
    --------
    >>> import tempfile
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, intervals=False, verbose=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = export_onnx(est, f"{folder}/model.onnx")
    >>> written.schema_path.name, written.largest_difference < 1e-6
    ('model.schema.json', True)
    """
    require("onnx", "onnx", "ONNX files need")
    path = read_path("path", path)
    schema_path = (
        schema_beside(path) if schema_path is None else read_path("schema_path", schema_path)
    )
    if os.path.realpath(schema_path) == os.path.realpath(path):
        raise SettingError(f"file and schema must be two files; got {path} for both.")
    if level is not None:
        require_level(level)
        level = float(level)
    with _folder(model) as folder:
        light = load(folder)
        for out in (path, schema_path):
            require_apart(out, folder)
        network = read_parameters(folder, light.encoding_)
    level = None if light.interval_ is None else level
    content, schema = build_file(light, network, level)
    runner, largest = verify(content, light, level)
    with replacing(schema_path) as schema_part, replacing(path) as part:
        part.write_bytes(content)
        schema_part.write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")
    return ExportedFile(path, schema_path, level, runner, largest)


def schema_beside(path: Path) -> Path:
    """Name the schema that is written beside a file.

    Examples
    --------
    >>> schema_beside(Path("models/first.onnx")).as_posix()
    'models/first.schema.json'
    """
    return path.with_suffix(".schema.json")


def build_file(
    model: PortableSurvTRACE, network: Parameters, level: float | None
) -> tuple[bytes, dict[str, Any]]:
    """Make the content of the file, checked against the rules of ONNX, and its schema."""
    graph = Graph()
    declare_outputs(graph, model, network, level)
    schema = input_schema(model, graph, level, network.n_members)
    metadata = {"schema": json.dumps(schema), "survtrace_version": __version__}
    built = graph.model("survtrace", DOC, __version__, metadata)
    graph.onnx.checker.check_model(built, full_check=True)
    return built.SerializeToString(), schema


@contextmanager
def _folder(model: SurvTRACE | str | Path) -> Iterator[Path]:
    """Give the folder of a saved estimator; a fitted one is saved to a temporary folder."""
    if not hasattr(model, "save"):
        yield read_path("model", model)
        return
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        yield Path(folder) / "model"
