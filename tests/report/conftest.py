"""Two reports to look at: one cause without training rows, three causes with them."""

import pytest

from survtrace import SurvTRACE
from survtrace.report import collect, render

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

ODD_NAMES = {"age": 'age <b>&"years"</b>', "size": "size ($) per $"}


class Report:
    """What a report was made of, and the report."""

    def __init__(self, est, scored, train, given):
        self.est, self.scored, self.train = est, scored, train
        self.summary = collect(est, *scored, n_repeats=1, train=train if given else None)
        self.page = render(self.summary, title="<i>Odd</i> & plain")


def split(X, y, n_train):
    return (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


@pytest.fixture(scope="session")
def of_one_cause(draw_cohort, tiny):
    X, y = draw_cohort(260)
    train, scored = split(X.rename(columns=ODD_NAMES), y, 140)
    return Report(SurvTRACE(**tiny).fit(*train), scored, train, given=False)


@pytest.fixture(scope="session")
def of_three_causes(draw_cohort, tiny):
    train, scored = split(*draw_cohort(420, 3, seed=1), 240)
    return Report(SurvTRACE(**tiny).fit(*train), scored, train, given=True)


@pytest.fixture(params=["of_one_cause", "of_three_causes"])
def report(request):
    return request.getfixturevalue(request.param)
