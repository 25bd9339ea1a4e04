"""A campaign runs unattended: what starts when, what becomes of it, and what is told of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOUCH = "from pathlib import Path; Path('WORK/{}').touch()"
UNTIL = "import time, pathlib\nwhile not pathlib.Path('WORK/{}').exists(): time.sleep(0.01)"
FOREVER = "import time; time.sleep(600)"
LISTED = "import os; print(sorted(os.listdir('WORK/running')))"
"""Prints which of the runs that `marked` made are running."""


def marked(code: str) -> str:
    """The code, with a file in WORK/running while it runs."""
    return (
        "import pathlib; here = pathlib.Path('WORK/running') / pathlib.Path('RUN').name\n"
        f"here.parent.mkdir(exist_ok=True); here.touch()\ntry:\n exec({code!r})\nfinally: here.unlink()"
    )


@pytest.fixture
def campaign(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(script("campaign_run"), "LOOK_AGAIN_SECONDS", 0.02)
    return script("campaign")


def written(path: Path, **runs: str | Mapping[str, Any]) -> Path:
    """A plan whose runs are code, or keys with `code` in place of a command."""
    lines = []
    for name, given in runs.items():
        keys = {"code": given} if isinstance(given, str) else dict(given)
        if "code" in keys:
            keys["command"] = ["-c", keys.pop("code")]
        lines += ["[[runs]]", f'name = "{name.replace("_", "-")}"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def states(output: str) -> dict[str, tuple[str, str]]:
    """State and reason of each run, from the table."""
    head, *rows = output.splitlines()
    start, end = head.index("state"), head.index("seconds") + len("seconds")
    return {row.split()[0]: (row[start : start + 11].strip(), row[end:].strip()) for row in rows}


class Ran:
    def __init__(self, folder: Path, campaign: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
        self.work, self._plan, self._campaign, self._capsys = (
            folder / "w",
            folder / "p.toml",
            campaign,
            capsys,
        )

    def __call__(self, *options: str, **runs: str | Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        written(self._plan, **runs)
        self.code = self._campaign.main(["run", str(self._plan), str(self.work), *options])
        return states(self._capsys.readouterr().out)

    def said(self, name: str) -> str:
        return (self.work / "logs" / f"{name}.log").read_text()


@pytest.fixture
def ran(tmp_path: Path, campaign: ModuleType, capsys: pytest.CaptureFixture[str]) -> Ran:
    return Ran(tmp_path, campaign, capsys)


def test_a_failure_is_told_with_its_last_line_and_skips_what_follows(ran: Ran) -> None:
    table = ran(
        bad="import sys; print('before'); sys.exit('error: no data\\nhint: get some')",
        after_bad={"code": "", "after": "bad"},
        after_that={"code": "", "after": "after-bad"},
        good="",
        after_good={"code": "", "after": "good"},
    )
    assert table == {
        "bad": ("failed", "error: no data hint: get some"),
        "after-bad": ("skipped", "'bad': failed"),
        "after-that": ("skipped", "'after-bad': skipped"),
        "good": ("done", ""),
        "after-good": ("done", ""),
    }
    assert ran.code == 1
    log = (ran.work / "campaign.log").read_text()
    assert "good starts: " in log
    assert "after-bad skipped 'bad': failed" in log


def test_a_run_starts_after_the_one_it_names(ran: Ran) -> None:
    table = ran(
        second={"code": "import pathlib; assert pathlib.Path('WORK/first').exists()", "after": "first"},
        first=TOUCH.format("first"),
    )
    assert table == {"second": ("done", ""), "first": ("done", "")}
    assert ran.code == 0


def test_a_run_starts_after_all_that_it_needs(ran: Ran) -> None:
    both = "import pathlib; assert all(pathlib.Path('WORK', name).exists() for name in ('first', 'teacher'))"
    table = ran(
        pupil={"code": both, "after": "first", "needs": ["teacher"]},
        first=TOUCH.format("first"),
        teacher="import time; time.sleep(0.3); " + TOUCH.format("teacher"),
        left={"code": "", "needs": ["bad"]},
        bad="raise SystemExit('no')",
    )
    assert {name: state for name, (state, _) in table.items()} == {
        "pupil": "done", "first": "done", "teacher": "done", "left": "skipped", "bad": "failed",
    }  # fmt: skip


def test_nothing_runs_beside_one_that_is_alone(ran: Ran) -> None:
    other = marked("import time; time.sleep(0.1)")
    table = ran(
        "--slots", "3", one=other, two=other, by_itself={"code": marked(LISTED), "alone": True}, three=other
    )
    assert {state for state, _ in table.values()} == {"done"}
    assert ran.said("by-itself") == "['by-itself']\n"


def test_a_background_run_takes_no_slot_and_ends_with_the_others(ran: Ran) -> None:
    tape = {"code": TOUCH.format("label") + "\n" + FOREVER, "background": True, "ready": "WORK/label"}
    reader = {"code": "import pathlib; assert pathlib.Path('WORK/label').exists()", "beside": "tape"}
    table = ran("--slots", "1", reader=reader, tape=tape, other=UNTIL.format("label"))
    assert table == {"reader": ("done", ""), "tape": ("stopped", ""), "other": ("done", "")}


def test_a_background_run_that_fails_takes_its_readers_with_it(ran: Ran) -> None:
    tape = {"code": "import sys; sys.exit('no pools')", "background": True, "ready": "WORK/label"}
    table = ran(tape=tape, reader={"code": "", "beside": "tape"})
    assert table == {"tape": ("failed", "no pools"), "reader": ("skipped", "'tape': failed")}


def test_background_runs_are_waited_for_where_there_are_no_others(ran: Ran) -> None:
    assert ran(tape={"code": "", "background": True}) == {"tape": ("done", "")}


def test_commands_of_a_run_follow_each_other_until_one_fails(ran: Ran) -> None:
    table = ran(
        chain={"commands": [["-c", "print(1)"], ["-c", "print(2)"]]},
        broken={"commands": [["-c", "print(1); raise SystemExit(3)"], ["-c", "print(2)"]]},
    )
    assert table == {"chain": ("done", ""), "broken": ("failed", "1")}
    assert ran.said("chain") == "1\n2\n"


TRAINING = """
import json, pathlib, signal, time
log = pathlib.Path('RUN/log.jsonl'); log.parent.mkdir(parents=True)
def tell(**line):
    with log.open('a') as file: file.write(json.dumps(line) + '\\n')
def stop(*_):
    tell(event='end', step=1234, interrupted=True); raise SystemExit(0)
signal.signal(signal.SIGTERM, stop)
tell(event='train', step=1200)
time.sleep(600)
"""
"""Ends as ours do: well, with a checkpoint, and a word in its log."""


def has_said(file: Path) -> bool:
    return file.is_file() and file.read_text().endswith("\n")


@pytest.fixture
def time_is_up_when(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], bool]], None]:
    """Ends the time of a campaign with an event: a busy machine may take long to get there."""

    def ends(event: Callable[[], bool]) -> None:
        monkeypatch.setattr(script("campaign_run").Campaign, "_is_time_up", lambda _: event())

    return ends


def test_time_ends_what_is_running(ran: Ran) -> None:
    assert ran("--seconds", "0.3", one=FOREVER) == {"one": ("stopped", "")}
    assert ran.code == 0


def test_at_the_end_of_time_trainings_stop_in_order_and_all_is_packed(
    ran: Ran, tmp_path: Path, time_is_up_when: Callable[[Callable[[], bool]], None]
) -> None:
    time_is_up_when(lambda: has_said(ran.work / "runs" / "training" / "log.jsonl"))
    table = ran(
        *("--slots", "2", "--seconds", "300", "--pack", str(tmp_path / "out")),
        training=TRAINING,
        follows={"code": "", "after": "training"},
        long={"code": "", "minutes": 10},
        chain={"commands": [["-c", FOREVER], ["-c", ""]]},
        waiting="",
    )
    assert table == {
        "training": ("stopped", "at step 1,234"),
        "follows": ("not started", "the time was up"),
        "long": ("not started", "its 10 minutes no longer fit"),
        "chain": ("stopped", ""),
        "waiting": ("not started", "the time was up"),
    }
    assert ran.code == 0
    assert (tmp_path / "out" / "campaign.tar.xz.1-of-1").is_file()
    assert "stopped at step 1,234" in (tmp_path / "out" / "campaign.log").read_text()


def test_a_run_that_does_not_listen_is_ended_with_all_it_started(
    ran: Ran,
    script: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    time_is_up_when: Callable[[Callable[[], bool]], None],
) -> None:
    monkeypatch.setattr(script("campaign_run"), "STOP_SECONDS", 0.2)
    time_is_up_when(lambda: has_said(ran.work / "logs" / "deaf.log"))
    deaf = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)\n"
        "time.sleep(600)"
    )
    assert ran(deaf=deaf) == {"deaf": ("stopped", "")}
    child = int(ran.said("deaf"))
    while is_running(child):
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """A process that ended and that nobody asked about is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_runs_and_packs(tmp_path: Path, number: signal.Signals) -> None:
    plan = written(tmp_path / "p.toml", training=TRAINING, later="")
    command = [sys.executable, str(ROOT / "scripts" / "campaign.py"), "run", str(plan), str(tmp_path / "w")]
    process = subprocess.Popen(
        [*command, "--slots", "1", "--pack", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    while not has_said(tmp_path / "w" / "runs" / "training" / "log.jsonl"):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert states(output) == {"training": ("stopped", "at step 1,234"), "later": ("not started", "")}
    assert list((tmp_path / "out").glob("campaign.tar.xz.*"))


def test_a_campaign_outlives_a_plan_that_is_being_written(ran: Ran, tmp_path: Path) -> None:
    spoil = f"open({str(tmp_path / 'p.toml')!r}, 'a').write('[[ru')"
    assert ran(one=spoil) == {"one": ("done", "")}
    assert "the plan stays as it was" in (ran.work / "campaign.log").read_text()


def test_runs_can_be_added_to_a_campaign(ran: Ran, tmp_path: Path) -> None:
    more = '[[runs]]\\nname = "two"\\ncommand = ["-c", ""]\\n'
    assert ran(one=f"open({str(tmp_path / 'p.toml')!r}, 'a').write('{more}')").keys() == {"one", "two"}


def test_what_has_ended_can_be_fetched_while_others_go_on(campaign: ModuleType, tmp_path: Path) -> None:
    out, log = tmp_path / "out", "runs/quick/log.jsonl"
    quick = (
        "from pathlib import Path; folder = Path({!r}); folder.mkdir(parents=True)\n"
        "(folder / 'log.jsonl').write_text('here')"
    ).format(str(tmp_path / "w" / "runs" / "quick"))
    # Ends only once the other is in the archive.
    slow = (
        "import lzma, tarfile, time; from pathlib import Path\n"
        f"while {log!r} not in [n for p in Path({str(out)!r}).glob('*.xz.1-of-1') for n in "
        "tarfile.open(p).getnames()]: time.sleep(0.05)"
    )
    plan = written(tmp_path / "p.toml", quick=quick, slow=slow)
    assert campaign.main(["run", str(plan), str(tmp_path / "w"), "--slots", "2", "--pack", str(out)]) == 0
    assert campaign.main(["unpack", str(out), str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / log).read_text() == "here"
    assert "slow done" in (tmp_path / "again" / "campaign.log").read_text()


def test_a_campaign_goes_on_with_what_was_made_before(ran: Ran) -> None:
    (ran.work / "runs" / "first").mkdir(parents=True)
    table = ran(
        "--have",
        "first",
        before="raise SystemExit('made again')",
        first={"code": "raise SystemExit('made again')", "after": "before"},
        then={"code": "", "after": "first"},
    )
    assert table["first"] == ("done", "made before") and table["then"] == ("done", "")
    assert table["before"][0] == "failed", "all others of the plan are started"
    table = ran("--have", "first", "--only", "then", before="", first="", then={"code": "", "after": "first"})
    assert table == {"then": ("done", ""), "first": ("done", "made before")}


def test_bad_use_is_told_before_anything_starts(
    campaign: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, work = str(written(tmp_path / "p.toml", one="")), str(tmp_path / "w")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "campaign.tar.xz.1-of-1").touch()
    for arguments, said in [
        (["run", str(tmp_path / "none.toml"), work], "does not exist"),
        (["run", plan, plan], "cannot be used"),  # a file where the folder should be
        (["run", plan, work, "--slots", "0"], "0 slots"),
        (["run", plan, work, "--only", "two"], "no run 'two'"),
        (["run", plan, work, "--have", "two"], "no run 'two'"),
        (["run", plan, work, "--have", "one"], "runs/one' does not exist"),
        (["run", plan, work, "--pack", str(tmp_path / "out")], "already holds a packed campaign"),
        (["run", plan, work, "--pack", str(tmp_path)], "already holds other files"),
    ]:
        assert campaign.main(arguments) != 0
        errors = capsys.readouterr().err
        assert said in errors
        assert "hint: " in errors
    assert not (tmp_path / "w").exists()


def test_development_results_are_shown_and_no_others(
    campaign: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = [
        {"name": "fin/dev", "scores": {"gated": {"nDCG@10": 0.5}}},
        {"name": "fin", "scores": {"gated": {"nDCG@10": 0.7}}},
    ]
    for name, folder in (("trained", "runs/trained"), ("averaged", "runs/averaged/runs")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "results.json").write_text(json.dumps(results))
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{name}.log").touch()
    assert campaign.main(["show", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all("dev 0.5000  fin/dev 0.500" in line and "0.7" not in line for line in lines)
