"""The file of a campaign: which runs there are, what each of them starts, and what it waits for.

    common = ["run.steps=3000"]                 settings of all trainings
    words = { SETS = ["benchmarks/a", "..."] }  lists that one word of a command, or one setting, stands for
    [[runs]]
    name = "no-gate"                            its folder is WORK/runs/no-gate

What a run is, one of:
    recipe, set                                 a training
    recipe, set, baseline, rates                a training of a compared system
    command = ["-m", "package", "..."]          arguments of Python
    commands = [[...], [...]]                   one after the other
    after, shares = [0.05, 0.1]                 that run's model with so much of the weights it started from,
                                                ranked on the benchmarks in words.BENCHMARKS
    gate_lengths = [6, 8]                       of such a model: |Q| in its gate's formula, and
    gate_strengths = [0.8, 1]                   the factor of what its network says; of several shares,
                                                lengths and strengths those best on words.CHOSEN_ON, or on
    chosen_on = "ALL_DEV"                       what another word stands for

When it starts:
    after = "name"                              once that run has ended well
    needs = ["name"]                            once these have too, such as a teacher
    alone = true                                nothing runs beside it
    background = true                           takes no slot, and ends with the last run that takes one
    ready = "WORK/tape/tape.json"               of a background run: the file that others wait for
    beside = "tape"                             while that background run goes on, or after it
    minutes = 10                                only while so much time is left

What is packed of it, beside its log and results:
    keep_depth = 1000                           hits a query, in place of 100
    keep_model = true

In commands and settings WORK is the folder of the campaign, RUN that of the run, and COMMON, as a whole word
of a command, all settings in `common`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from numcolbert.config import read_toml, settings_from
from numcolbert.errors import UsageError

USUAL_DEPTH = 100
AGAIN = "--overwrite"
"""A run that is started again begins anew."""
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class Run:
    name: str
    recipe: str = ""
    set: tuple[str, ...] = ()
    baseline: str = ""
    rates: tuple[float, ...] = ()
    command: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    shares: tuple[float, ...] = ()
    gate_lengths: tuple[int, ...] = ()
    gate_strengths: tuple[float, ...] = ()
    chosen_on: str = "CHOSEN_ON"
    after: str = ""
    needs: tuple[str, ...] = ()
    alone: bool = False
    background: bool = False
    ready: str = ""
    beside: str = ""
    minutes: float = 0.0
    keep_depth: int = USUAL_DEPTH
    keep_model: bool = False

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The runs it cannot start without, in whatever way."""
        return tuple(filter(None, (self.after, *self.needs, self.beside)))


@dataclass(frozen=True)
class Plan:
    common: tuple[str, ...] = ()
    words: dict[str, list[str]] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()

    def only(self, names: Sequence[str], had: Sequence[str] = ()) -> Plan:
        """The named runs, or all where none is named, without those that are `had` already; and what they
        wait for, but not what those that are there have waited for.
        """
        known = {run.name: run for run in self.runs}
        for name in (*names, *had):
            if name not in known:
                raise UsageError(f"The plan has no run '{name}'.", hint="its runs: " + ", ".join(known))
        waiting = known | {name: replace(known[name], after="", needs=(), beside="") for name in had}
        wanted = {other for name in names or known for other in _waited_for(waiting, waiting[name])}
        return replace(self, runs=tuple(run for run in self.runs if run.name in wanted - {*had}))


def read_plan(file: Path, changes: Sequence[str] = ()) -> Plan:
    """The plan in `file`, with the settings `changes` added to those of all trainings."""
    values = read_toml(file)
    rows = values.pop("runs", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"The runs of '{file}' are not tables.", hint="begin each with a line [[runs]]")
    plan = settings_from(Plan, values, f"'{file}'")
    runs = tuple(
        _with_settings(settings_from(Run, row, f"run {row.get('name', number)!r} of '{file}'"), plan)
        for number, row in enumerate(rows, 1)
    )
    for run in runs:
        _check(run, {other.name: other for other in runs})
    if len({run.name for run in runs}) < len(runs):
        raise UsageError(f"Two runs of '{file}' have the same name.", hint="give each a name of its own")
    return replace(plan, common=(*plan.common, *changes), runs=runs)


def commands_of(run: Run, plan: Plan, work: Path, seconds: float = math.inf) -> list[list[str]]:
    """The command lines of a run, to be started one after the other. A training ends after so many seconds at
    the latest, as one that has learned all it could in that time; its own settings may say otherwise.
    """
    budget = [f"run.time_budget_s={max(1.0, seconds):.0f}"] if math.isfinite(seconds) else []
    settings = _options((*budget, *plan.common, *run.set))
    if run.baseline:
        rates = ["--rates", *map(str, run.rates)] if run.rates else []
        train = ["-m", "numcolbert.baselines", "train", run.baseline, run.recipe, "-o", "RUN", *rates]
        chosen = [[*train, *settings, AGAIN]]
    elif run.recipe:
        chosen = [["-m", "numcolbert.train", run.recipe, *settings, "--set", "run.output=RUN", AGAIN]]
    else:
        commands = _averaged(run) if run.shares else run.commands or (run.command,)
        chosen = [_written_out(command, plan) for command in commands]
    return [[sys.executable, *(in_folders(word, run, work) for word in words)] for words in chosen]


def _averaged(run: Run) -> list[list[str]]:
    trained, made = f"WORK/runs/{run.after}", ["-o", "RUN/model", AGAIN]
    shares = list(map(str, run.shares))
    depth = [] if run.keep_depth == USUAL_DEPTH else ["--depth", str(run.keep_depth)]
    gates = {"--gate-length": run.gate_lengths, "--gate-strength": run.gate_strengths}
    if any(len(values) > 1 for values in (shares, *gates.values())):
        several = [
            word for name, values in gates.items() if values for word in (f"{name}s", *map(str, values))
        ]
        tried = ["--shares", *shares, *several]
        rank = ["--rank", "BENCHMARKS", "--runs", "RUN/runs", *depth]
        return [["-m", "numcolbert.train.choose", trained, run.chosen_on, *tried, *made, *rank]]
    one = [word for name, values in gates.items() for value in values for word in (name, str(value))]
    average = ["-m", "numcolbert.train.average", trained, "--share", *shares, *one, *made]
    return [average, ["-m", "numcolbert.train.evaluate", "RUN/model", "BENCHMARKS", "-o", "RUN/runs", *depth]]


def in_folders(text: str, run: Run, work: Path) -> str:
    """The text with the folders that WORK and RUN stand for."""
    folders = {"WORK": str(work), "RUN": str(work / "runs" / run.name)}
    return re.sub(r"\b(WORK|RUN)\b", lambda found: folders[found[0]], text)


def _with_settings(run: Run, plan: Plan) -> Run:
    return replace(run, set=tuple(part for word in run.set for part in plan.words.get(word, [word])))


def _options(settings: Sequence[str]) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


def _written_out(command: Sequence[str], plan: Plan) -> list[str]:
    words = plan.words | {"COMMON": _options(plan.common)}
    out: list[str] = []
    for word in command:
        parts = words.get(word, [word])
        if out[-1:] == ["--set"]:  # each of several settings needs its own
            parts = _options(parts)[1:]
        out += parts
    return out


def _waited_for(known: Mapping[str, Run], run: Run, seen: tuple[str, ...] = ()) -> Iterator[str]:
    """The run's name, and those of all runs it waits for."""
    if run.name in seen:
        raise UsageError(
            f"The run '{run.name}' waits for itself.", hint="break the circle of after and beside"
        )
    yield run.name
    for other in run.waits_for:
        yield from _waited_for(known, known[other], (*seen, run.name))


def _check(run: Run, known: Mapping[str, Run]) -> None:
    """What the types cannot say."""
    if not _NAME.fullmatch(run.name):
        raise UsageError(f"'{run.name}' is no name for a run.", hint="use letters, digits, '-', '_' and '.'")
    if sum(map(bool, (run.recipe, run.command, run.commands, run.shares))) != 1 or not all(run.commands):
        raise UsageError(
            f"The run '{run.name}' does not say what to start.",
            hint="give it one of recipe, command, commands, shares",
        )
    for wrong, said, hint in [
        (run.baseline and not run.recipe, "has a baseline and no recipe", "name the recipe of its data"),
        (run.rates and not run.baseline, "has rates and no baseline", "set optimiser.lr for a training"),
        (run.set and not run.recipe, "has settings and no recipe", "write them into its command"),
        (
            (run.gate_lengths or run.gate_strengths) and not run.shares,
            "changes a gate and averages nothing",
            "give it shares",
        ),
        (run.shares and not run.after, "averages nothing", "name the training with after"),
        *(
            (not 0 <= share <= 1, f"has a share of {share:g}", "it lies between 0 and 1")
            for share in run.shares
        ),
        (run.background and run.alone, "is in the background and alone", "choose one of the two"),
        (run.ready and not run.background, "is ready and not in the background", "add background = true"),
        (run.keep_depth < 1, f"keeps {run.keep_depth} hits", "keep_depth is positive"),
        (run.minutes < 0, f"takes {run.minutes:g} minutes", "minutes are positive"),
    ]:
        if wrong:
            raise UsageError(f"The run '{run.name}' {said}.", hint=hint)
    for other in run.waits_for:
        if other not in known:
            key = "beside" if other == run.beside else "after"
            raise UsageError(
                f"The run '{run.name}' starts {key} '{other}', which is no run.", hint="check its name"
            )
    if run.beside and not known[run.beside].background:
        raise UsageError(
            f"The run '{run.name}' starts beside '{run.beside}', which is not in the background.",
            hint="say after, or give that run background = true",
        )
    if run.alone and run.beside:
        raise UsageError(f"The run '{run.name}' is alone and beside another.", hint="choose one of the two")
    for _ in _waited_for(known, run):  # raises for a circle
        pass
