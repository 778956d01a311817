"""The routes: JSON in, JSON out, with the library's error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError, to_json
from sklearn.utils.validation import check_is_fitted
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from survtrace.app.answers.answers import Answers, Attention, Prediction
from survtrace.app.answers.limits import LimitError, Limits
from survtrace.app.answers.schema import (
    LimitsSchema,
    Schema,
    covariate_schemas,
    model_schema,
    time_schema,
)
from survtrace.app.service.limits import RequestGuard, Worker, refusal
from survtrace.errors import DataError, SettingError, SurvtraceError
from survtrace.estimator import SurvTRACE
from survtrace.naming import names_of
from survtrace.tables.files.formats import read_table

PAGE = Path(__file__).parents[1] / "page"
PLAIN = [{"type": kind} for kind in ("number", "string", "boolean", "null")]
Time = Annotated[float, Field(json_schema_extra={"minimum": 0})]
WARNINGS = "Survtrace-Warnings"
EXAMPLES = {
    "/predict": '{"subjects": [{"age": 61}], "times": [12, 60]}',
    "/attention": '{"subject": {"age": 61}}',
}


def _one_value(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise PydanticCustomError("one_value", "a covariate is one value a row, not a list")
    return value


Value = Annotated[Any, AfterValidator(_one_value), WithJsonSchema({"anyOf": PLAIN})]


class Question(BaseModel):
    """Subjects by the names of their covariates; null, or left out, is unknown.

    With `after`, a time or one for each subject, the curves are those of subjects who are
    event-free until then: of a subject of 62 where age is the clock, `after` is 62. `level` is
    that of the intervals; null for none.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    subjects: list[dict[str, Value]]
    times: list[Time] | None = None
    after: Time | list[Time] = 0.0
    level: Annotated[float, Field(gt=0, lt=1)] | None = 0.95


class OneSubject(BaseModel):
    """One subject by the names of its covariates."""

    model_config = ConfigDict(extra="forbid", strict=True)
    subject: dict[str, Value]


class Health(BaseModel):
    """The answer of a running server."""

    status: str
    version: str


class Problem(BaseModel):
    """An error message: the rule, what was seen, the way out."""

    detail: str


class Importance(BaseModel):
    """How much a covariate matters for a cause, with its interval."""

    cause: str
    covariate: str
    importance: float
    low: float | None
    high: float | None


def create_app(
    est: SurvTRACE,
    *,
    token: str | None = None,
    importance: str | Path | None = None,
    units: Mapping[str, str] | None = None,
    time_unit: str = "",
    name: str = "",
    hosts: Sequence[str] | None = None,
    max_rows: int = Limits.rows,
    max_bytes: int = Limits.bytes,
    max_numbers: int = Limits.numbers,
    timeout: float = Limits.seconds,
) -> FastAPI:
    """Put a fitted estimator behind a page and a JSON API; nothing that is sent to it is kept.

    Parameters
    ----------
    est
        A fitted estimator; not to be changed while it is served.
    token
        What a request must carry as ``Authorization: Bearer <token>``; None for no token.
    importance
        CSV that ``survtrace explain`` wrote: cause, covariate, importance, low, high.
    units, time_unit
        Units of covariates by name, and of durations; only shown. By default those that the
        estimator was fitted with.
    name
        Of the model, shown on the page and on prints.
    hosts
        Names by which the server may be called; None for any.
    max_rows, max_bytes, max_numbers, timeout
        Most subjects, bytes, probabilities in the answer, and seconds of one request.

    Examples
    --------
    >>> from fastapi.testclient import TestClient
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> client = TestClient(create_app(est))
    >>> answer = client.post("/predict", json={"subjects": [{"age": 61}], "times": [12, 60]})
    >>> [len(curve) for curve in answer.json()["incidence"][0]]
    [2, 2]
    """
    check_is_fitted(est)
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise SettingError("token must be printable ASCII without spaces; got something else.")
    limits = Limits(max_rows, max_bytes, max_numbers, timeout)
    rows = None if importance is None else read_importance(importance)
    names = names_of(est)
    schema = Schema(
        covariates=covariate_schemas(est, units),
        causes=[str(cause) for cause in est.causes_],
        cause_names=[names.cause(cause) for cause in est.causes_],
        model=model_schema(est, name),
        time=time_schema(est, time_unit),
        members=est.network_.shape.n_members,
        intervals=est.interval_ is not None,
        importance=rows is not None,
        limits=LimitsSchema(**vars(limits)),
    )
    app = FastAPI(
        title="survtrace",
        version=version("survtrace"),
        summary="Survival and incidence curves of a fitted SurvTRACE estimator.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @app.get("/health")
    async def health() -> Health:
        """Answer that the server runs."""
        return Health(status="ok", version=version("survtrace"))

    answers = Answers(est, schema.covariates, limits)
    app.include_router(
        _guarded_routes(schema, answers, Worker(limits.seconds), rows),
        dependencies=[] if token is None else [Depends(HTTPBearer(auto_error=False))],
    )
    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    app.add_exception_handler(SurvtraceError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_form)
    app.add_exception_handler(HTTPException, _refuse_route)
    app.add_middleware(RequestGuard, limits=limits, token=token)
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    return app


def _guarded_routes(
    description: Schema, answers: Answers, worker: Worker, rows: list[Importance] | None
) -> APIRouter:
    """Make the routes on the estimator and subjects; `RequestGuard` checks the token, if any."""
    problems: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem} for status in (400, 401, 408, 413, 422, 429)
    }
    routes = APIRouter(responses=problems)

    @routes.get("/schema")
    async def schema() -> Schema:
        """Describe the covariates of a subject, the causes and the limits."""
        return description

    @routes.post("/predict", response_model=Prediction)
    async def predict(question: Question) -> Response:
        """Predict survival and incidence of each cause, with intervals where they are known.

        Lists are by subject, cause and time; `times` are by default the ends of the
        estimator's intervals. `typicality` tells whose covariates are unlike those of the
        subjects it learned from.
        """
        asked = question.subjects, question.times, question.after, question.level
        return await worker.run(lambda: _json(answers.predict(*asked)))

    @routes.post("/attention", response_model=Attention)
    async def attention(question: OneSubject) -> Response:
        """Return the attention of each covariate of one subject to each other."""
        return await worker.run(lambda: _json(answers.attention(question.subject)))

    @routes.get("/importance", responses={404: {"model": Problem}})
    async def importance() -> list[Importance]:
        """Return the importance of each covariate for each cause, from `survtrace explain`."""
        if rows is None:
            raise HTTPException(
                404,
                "this server was given no importances. Write them with `survtrace explain`, "
                "then start it with --importance FILE.",
            )
        return rows

    text = {"content": {"text/csv": {"schema": {"type": "string"}}}}

    @routes.post(
        "/score",
        response_class=StreamingResponse,
        responses={200: {"description": "The table with probabilities beside it.", **text}},
        openapi_extra={"requestBody": {"required": True, **text}},
    )
    async def score(
        request: Request,
        times: Annotated[list[Time] | None, Query()] = None,
        after: str | None = None,
        ahead: Annotated[list[Time] | None, Query()] = None,
    ) -> StreamingResponse:
        """Add survival and incidences at `times` to a CSV table of subjects.

        `times` is by default the median event time. `after` names a column with a time at which
        each subject is event-free, such as its age now; `ahead` are times counted from there, in
        place of `times`: ?after=age&ahead=10 asks for the next ten years. The header
        `Survtrace-Warnings` holds the warnings, as a JSON list.
        """
        content = await request.body()
        scored = await worker.run(lambda: answers.score(content, times, after, ahead))
        warnings = json.dumps([warning[:300] for warning in scored.warnings[:5]])
        return StreamingResponse(scored.csv(), media_type="text/csv", headers={WARNINGS: warnings})

    return routes


def read_importance(path: str | Path) -> list[Importance]:
    """Read the importances that `survtrace explain` wrote."""
    columns = list(Importance.model_fields)
    table = read_table(path)
    missing = [name for name in columns if name not in table]
    if missing:
        raise DataError(
            f"a table of importances has the columns {columns}; {path} lacks {missing}. "
            "Write it with `survtrace explain`."
        )
    table[["cause", "covariate"]] = table[["cause", "covariate"]].astype(str)
    table = table[columns].astype(object).where(table.notna(), None)
    try:
        return [Importance.model_validate(row) for row in table.to_dict(orient="records")]
    except ValueError as error:
        raise DataError(f"{path} holds importances that are no numbers ({error}).") from None


def _json(answer: Any) -> Response:
    return Response(to_json(answer), media_type="application/json")


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    return refusal(error.status if isinstance(error, LimitError) else 422, str(error))


async def _refuse_form(request: Request, error: Exception) -> JSONResponse:
    """Refuse a request that is not of the form /openapi.json describes."""
    assert isinstance(error, RequestValidationError)
    first, *others = error.errors()
    where = ".".join(str(part) for part in first["loc"])
    more = f" (and {len(others)} more)" if others else ""
    example = EXAMPLES.get(request.url.path, "?times=12&times=60")
    return refusal(
        422,
        f"a request must be of the form that /openapi.json describes; {where}: "
        f"{first['msg']}{more}. Send for example {example}.",
    )


async def _refuse_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, error.detail, dict(error.headers or {}))
