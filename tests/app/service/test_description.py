"""Whatever the description in /openapi.json allows, and what it does not, gets no 5xx.

A few cases each time; against a server of one's own, more than 2,000:
``schemathesis run http://127.0.0.1:8000/openapi.json --phases coverage,fuzzing --max-examples 700
--exclude-checks positive_data_acceptance``.
"""

import pytest
from hypothesis import HealthCheck, given, settings

from survtrace.app import create_app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
positive_data_acceptance = pytest.importorskip(
    "schemathesis.specs.openapi.checks"
).positive_data_acceptance  # a description cannot say all that makes a question answerable
MODES = list(schemathesis.GenerationMode)


@pytest.fixture(scope="module")
def operations(fitted_one):
    """Every route that is described, by its path."""
    description = schemathesis.openapi.from_asgi("/openapi.json", create_app(fitted_one))
    found = [operation.ok() for operation in description.get_all_operations()]
    return {operation.path: operation for operation in found}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", ["/predict", "/attention", "/score"])
def test_no_question_breaks_the_server_or_the_description(operations, path, mode):
    @given(operations[path].as_strategy(generation_mode=mode))
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    def ask(case):
        answer = case.call()
        assert answer.status_code < 500
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    ask()
