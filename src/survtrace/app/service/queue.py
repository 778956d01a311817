"""Questions wait here: small ones are answered together, large ones in a thread of their own.

The event loop answers small questions itself. Handing one over to a thread takes a tenth of a
millisecond, and while the loop answers some, the next arrive, to be answered in one pass.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from survtrace.app.answers.answers import Answers, Prediction, Question
from survtrace.app.answers.limits import LimitError
from survtrace.errors import SurvtraceError

Answer = TypeVar("Answer")
SMALL = 16  # subjects of a question that the event loop answers
TOGETHER = 64  # subjects answered in one pass
MOST_TIMES = 200  # of a small question
TURNS = 32  # of the event loop, a hundredth of a millisecond each, that a first question waits


class BusyError(LimitError):
    """More is waiting than the server takes on."""

    def __init__(self) -> None:
        super().__init__("more requests are waiting than are taken on. Try again in a second.", 429)


class Waiting(NamedTuple):
    """A question, who waits for its answer, and until when."""

    question: Question
    answer: asyncio.Future[Prediction]
    until: float


class AnswerQueue:
    """Bounded: at most ``most`` small questions, and an eighth of it large ones, wait."""

    def __init__(self, answers: Answers, seconds: float, most: int = 256) -> None:
        self.answers, self.seconds, self.most = answers, seconds, most
        self.waiting = deque[Waiting]()
        self.n_large = 0
        self.n_together = 0  # questions of the last pass
        # One thread: two large questions side by side on one core would only hold more memory.
        self.thread = ThreadPoolExecutor(1, "survtrace")

    @property
    def n_waiting(self) -> int:
        """Count the questions that wait or are being answered."""
        return len(self.waiting) + self.n_large

    async def predict(self, question: Question) -> Prediction:
        """Wait for the answer to a question."""
        if not _is_small(question):
            return await self.run(lambda: self.answers.predict(question))
        if len(self.waiting) >= self.most:
            raise BusyError
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Prediction] = loop.create_future()
        if not self.waiting:
            loop.call_soon(self._answer_soon, TURNS)
        self.waiting.append(Waiting(question, answer, time.monotonic() + self.seconds))
        return await answer

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Wait for work in the thread; work not yet begun when the time is over is dropped."""
        if self.n_large >= max(1, self.most // 8):
            raise BusyError
        self.n_large += 1
        done = asyncio.get_running_loop().run_in_executor(self.thread, work)
        done.add_done_callback(self._count_off)
        try:
            return await asyncio.wait_for(done, self.seconds)
        except TimeoutError:
            raise self._late() from None

    def close(self) -> None:
        """End the thread; what it has begun is ended first."""
        self.thread.shutdown(wait=False, cancel_futures=True)

    def _count_off(self, _: asyncio.Future[Answer]) -> None:
        self.n_large -= 1

    def _answer_soon(self, turns: int) -> None:
        """Answer when as many wait as were answered together last, or some turns later.

        Clients who got their answers together ask again one after the other. Without a pause the
        first would be answered alone, while all the others wait. A lone client waits for nobody.
        """
        if turns and len(self.waiting) < self.n_together:
            asyncio.get_running_loop().call_soon(self._answer_soon, turns - 1)
        else:
            self._answer_waiting()

    def _answer_waiting(self) -> None:
        """Answer the first of those that wait, in one pass, and come back for the others."""
        taken, n_subjects, now = list[Waiting](), 0, time.monotonic()
        while self.waiting and n_subjects < TOGETHER:
            each = self.waiting.popleft()
            if each.answer.done():  # its client has gone
                continue
            if each.until < now:
                each.answer.set_exception(self._late())
                continue
            taken.append(each)
            n_subjects += len(each.question.subjects)
        if self.waiting:
            asyncio.get_running_loop().call_soon(self._answer_waiting)
        self.n_together = len(taken)
        if taken:
            self._answer(taken)

    def _answer(self, taken: list[Waiting]) -> None:
        try:
            found = self.answers.predict_together([each.question for each in taken])
        except Exception as error:  # a fault of ours: nobody may wait for ever
            for each in taken:
                each.answer.set_exception(error)
            return
        for each, answer in zip(taken, found, strict=True):
            if isinstance(answer, SurvtraceError):
                each.answer.set_exception(answer)
            else:
                each.answer.set_result(answer)

    def _late(self) -> LimitError:
        return LimitError(
            f"an answer takes at most {self.seconds:g} seconds; this one took longer. "
            "Ask for fewer subjects or times, or try again when less is asked.",
            429,
        )


def _is_small(question: Question) -> bool:
    n_times = 0 if question.times is None else len(question.times)
    return len(question.subjects) <= SMALL and n_times <= MOST_TIMES
