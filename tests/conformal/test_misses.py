"""Bounds are as late as the misses allow, also where those of some subjects are cut off."""

import numpy as np

from survtrace.conformal.misses import Misses


def test_those_cut_off_do_not_pay_for_the_misses_of_others():
    at_end = np.concatenate([np.arange(1, 101) / 100, np.full(900, 0.005)])
    at_last = np.concatenate([np.ones(100), np.full(900, 0.005)])  # 900 are cut off at once
    weight = np.concatenate([np.ones(100), np.zeros(900)])
    assert Misses(at_end, at_last, weight, allowed=0.1).allowed_incidence(1.0) == 0.11
