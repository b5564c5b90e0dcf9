"""One sweep at work in the queue: what it gives next, what came of it, its way to the report."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep
from sweeper.driver import binding, tracked
from sweeper.driver.assigning import assigned, surroundings
from sweeper.driver.bounding import Bounding, matrices_of
from sweeper.driver.preparation import PreparedSweep
from sweeper.driver.sharing import Claims, spread
from sweeper.driver.tracked import Say
from sweeper.errors import SweepError
from sweeper.execution.assignment import AnyAssignment, Surroundings, TrialAssignment
from sweeper.execution.storage import forget
from sweeper.ledger import Asked, Ledger, RerunStage, SearchStage
from sweeper.results.records import FINAL_STATES, Record, Rerun, TrialRecord
from sweeper.results.selection import empty_groups, reruns, select
from sweeper.results.texts import counted, group_name, percent
from sweeper.tracking import Tracking


def _ignored(text: str) -> None:
    """Nobody listens."""


class ActiveSweep:
    """A sweep from its first trial to its last rerun; the queue asks it, Tune does the rest.

    Args:
        place: in the queue.
        prepared: what can start.
        most_at_once: trials side by side; None where devices alone decide.
        command: as typed.
        is_select_only: no search, only the reruns.
        say: for what a person should know, a line at a time.
        claims: the first tasks in training, of the whole queue.
    """

    def __init__(
        self,
        place: int,
        prepared: PreparedSweep,
        most_at_once: int | None,
        command: str = "",
        is_select_only: bool = False,
        say: Say = _ignored,
        claims: Claims | None = None,
    ) -> None:
        self.place, self.prepared, self.most_at_once = place, prepared, most_at_once
        self.command, self.is_select_only, self.say = command, is_select_only, say
        self.claims = claims or Claims()
        self.stage: SearchStage | RerunStage | None = None
        self.tracking: Tracking | None = None
        self.is_open = self.is_over = self.has_reruns = False
        self.is_closed = False  # its report is written
        self.deadline = float("inf")
        self.bounding: Bounding | None = None  # where the scheduler is one
        self.chosen: dict[int, TrialRecord] = {}
        self._unwanted: set[int] = set()  # trials whose end somebody has asked for
        self._n_trials = 0 if is_select_only else prepared.sweep.n_trials

    @property
    def sweep(self) -> Sweep:
        """What is asked for."""
        return self.prepared.sweep

    @property
    def ledger(self) -> Ledger:
        """What is known."""
        return self.prepared.opened.ledger

    @property
    def n_steps(self) -> int:
        """Epochs of a whole trial of the present stage."""
        per_run = binding.n_steps(self.prepared.configurations[0])
        return per_run * (1 if isinstance(self.stage, RerunStage) else self.sweep.settings.repeats)

    @property
    def n_running(self) -> int:
        """What is being worked on."""
        return self.stage.n_running if self.stage else 0

    @property
    def n_unstarted(self) -> int:
        """Trials of the search that nobody has been given yet."""
        if isinstance(self.stage, SearchStage):
            return self.stage.n_left - self.stage.n_running
        return 0 if self.is_open else self._n_trials

    @property
    def rerun_seconds(self) -> float:
        """How long its longest rerun may take, by the trials that were chosen; 0 before that."""
        if not isinstance(self.stage, RerunStage):
            return 0.0
        chosen = [self.chosen[one.configuration] for one in self.stage.wanted]
        longest = max(trial.seconds_alone for trial in chosen)
        return longest / self.sweep.settings.repeats

    # What is to be done

    def next(self) -> AnyAssignment | None:
        """What to run next; None if there is nothing now, or nothing at all any more."""
        if not self.is_open:
            self.open()
        while self.stage is not None:
            self._watch_the_clock()
            if self.most_at_once is not None and self.n_running >= self.most_at_once:
                return None
            with self.ledger.together():
                if asked := self.stage.ask(self._is_ready):
                    return self._assigned(asked)
            if self.n_running or self.stage.wants_more():  # perhaps all of it has to wait
                return None
            self._advance()
        return None

    def _is_ready(self, what: Values | Rerun) -> bool:
        """Whether nobody trains its first task at present."""
        return self.claims.is_free(self._first_tasks(what))

    def _first_tasks(self, what: Values | Rerun) -> tuple[str, ...]:
        """The first tasks of a trial or rerun, as far as they are shared, by their place."""
        place = self.prepared.opened.first_tasks
        if place is None:
            return ()
        if isinstance(what, Rerun):
            found = binding.first_tasks(self._resolved(what), [what.seed])
        else:
            found = binding.first_tasks_of(self.sweep, what)
        return tuple(f"{place} {one}" for one in found)

    def _assigned(self, asked: Asked[Any]) -> AnyAssignment:
        assert self.stage is not None
        run: Mapping[str, Any] = self.stage.record(asked.number).run
        if not run:
            run = self._resolved(asked.what)
            self.stage.note_run(asked.number, run)
        assignment = assigned(self.place, asked, run, self._surroundings(), self.sweep)
        self.claims.claim(assignment, self._first_tasks(asked.what))
        return assignment

    def _resolved(self, what: Values | Rerun) -> dict[str, Any]:
        """The run as it will be, every default filled in."""
        device = "cuda" if self.prepared.share.gpu else "cpu"
        if isinstance(what, Rerun):
            chosen = self.chosen[what.configuration]
            return binding.rerun_run(self.sweep, chosen, what, device)
        return binding.trial_run(self.sweep, what, device)

    def _surroundings(self) -> Surroundings:
        return surroundings(self.prepared, self.tracking, self.command)

    def _spread(self, points: Iterable[Values]) -> Iterable[Values]:
        return spread(points, self._first_tasks)

    @property
    def is_out_of_time(self) -> bool:
        """Whether its hours are used up."""
        return time.time() >= self.deadline

    def open(self) -> None:
        """Begin or go on; MLflow is brought in line with the ledger."""
        self.is_open = True
        self.ledger.begin(self.sweep)
        self.ledger.bound_runs = [c.model_dump(mode="json") for c in self.prepared.configurations]
        self.tracking = self._opened_tracking()
        self.ledger.tracking_uri = self.prepared.uri
        if self.tracking is not None:
            tracked.settle(self.tracking, self.ledger, self.say)
            tracked.write_missing_runs(self._surroundings(), self.ledger, self.say)
        self._begin()

    def _opened_tracking(self) -> Tracking | None:
        return tracked.opened(self.prepared)

    def _begin(self) -> None:
        if self.is_select_only:
            self._begin_reruns()
            return
        hours = self.sweep.settings.hours
        self.deadline = time.time() + 3600 * hours if hours else float("inf")
        self.stage = self.ledger.search(self.sweep, self._spread)
        self.stage.settle()
        if self.sweep.settings.scheduler == "bound":
            self.bounding = Bounding(self.sweep, self.ledger.trial_records())

    def _watch_the_clock(self) -> None:
        """A budget of hours ends a search like any other end; more of them go on with it."""
        stage = self.stage
        if isinstance(stage, SearchStage) and self.is_out_of_time and not stage.is_closed:
            stage.is_closed = True
            n_left = counted(stage.n_left, "trial")
            hint = "more hours and --resume go on with them"
            self.say(f"{self.sweep.name}: out of time with {n_left} to go; {hint}.")

    def advance_if_done(self) -> None:
        """Go on to the reruns, or to the end, as soon as nothing is left of the stage."""
        if self.stage and not (self.n_running or self.stage.wants_more()):
            self._advance()

    def _advance(self) -> None:
        """The stage is over: from the search to its reruns, from them to the end."""
        if isinstance(self.stage, SearchStage):
            self._begin_reruns()
        else:
            self._end()

    def _begin_reruns(self) -> None:
        trials = self.ledger.trial_records()
        chosen = self._selected(trials)
        if self.sweep.select.each and self.sweep.select.top:
            for group in empty_groups(trials, self.sweep):
                text = "no trial has finished, so there is none to rerun."
                self.say(f"{self.sweep.name}: {group_name(group)}: {text}")
        if not chosen:
            self._end()
            return
        # Of all trials: an earlier selection may have begun other reruns, which end here too.
        self.chosen = {trial.number: trial for trial in trials}
        self.has_reruns = True
        self.stage = self.ledger.reruns(reruns(chosen, self.sweep))
        self.stage.settle()

    def _selected(self, trials: list[TrialRecord]) -> list[TrialRecord]:
        """What is to be rerun; too few finished trials end a sweep without reruns."""
        try:
            return select(trials, self.sweep) if self.sweep.select.top else []
        except SweepError as error:
            self.say(str(error))
            return []

    def _end(self) -> None:
        self.stage, self.is_over = None, True

    @property
    def code(self) -> int:
        """The exit code of this sweep: 1 if it came to nothing."""
        return 0 if self.has_reruns or not self.sweep.select.top else 1

    # What came of it

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is: nobody has to wait for a first task that is over."""
        if self.claims.has_any(assignment):
            self.claims.trained(assignment, len(matrices_of(metrics)))

    def is_hopeless(self, assignment: AnyAssignment, reported: Mapping[str, Any]) -> bool:
        """Whether a trial that says how far it is cannot come among the best any more."""
        if self.bounding is None or not isinstance(assignment, TrialAssignment):
            return False
        return self.bounding.is_hopeless(assignment, matrices_of(reported))

    def stop_by_hand(self, number: int) -> str:
        """End a trial of the search when it next says how far it is; gives words about it."""
        stage, name = self.stage, f"trial {number}"
        if isinstance(stage, SearchStage) and stage.is_running(number):
            text = "is to stop already" if number in self._unwanted else "stops after its epoch"
            self._unwanted.add(number)
            return f"{name} {text}; it cannot win, and its place is not filled again."
        # Read anew: this may be another thread than the one that writes.
        records = Ledger(self.ledger.folder).trial_records()
        states = {trial.number: trial.state for trial in records}
        is_known = "is not running" if number in states else "is not there"
        state = f" ({states[number]})" if number in states else ""
        return f"{name} {is_known}{state}; nothing was changed."

    def is_unwanted(self, assignment: AnyAssignment) -> bool:
        """Whether somebody has asked for its end."""
        return isinstance(assignment, TrialAssignment) and assignment.number in self._unwanted

    def ended(self, assignment: AnyAssignment, outcome: Mapping[str, Any]) -> Record:
        """Write down how a trial ended; gives what is known of it then."""
        self.claims.release(assignment)
        with self.ledger.together():
            record = self._written(assignment, outcome)
        if self.bounding is not None and isinstance(record, TrialRecord):
            self.bounding.learn(record)
        if record.state in FINAL_STATES:
            forget(assignment.storage, assignment.key)  # the ledger has what came of it
        return record

    def _written(self, assignment: AnyAssignment, outcome: Mapping[str, Any]) -> Record:
        stage, number = self.stage, assignment.number
        assert stage is not None
        if "outcome" in outcome:
            stage.finish(number, outcome["outcome"])
        elif "failure" in outcome:
            stage.fail(number, outcome["failure"])
        elif self.is_unwanted(assignment):
            step = outcome.get("step", 0)
            stage.stop(number, f"stopped by hand at step {step}", matrices_of(outcome))
        elif "crash" in outcome:
            stage.crash(number, outcome["crash"], self.sweep.settings.retries)
        elif "crowded" in outcome and not self._has_made_room(assignment):
            stage.crash(number, outcome["crowded"], self.sweep.settings.retries)
        elif "halt" in outcome or "crowded" in outcome or self.is_out_of_time:
            stage.release(number)
        else:
            self._write_stop(stage, assignment, outcome)
        return stage.record(number)

    def _has_made_room(self, assignment: AnyAssignment) -> bool:
        """Whether there is more room on a GPU now than where this trial ran out of memory."""
        share = self.prepared.share
        if assignment.surroundings.gpu == share.gpu:
            share = share.roomier()
            self.prepared = replace(self.prepared, share=share)
            if self.most_at_once is not None:
                self.most_at_once = min(self.most_at_once, share.at_once)
        if assignment.surroundings.gpu == share.gpu:
            return False
        was = assignment.surroundings.gpu
        text = f"trial {assignment.number} ran out of memory on {was:g} of a GPU"
        again = f"it is tried again, and from now on each gets {share.gpu:g}"
        self.say(f"{self.sweep.name}: {text}; {again}.")
        return True

    def _write_stop(
        self,
        stage: SearchStage | RerunStage,
        assignment: AnyAssignment,
        outcome: Mapping[str, Any],
    ) -> None:
        shown, at_most = matrices_of(outcome), None
        if self.bounding is not None and isinstance(assignment, TrialAssignment):
            at_most = self.bounding.highest_acc(assignment, shown)
        reason = f"stopped by the scheduler at step {outcome.get('step', 0)}"
        if at_most is not None:
            reason += f": it could have reached ACC {percent(at_most)} at most"
        stage.stop(assignment.number, reason, shown, at_most)
