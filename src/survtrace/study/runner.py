"""Run every job once: killed at any moment and started again, it ends with the same tables."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console
from rich.progress import Progress
from threadpoolctl import threadpool_limits

from survtrace.errors import DataWarning
from survtrace.files import replacing
from survtrace.study.protocol import Task, load_task
from survtrace.study.scoring import score_method

Method = Callable[..., Any]
Settings = Mapping[str, Mapping[str, Mapping[str, Any]]]


class Job(NamedTuple):
    """A method on a split of a data set; tables show the name of the data up to a colon."""

    data: str
    method: str
    split: int

    @property
    def shown_data(self) -> str:
        """What tables call the data."""
        return self.data.partition(":")[0]

    @property
    def file(self) -> str:
        """Where its scores are kept."""
        plain = "".join(c if c.isalnum() else "_" for c in f"{self.data}-{self.method}")
        return f"{plain}-{self.split}.json"


def run_jobs(
    jobs: Iterable[Job],
    methods: Mapping[str, Method],
    folder: Path,
    *,
    settings: Settings | None = None,
    load: Callable[[str], Task] = load_task,
    n_processes: int = 1,
) -> pd.DataFrame:
    """Run the jobs whose scores are not in ``folder`` yet; returns all scores in the jobs' order.

    ``methods`` maps a name to a function of a seed and settings that makes a fresh estimator,
    ``settings`` holds those of a data set and method, ``load`` finds the data set of a job. Each
    job writes one file, whole or not at all; one of other settings is run again. Seconds are
    kept apart (`timings.csv`), for they never repeat.
    """
    jobs, files = list(jobs), folder / "jobs"
    files.mkdir(parents=True, exist_ok=True)
    waiting = []
    for job in jobs:
        chosen = dict((settings or {}).get(job.data, {}).get(job.method, {}))
        file = files / job.file
        if _settings_of(file) != chosen:
            waiting.append((job, methods[job.method], chosen, load, files))
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("jobs", total=len(jobs), completed=len(jobs) - len(waiting))
        for job in _each_done(waiting, n_processes):
            progress.update(task, advance=1, description=f"{job.shown_data} {job.method}")
    scores, seconds = _collect(jobs, files)
    with replacing(folder / "scores.csv") as part:
        scores.to_csv(part, index=False, float_format="%.6f")
    with replacing(folder / "timings.csv") as part:
        seconds.to_csv(part, index=False, float_format="%.3f")
    return scores


def _settings_of(file: Path) -> Any:
    """Read the settings of a job that was run; None where it was not, or its file is damaged."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return content["settings"] if {"scores", "seconds"} <= set(content) else None
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _each_done(waiting: list[tuple[Any, ...]], n_processes: int) -> Iterator[Job]:
    """Call `_run` with each of the arguments, here or in processes; the jobs as they end."""
    if n_processes == 1:
        for arguments in waiting:
            yield _run(*arguments)
        return
    with ProcessPoolExecutor(n_processes, initializer=_begin_process) as pool:
        try:
            for done in as_completed([pool.submit(_run, *arguments) for arguments in waiting]):
                yield done.result()
        except BaseException:  # an error, Ctrl-C or SIGTERM: what runs ends here, not in hours
            processes = list(pool._processes.values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            raise


def _begin_process() -> None:
    """Keep processes out of each other's way: torch, BLAS and OpenMP take one thread each.

    The limits are those of libraries that are loaded; those that a baseline loads later, such as
    the trees of scikit-learn, read the variable. Ctrl-C reaches all processes of a terminal; the
    first one tells the others to end.
    """
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    threadpool_limits(1)


def _run(
    job: Job, method: Method, settings: dict[str, Any], load: Callable[[str], Task], files: Path
) -> Job:
    task = load(job.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        est = method(job.split, **settings)
        scores, seconds = score_method(est, task, task.splits[job.split])
    content = {"settings": settings, "scores": scores.to_dict(orient="records"), "seconds": seconds}
    if hasattr(est, "ridges_"):
        content["ridges"] = dict(zip(map(str, est.causes_), est.ridges_, strict=True))
    with replacing(files / job.file) as part:
        part.write_text(json.dumps(content))
    return job


def _collect(jobs: list[Job], files: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    scores, seconds = [], []
    for job in jobs:
        content = json.loads((files / job.file).read_text())
        columns = {**job._asdict(), "data": job.shown_data}
        scores += [{**columns, **row} for row in content["scores"]]
        seconds.append({**columns, **content["seconds"]})
    return pd.DataFrame(scores), pd.DataFrame(seconds)
