"""The routes: JSON in, JSON out, with the library's error messages."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response, StreamingResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from pydantic import Field
from pydantic_core import PydanticSerializationError, to_json
from starlette.exceptions import HTTPException

from survtrace import __version__
from survtrace.app.answers.answers import Answers, Attention, Prediction
from survtrace.app.answers.importance import Importance, read_importance
from survtrace.app.answers.limits import Limits
from survtrace.app.answers.schema import Schema, describe
from survtrace.app.answers.scored_table import score
from survtrace.app.service.guard import Head, RefusedError, RequestGuard, refusal, refusal_of
from survtrace.app.service.metrics import Metrics
from survtrace.app.service.questions import (
    JSON_TYPE,
    ONE_SUBJECT,
    QUESTION,
    FormError,
    read_question,
    read_subject,
    refusal_words,
)
from survtrace.app.service.queue import AnswerQueue
from survtrace.app.service.record import Recorder
from survtrace.errors import SettingError, SurvtraceError
from survtrace.portable import PortableSurvTRACE
from survtrace.portable import load as load_portable

if TYPE_CHECKING:
    from survtrace.estimator import SurvTRACE

PAGE = Path(__file__).parents[1] / "page"
Time = Annotated[float, Field(json_schema_extra={"minimum": 0})]
WARNINGS = "Survtrace-Warnings"
TEXT = {"content": {"text/csv": {"schema": {"type": "string"}}}}
PROBLEMS = (400, 401, 408, 413, 415, 422, 429, 500)


@dataclass
class Status:
    """The answer of a running server."""

    status: str
    version: str


@dataclass
class Problem:
    """An error message: the rule, what was seen, the way out."""

    detail: str


def create_app(
    est: PortableSurvTRACE | SurvTRACE,
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
    max_waiting: int = 256,
    metrics: Metrics | None = None,
    log: str | Path | None = None,
) -> FastAPI:
    """Put a fitted estimator behind a page and a JSON API; nothing that is sent to it is kept.

    Parameters
    ----------
    est
        What `survtrace.portable.load` gives; or a fitted estimator, of which a copy is served.
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
    max_waiting
        Most requests that wait for their answer; more are refused with 429.
    metrics
        Where requests are counted; by default in this process alone.
    log
        File to which a line is appended for each request, or "-" for standard error: time, route,
        status and milliseconds, nothing that was sent. None for no log.

    Examples
    --------
    >>> from fastapi.testclient import TestClient
    >>> from survtrace import SurvTRACE
    >>> from survtrace.datasets import make_cohort
    >>> X, y = make_cohort(200, random_state=0)
    >>> est = SurvTRACE(n_members=1, max_epochs=1, random_state=0, verbose=False).fit(X, y)
    >>> client = TestClient(create_app(est))
    >>> answer = client.post("/predict", json={"subjects": [{"age": 61}], "times": [12, 60]})
    >>> [len(curve) for curve in answer.json()["incidence"][0]]
    [2, 2]
    """
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise SettingError("token must be printable ASCII without spaces; got something else.")
    limits = Limits(max_rows, max_bytes, max_numbers, timeout)
    rows = None if importance is None else read_importance(importance)
    loaded = _portable(est)
    schema = describe(
        loaded,
        loaded._predictor().network.n_members,
        limits,
        units=units,
        time_unit=time_unit,
        name=name,
        has_importance=rows is not None,
    )
    service = Service(
        loaded, schema, limits, rows, Recorder(metrics or Metrics(), log), max_waiting
    )
    app = FastAPI(
        title="survtrace",
        version=__version__,
        summary="Survival and incidence curves of a fitted SurvTRACE estimator.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever host the client names
    )
    app.state.service = service
    app.include_router(open_routes(service))
    app.include_router(
        guarded_routes(service),
        dependencies=[] if token is None else [Depends(HTTPBearer(auto_error=False))],
    )
    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    app.add_exception_handler(SurvtraceError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_form)
    app.add_exception_handler(HTTPException, _refuse_route)
    app.add_middleware(
        RequestGuard,
        limits=limits,
        recorder=service.recorder,
        token=token,
        hosts=hosts,
        direct={("POST", "/predict"): service.predict, ("POST", "/attention"): service.attention},
    )
    return app


class Service:
    """What the routes share: the answers, the queue before them, and what never changes."""

    def __init__(
        self,
        est: PortableSurvTRACE,
        schema: Schema,
        limits: Limits,
        importance: list[Importance] | None,
        recorder: Recorder,
        max_waiting: int,
    ) -> None:
        self.answers, self.recorder = Answers(est, limits), recorder
        self.queue = AnswerQueue(self.answers, limits.seconds, max_waiting)
        self.schema = _json_once(asdict(schema))
        self.importance = None if importance is None else _json_once([*map(asdict, importance)])
        self.is_stopping = False
        recorder.gauges = lambda: (self.count_connections(), self.queue.n_waiting)

    def count_connections(self) -> int:
        """Count the open connections; a server that knows them puts its own count here."""
        return 0

    async def predict(self, body: bytes, head: Head) -> Response:
        """Answer /predict."""
        _require_json(head)
        question = read_question(body)
        n_subjects, n_times = len(question.subjects), len(question.times or ())
        # What is too large must not hold memory while it waits to be told so.
        self.answers.limits.check(n_subjects, n_times, 1 + len(self.answers.causes))
        answer = await self.queue.predict(question)
        self.recorder.metrics.count_subjects(n_subjects)
        return _json(answer)

    async def attention(self, body: bytes, head: Head) -> Response:
        """Answer /attention."""
        _require_json(head)
        subject = read_subject(body)
        return _json(await self.queue.run(lambda: self.answers.attention(subject)))

    async def score(
        self,
        body: bytes,
        times: list[float] | None,
        after: str | None,
        ahead: list[float] | None,
    ) -> StreamingResponse:
        """Answer /score."""
        scored = await self.queue.run(lambda: score(self.answers, body, times, after, ahead))
        self.recorder.metrics.count_subjects(len(scored.values))
        parts = (part.encode("utf-8", "backslashreplace") for part in scored.csv())
        warnings = json.dumps([warning[:300] for warning in scored.warnings[:5]])
        return StreamingResponse(parts, media_type="text/csv", headers={WARNINGS: warnings})


def open_routes(service: Service) -> APIRouter:
    """Make the routes that need no token: the page, and whether the server runs.

    HEAD is answered, too: load balancers and `wget --spider` ask so.
    """
    routes = APIRouter()

    @routes.head("/", include_in_schema=False)
    @routes.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @routes.head("/health", include_in_schema=False)
    @routes.get("/health")
    async def health() -> Status:
        """Answer that the server runs."""
        return Status("ok", __version__)

    @routes.head("/ready", include_in_schema=False)
    @routes.get("/ready", response_model=Status, responses={503: {"model": Problem}})
    async def ready() -> Any:
        """Answer whether the server takes on questions: not while it stops or is overrun."""
        if service.is_stopping:
            return refusal(503, "the server is stopping.")
        if service.queue.n_waiting >= service.queue.most:
            return refusal(
                503, "more requests are waiting than are taken on.", {"Retry-After": "1"}
            )
        return Status("ready", __version__)

    return routes


def guarded_routes(service: Service) -> APIRouter:
    """Make the routes on the estimator and subjects; `RequestGuard` checks the token, if any."""
    routes = APIRouter(responses={status: {"model": Problem} for status in PROBLEMS})

    @routes.get("/schema", response_model=Schema)
    async def schema() -> Response:
        """Describe the covariates of a subject, the causes and the limits."""
        return Response(service.schema, media_type="application/json")

    @routes.post("/predict", response_model=Prediction, openapi_extra=_body(QUESTION))
    async def predict(request: Request) -> Response:
        """Predict survival and incidence of each cause, with intervals where they are known.

        Lists are by subject, cause and time; `times` are by default the ends of the
        estimator's intervals. `typicality` tells whose covariates are unlike those of the
        subjects it learned from.
        """
        return await service.predict(await request.body(), dict(request.headers.raw))

    @routes.post("/attention", response_model=Attention, openapi_extra=_body(ONE_SUBJECT))
    async def attention(request: Request) -> Response:
        """Return the attention of each covariate of one subject to each other."""
        return await service.attention(await request.body(), dict(request.headers.raw))

    @routes.get("/importance", response_model=list[Importance], responses={404: {"model": Problem}})
    async def importance() -> Response:
        """Return the importance of each covariate for each cause, from `survtrace explain`."""
        if service.importance is None:
            return refusal(
                404,
                "this server was given no importances. Write them with `survtrace explain`, "
                "then start it with --importance FILE.",
            )
        return Response(service.importance, media_type="application/json")

    @routes.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Return counts of requests and their times in the text form of Prometheus."""
        text = service.recorder.metrics.text()
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.post(
        "/score",
        response_class=StreamingResponse,
        responses={200: {"description": "The table with probabilities beside it.", **TEXT}},
        openapi_extra={"requestBody": {"required": True, **TEXT}},
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
        return await service.score(await request.body(), times, after, ahead)

    return routes


def _portable(est: PortableSurvTRACE | SurvTRACE) -> PortableSurvTRACE:
    """Return the predictor without torch; of a fitted estimator, by way of a saved copy."""
    if isinstance(est, PortableSurvTRACE):
        return est
    with tempfile.TemporaryDirectory() as folder:
        est.save(Path(folder, "est"))
        return load_portable(Path(folder, "est"))


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def _require_json(head: Head) -> None:
    kind = head.get(b"content-type", b"application/json").decode("latin-1")
    if not JSON_TYPE.fullmatch(kind):
        raise RefusedError(
            415, "a question is JSON. Send the header 'Content-Type: application/json'."
        )


def _json(answer: Prediction | Attention) -> Response:
    try:
        content = to_json(answer)
    except (PydanticSerializationError, UnicodeEncodeError):  # a text that is no Unicode
        content = _json_once(asdict(answer))
    return Response(content, media_type="application/json")


def _json_once(value: Any) -> bytes:
    """Write JSON in ASCII, which can hold any text of a model, also what is no Unicode."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, SurvtraceError)
    return refusal_of(error, request.url.path)


async def _refuse_form(request: Request, error: Exception) -> Response:
    """Refuse a query that is not of the form /openapi.json describes."""
    assert isinstance(error, RequestValidationError)
    first, *others = error.errors()
    where = ".".join(str(part) for part in first["loc"])
    more = f" (and {len(others)} more)" if others else ""
    return refusal(422, refusal_words(FormError(where, f"{first['msg']}{more}"), request.url.path))


async def _refuse_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    words = error.detail
    if error.status_code == 404:
        words = "there is nothing at this address; /openapi.json describes what there is."
    elif error.status_code == 405:
        allowed = headers.setdefault("Allow", "GET, HEAD")  # files of the page do not say it
        words = f"this address takes {allowed}, not {request.method}; see /openapi.json."
    return refusal(error.status_code, words, headers)
