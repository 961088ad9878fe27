"""Questions of a page, answered one at a time: the newest, and no other."""

import _thread
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from msgspec import Struct
from msgspec.structs import replace

from planopt.catalog.open import open_for
from planopt.documents.homes import HomesPlan
from planopt.documents.plan import Plan
from planopt.errors import Diagnostic, PlanoptError
from planopt.homes import meant_by, serve_neighbours, train_islands
from planopt.options import Asked
from planopt.planning.pipeline import Serving, whole
from planopt.printable import printable
from planopt.procurement.solver import Solver
from planopt.steps import Steps
from planopt.summary import made_from, summed_up

WAKE_SECONDS = 0.5
"""How often a waiting desk looks for Ctrl-C, where a system does not wake it."""


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said to a question: one of these."""

    progress: str | None = None
    estimate: Plan | None = None
    """What the closed form would buy; its latencies are not simulated yet."""
    plan: Plan | HomesPlan | None = None
    problems: tuple[Diagnostic, ...] = ()
    superseded: bool = False


class Question:
    """Options as they are typed, and what is said to them until there is no more."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self.options = options
        self.answers: SimpleQueue[Answer | None] = SimpleQueue()

    def tell(self, *answers: Answer | None) -> None:
        """Say something."""
        for each in answers:
            self.answers.put(each)


class Desk:
    """Answers in the thread that runs it: only that one can be interrupted."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = tuple(folders)
        self.kept: Plan | HomesPlan | None = None
        """The last plan that was judged, to be saved."""
        self._bell = threading.Condition()
        self._newest: Question | None = None
        self._is_superseding = False
        self._is_over = False

    def ask(self, options: Mapping[str, object]) -> Iterator[Answer]:
        """Ask from any thread; what was asked before is not answered any more."""
        question = Question(options)
        with self._bell:
            older, self._newest = self._newest, question
            if older is not None:
                older.tell(Answer(superseded=True), None)
                self._is_superseding = True
                _thread.interrupt_main()
            self._bell.notify()
        return iter(question.answers.get, None)

    def run(self) -> None:
        """Answer until Ctrl-C."""
        with self._interrupted(), Solver() as solver:
            while not self._is_over:
                # What interrupts it is the user, or a newer question.
                with suppress(KeyboardInterrupt):
                    self._answer(self._waited_for(), solver)

    @contextmanager
    def _interrupted(self) -> Iterator[None]:
        """Tell Ctrl-C from a newer question: both interrupt what is computed."""

        def interrupt(*_: object) -> None:
            self._is_over |= not self._is_superseding
            self._is_superseding = False
            raise KeyboardInterrupt

        usual = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)

    def _waited_for(self) -> Question:
        with self._bell:
            while self._newest is None:
                self._bell.wait(WAKE_SECONDS)
            return self._newest

    def _answer(self, question: Question, solver: Solver) -> None:
        """Answer a question; it is asked again where that was interrupted too late."""
        try:
            self._plan(question, solver)
        except PlanoptError as error:
            question.tell(Answer(problems=tuple(error.diagnostics)))
        except Exception as error:  # one question must not end the rest
            fault = Diagnostic(
                code="E901",
                message=f"planopt has failed: {type(error).__name__}: {error}",
                help="this is a fault of planopt; please report the question",
            )
            question.tell(Answer(problems=(fault,)))
        with self._bell:
            if self._newest is question:
                self._newest = None
        question.tell(None)

    def _plan(self, question: Question, solver: Solver) -> None:
        serving = Serving()
        folders = {"catalog": self.folders} if self.folders else {}
        options = {**question.options, **folders}
        if (told := _of_homes(options)) is not None:
            self.kept = told
            question.tell(Answer(plan=printable(told)))
            return
        asked = Asked.by_user("solve", options)
        steps = Steps(lambda step: question.tell(Answer(progress=printable(str(step)))))
        asks = serving.read(asked, open_for(asked).watched(steps), solver)
        guess = asks.buy()
        if guess.counts and asks.problem.percentile is not None:
            estimate = serving.so_far(asks, guess)
            estimate = replace(
                made_from(summed_up(estimate, asks.catalog), asks.catalog),
                status="feasible",
                bound_usd=None,
                bound_usd_per_hour=None,
                gap=None,
            )
            question.tell(Answer(estimate=printable(estimate)))
        plan = whole(serving, asks, steps)
        self.kept = plan
        question.tell(Answer(plan=printable(plan)))


def _of_homes(options: Mapping[str, object]) -> HomesPlan | None:
    """Answer a question of machines in homes, if it is one."""
    about = options if "islands" in options else meant_by(options)
    if about is None:
        return None
    ask: Callable[..., HomesPlan] = train_islands
    if "islands" not in options:
        ask = serve_neighbours
    return ask(**about)
