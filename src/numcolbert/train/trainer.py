"""The training loop.

The device never waits for Python: batches come from worker processes and are copied ahead, losses stay on the
device until they are logged, and nothing in a step asks the device for a value.
"""

from __future__ import annotations

import copy
import json
import logging
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from numcolbert.errors import ConflictError, ModelError
from numcolbert.model.checkpoint import find_gate, save_checkpoint
from numcolbert.progress import Progress
from numcolbert.train.average import average, start_weights
from numcolbert.train.batches import Batch, BatchStream
from numcolbert.train.benchmarks import Benchmark
from numcolbert.train.evaluate import Ranker, Result, collect, evaluate, save_results
from numcolbert.train.gate_setting import set_gate
from numcolbert.train.journal import Journal
from numcolbert.train.losses import NumColBERTLoss
from numcolbert.train.measures import as_it_ranks
from numcolbert.train.model_setup import (
    can_record,
    choose_device,
    made_ready,
    open_start,
    open_teacher,
    packing,
    skipped_document_ids,
    text_settings,
)
from numcolbert.train.optimiser import descend, make_optimiser, set_rates
from numcolbert.train.packed import PackedEncoder, PackedSettings
from numcolbert.train.processes import Processes
from numcolbert.train.recipe import Recipe
from numcolbert.train.replay import GradientStep
from numcolbert.train.resuming import check_resumed
from numcolbert.train.schedule import Budget, lr_factor
from numcolbert.train.sources import unit_count
from numcolbert.train.state import Position, forget_state, has_state, load_state, save_state
from numcolbert.train.step import Teacher, TrainingStep
from numcolbert.train.text_reader import TextReader
from numcolbert.train.workers import FeedSettings

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

log = logging.getLogger(__name__)


class _StopWaiting(BaseException):
    """Raised by the handler of signals where nothing is lost by it, in a wait for a batch; no error, so that
    nobody but the loop catches it."""


@dataclass
class Outcome:
    """What a run left behind."""

    output: Path
    step: int
    triples: int
    seconds: float
    """Of this part alone, where the run was resumed; so is the rate."""
    triples_per_second: float
    interrupted: bool = False
    results: list[Result] = field(default_factory=list)


def train(recipe: Recipe, *, overwrite: bool = False) -> Outcome:
    """Run a recipe from its start, or from its checkpoint, to its end.

    What an earlier training left in the output folder is replaced only where `overwrite` says so.
    """
    budget = Budget(recipe.run.steps, recipe.run.time_budget_s)
    return Trainer(recipe, budget, overwrite=overwrite).run()


class Trainer:
    def __init__(
        self, recipe: Recipe, budget: Budget, *, writes: bool = True, overwrite: bool = False
    ) -> None:
        self.recipe, self.budget = recipe, budget
        run = recipe.run
        self.processes = Processes.from_environment(run.device)
        self.device = self.processes.device or choose_device(run.device)
        torch.manual_seed(run.seed)
        torch.set_float32_matmul_precision("high")
        self.output = recipe.output
        self.state_folder = self.output / "state"
        resumed = run.resume and has_state(self.state_folder)
        if self.processes.is_main and writes:
            if self.output.exists() and not self.output.is_dir():
                raise ConflictError(
                    f"'{self.output}' is a file, not a folder.", hint="choose another run.output"
                )
            if not resumed and not overwrite:
                _refuse_loss(self.output)
        if resumed:
            check_resumed(self.state_folder, recipe, self.processes.count)
        # Read first: a wrong path should fail before the model is built, not after an hour of training.
        self.during = collect(run.evaluate_during, suites=False)
        self.at_end = collect(run.evaluate_at_end, suites=True)

        start = open_start(recipe.model)
        self._before = start_weights(start) if run.start_share else {}
        self.model = made_ready(start, recipe.model, self.device)
        self.text = text_settings(self.model)
        self.module = self._build_step()
        self.optimiser = make_optimiser(self.module, recipe.optimiser, self.device)
        self.parameters = [p for group in self.optimiser.param_groups for p in group["params"]]
        self.position = Position()
        if resumed:
            self.position = load_state(self.state_folder, self.module, self.optimiser)
            self.budget.used_before = self.position.seconds
        self.gradients = GradientStep(
            self.processes.wrap(self.module),
            self.parameters,
            # Several processes average gradients in between.
            records=self.processes.count == 1 and can_record(recipe, self.device),
        )
        self._stop_asked = False
        self._waiting = False
        self._ranker: Ranker | None = None
        self.journal: Journal | None = None
        self._writes = self.processes.is_main and writes
        self._resumed = resumed

    def _build_step(self) -> TrainingStep:
        recipe = self.recipe
        packed = packing(recipe, self.device)
        encoder = PackedEncoder(self.model, packed)
        units = unit_count(recipe.data) if recipe.loss.properties else 0
        torch.manual_seed(recipe.run.seed)  # the heads start alike whatever was tried out before
        loss = NumColBERTLoss(recipe.loss, encoder.dim, units)
        module = TrainingStep(
            encoder,
            find_gate(self.model),
            loss,
            mask_known=recipe.data.mask_known,
            skipped_ids=skipped_document_ids(self.model),
            # A resumed run makes them before it loads its state.
            teacher=self._teacher(packed) if recipe.loss.keep else None,
            start=self._start(packed) if recipe.loss.keep_numbers else None,
        )
        return module.to(self.device).train()

    def _teacher(self, packed: PackedSettings) -> Teacher:
        """Without a gate, which has nothing to do in general questions."""
        return Teacher(self._frozen(open_teacher(self.recipe.model, self.model), packed))

    def _start(self, packed: PackedSettings) -> Teacher:
        model = copy.deepcopy(self.model).requires_grad_(False)
        return Teacher(self._frozen(model, packed), find_gate(model))

    def _frozen(self, model: MultiVectorEncoder, packed: PackedSettings) -> PackedEncoder:
        encoder = PackedEncoder(model, replace(packed, compile_layers=False, dropout=0.0))
        return encoder.to(self.device).eval().requires_grad_(False)

    def run(self) -> Outcome:
        feed = FeedSettings(
            self.recipe.data,
            self.text,
            self.recipe.optimiser.batch,
            self.recipe.run.seed,
            first=self.position.step,
            rank=self.processes.rank,
        )
        first, started = self.position.step, time.monotonic()
        try:
            with self._stopping_on_signals(), BatchStream(feed, self.device) as batches:
                self._loop(batches)
            self._synchronize()
            seconds = time.monotonic() - started
            outcome = Outcome(
                self.output,
                self.position.step,
                self.position.triples,
                round(seconds, 2),
                round((self.position.step - first) * self._triples_a_step / max(seconds, 1e-9), 1),
                self._stop_asked,
            )
            if self.processes.is_main:
                self._finish(outcome)
            self.processes.wait()
            return outcome
        finally:
            if self.journal is not None:
                self.journal.close()

    @property
    def _triples_a_step(self) -> int:
        return self.recipe.optimiser.batch * self.processes.count

    def _loop(self, batches: BatchStream) -> None:
        run, optimiser = self.recipe.run, self.recipe.optimiser
        window = Window()
        total = run.steps or None
        with Progress("train", total and total - self.position.step, "steps") as progress:
            while not self._should_stop():
                step = self.position.step
                factor = lr_factor(self.budget.progress(step + 0.5), optimiser.warmup, optimiser.decay)
                set_rates(self.optimiser, factor)
                if self.recipe.model.dropout:
                    torch.manual_seed(run.seed * 1_000_003 + step)  # so that a resumed run drops the same
                logged = (step + 1) % run.log_every == 0 or step == 0
                batch = self._next_batch(batches)
                if batch is None:
                    break
                self._begin()
                result = self.gradients(batch, measured=logged)
                norm = descend(self.optimiser, self.parameters, optimiser.clip)
                self.position.step += 1
                self.position.triples += self._triples_a_step
                window.add(self._triples_a_step, batch.real_tokens)
                progress.advance()
                if logged:
                    self._log(result.parts, norm, factor, window)
                self._every(run.eval_every, self._evaluate_during)
                self._every(run.checkpoint_every, self._save_state)
        unsaved = bool(run.checkpoint_every and self.position.step % run.checkpoint_every)
        if (self._stop_asked and not self._is_untouched) or unsaved:
            self._save_state()

    @property
    def _is_untouched(self) -> bool:
        """Whether the output folder is as it was before."""
        return self._writes and self.journal is None

    def _begin(self) -> None:
        """Replace what an earlier training left, now that there is something to train on: a wrong path to the
        data must not cost a checkpoint.
        """
        if not self._is_untouched:
            return
        if not self._resumed:
            forget_state(self.state_folder)
            (self.output / "results.json").unlink(missing_ok=True)
        at = self.position.step if self._resumed else None
        self.journal = Journal(self.output, tensorboard=self.recipe.run.tensorboard, resumed_at=at)
        recipe = json.dumps(self.recipe.as_dict(), indent=1)
        (self.output / "recipe.json").write_text(recipe, encoding="utf-8")

    def _next_batch(self, batches: BatchStream) -> Batch | None:
        """None where the end is asked for before the batch is there: workers and tapes may take minutes."""
        try:
            try:
                self._waiting = self.processes.count == 1  # several have to end after the same step
                return next(batches)
            finally:
                self._waiting = False
        except _StopWaiting:
            return None

    def _should_stop(self) -> bool:
        ended = self._stop_asked or self.budget.progress(self.position.step) >= 1.0
        return self.processes.agree(ended)

    def _every(self, count: int, action: Callable[[], None]) -> None:
        if count and self.position.step % count == 0:
            action()

    def _log(self, parts: dict[str, Tensor], norm: Tensor, factor: float, window: Window) -> None:
        if self.journal is None:
            return
        values = {name: round(float(value), 6) for name, value in parts.items()}  # waits for the device
        if not math.isfinite(values["loss"]):
            raise ModelError(
                f"The loss is not a number at step {self.position.step}.",
                hint="lower optimiser.lr, or set run.precision = 'fp32'",
            )
        values |= {"grad_norm": round(float(norm), 4), "lr": self.recipe.optimiser.lr * factor}
        values |= window.rates()
        values |= {"triples": self.position.triples, "seconds": round(self.budget.used, 2)}
        self.journal.write("train", self.position.step, values)

    def _evaluate_during(self) -> None:
        if not self.processes.is_main or not self.during:
            return
        for result in self._evaluate(self.during, None):
            measures = as_it_ranks(result.scores)
            if self.journal is not None:
                values = {"benchmark": result.name, **measures, "subsets": result.subsets, **result.detector}
                self.journal.write("evaluation", self.position.step, values)

    def _evaluate(self, benchmarks: list[Benchmark], out: Path | None) -> Iterator[Result]:
        if self._ranker is None:
            self._ranker = Ranker(
                self.module.encoder,
                self.module.gate,
                TextReader(self.text),
                self.device,
                skipped_document_ids(self.model),
            )
        return evaluate(self._ranker, benchmarks, out, depth=self.recipe.run.depth)

    def _save_state(self) -> None:
        if self.processes.is_main:
            self.position.seconds = self.budget.used
            save_state(
                self.state_folder,
                self.module,
                self.optimiser,
                self.position,
                self.recipe.as_dict(),
                self.processes.count,
            )

    def _finish(self, outcome: Outcome) -> None:
        """Save the model first: an evaluation that fails must not cost the training."""
        if outcome.interrupted and self._is_untouched:
            return  # before the first batch: there is nothing to save, and maybe something to lose
        self._begin()
        average(self.model, self._before, self.recipe.run.start_share)
        set_gate(self.model, self.recipe.run.gate)
        save_checkpoint(self.model, self.output / "model", half=self.recipe.run.save_fp16, overwrite=True)
        if self.at_end and not outcome.interrupted:
            measured = self._evaluate(self.at_end, self.output / "runs")
            outcome.results = save_results(self.output / "results.json", measured)
        if self.journal is not None:
            summary = {k: v for k, v in vars(outcome).items() if k != "results"}
            summary["results"] = [vars(result) for result in outcome.results]
            self.journal.write("end", outcome.step, summary)

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    @contextmanager
    def _stopping_on_signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C end the loop with a checkpoint, after the step in flight or in a wait."""

        def ask(_number: int, _frame: FrameType | None) -> None:
            self._stop_asked = True
            if self._waiting:
                raise _StopWaiting

        before = {}
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                before[number] = signal.signal(number, ask)
            except ValueError:  # not the main thread: then nobody sends us signals either
                continue
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _refuse_loss(output: Path) -> None:
    """A training that would replace what hours have made is a slip more often than a wish."""
    for part, what in ((output / "state", "the checkpoint of a training"), (output / "model", "a model")):
        if part.is_dir():
            resume = ", go on with --set run.resume=true" if has_state(output / "state") else ""
            raise ConflictError(
                f"'{output}' holds {what} already.",
                hint=f"choose another run.output{resume}, or pass --overwrite",
            )


class Window:
    """Rates since the last line of the log."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._start, self._triples, self._tokens = time.monotonic(), 0, 0

    def add(self, triples: int, tokens: int) -> None:
        self._triples += triples
        self._tokens += tokens

    def rates(self) -> dict[str, float]:
        seconds = max(time.monotonic() - self._start, 1e-9)
        found = {
            "triples_per_s": round(self._triples / seconds, 1),
            "tokens_per_s": round(self._tokens / seconds),
        }
        self._reset()
        return found
