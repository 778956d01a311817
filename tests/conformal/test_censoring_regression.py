"""The chance of being uncensored is learned from covariates, or is Kaplan-Meier without them."""

import numpy as np
from scipy import sparse

from survtrace.conformal.censoring_regression import CensoringRegression
from survtrace.metrics import censoring_survival
from survtrace.metrics.inputs import read_outcome


def test_censoring_that_depends_on_nothing_is_kaplan_meiers(draw_cohort):
    _, y = draw_cohort(300, 2)
    outcome = read_outcome(y.assign(duration=np.ceil(y["duration"])))
    nothing = sparse.csr_matrix((len(outcome), 1))
    learned = CensoringRegression(nothing, outcome, depends=False)
    known = censoring_survival(outcome)
    here = outcome.duration < outcome.duration.max()
    found = learned.before(nothing, outcome.duration)
    np.testing.assert_allclose(found[here], known.before(outcome.duration)[here], rtol=1e-12)
    weights = learned.weights(nothing[:1], np.array([0.0, 2.0, 5.0]))
    np.testing.assert_allclose(weights[0], 1 / known.before([0.0, 2.0, 5.0]), rtol=1e-12)
