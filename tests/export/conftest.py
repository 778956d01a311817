"""Tiny estimators of all kinds, and a client that knows nothing but the file and its schema."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from survtrace import Surv, SurvTRACE


class Client:
    """An ONNX file, asked about raw rows by the schema in its metadata."""

    def __init__(self, path):
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.schema = json.loads(metadata["schema"])
        self.names = [output.name for output in self.session.get_outputs()]

    def inputs(self, X):
        """The inputs of the covariates: a number or a code for each."""
        columns = {"numbers": [], "codes": []}
        for name, described in self.schema["properties"].items():
            ours, values = described["x-survtrace"], list(X[name])
            if ours["input"] == "numbers":
                column = [np.nan if pd.isna(value) else value for value in values]
            else:
                codes = ours["codes"]
                column = [-1 if pd.isna(text) else codes.get(str(text), -2) for text in values]
            columns[ours["input"]].append(column)
        kinds = {"numbers": np.float64, "codes": np.int64}
        return {key: np.array(some, kinds[key]).T for key, some in columns.items() if some}

    def ask(self, X, times, after=0.0):
        """All outputs by name; X is a frame or a dict of inputs."""
        inputs = dict(X) if isinstance(X, dict) else self.inputs(X)
        inputs["times"] = np.atleast_2d(np.asarray(times, dtype=np.float64))
        inputs["after"] = np.atleast_1d(np.asarray(after, dtype=np.float64))
        return dict(zip(self.names, self.session.run(self.names, inputs), strict=True))


@pytest.fixture(scope="session")
def open_client():
    return Client


@pytest.fixture(scope="session")
def fitted(three_causes, one_cause, tiny):
    """Estimators by name, each with the table it learned from.

    Among them are one and more of members, layers, intervals of time, steps of a head and kinds of
    covariates, with and without a late start, an update, and what intervals of curves need.
    """
    X, y = three_causes
    numbers, (X_one, y_one) = X[["age", "size"]], one_cause
    with_intervals = {**tiny, "intervals": True, "max_epochs": 1}
    by_age = Surv.from_arrays(y["event"], X["age"] + y["duration"], entry=X["age"])
    by_age_settings = {"mortality_weight": 0.0, "stay_weight": 0.0, "depth": 2, "token_bias": False}
    categories = X_one[["sex", "stage"]]
    updated = SurvTRACE(**tiny).fit(categories, y_one).update(categories, y_one, how="slope")
    return {
        "three causes": (SurvTRACE(**{**with_intervals, "head_depth": 2}).fit(X, y), X),
        "one cause": (SurvTRACE(**{**with_intervals, "n_members": 1}).fit(X_one, y_one), X_one),
        "no attention": (SurvTRACE(**{**tiny, "depth": 0, "n_intervals": 1}).fit(X, y), X),
        "by age": (SurvTRACE(**{**tiny, **by_age_settings}).fit(numbers, by_age), numbers),
        "updated": (updated, categories),
    }
