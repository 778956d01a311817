"""What a fitted estimator looked at, what it relies on, and whether the two agree.

Attention is where the network looked; it often lies close to even, and a covariate that is looked
at need not be used. Permutation importance, partial dependence and attributions come from
predictions alone, and so take any estimator with ``predict_cumulative_incidence`` and
``causes_``. `faithfulness` measures how far attention may be read as importance.
"""

from survtrace.explain.agreement import Faithfulness, faithfulness
from survtrace.explain.dependence import partial_dependence
from survtrace.explain.importance import permutation_importance
from survtrace.explain.rollout import attention_table, covariate_relevance
from survtrace.explain.shapley import attributions
from survtrace.inference.rolled_attention import attention_rollout

__all__ = [
    "Faithfulness",
    "attention_rollout",
    "attention_table",
    "attributions",
    "covariate_relevance",
    "faithfulness",
    "partial_dependence",
    "permutation_importance",
]
