"""What holds for every command: an example in its help, --json, completion, exit codes, colours."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.cli.conftest import Command

from numcolbert.cli.app import app
from numcolbert.errors import NumColBERTError, UsageError


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from commands(child, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
EVERY = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


@EVERY
def test_help_shows_an_example_that_the_command_would_accept(path: tuple[str, ...]) -> None:
    help = COMMANDS[path].help
    examples = re.findall(r"\[bold\]numcolbert (.*?)\[/bold\]", help, flags=re.DOTALL)
    assert examples, f"'numcolbert {' '.join(path)}' has no example in its help"
    assert any(example.startswith(" ".join(path)) for example in examples)
    known = {
        name for parameter in COMMANDS[path].params for name in parameter.opts + parameter.secondary_opts
    }
    for example in examples:
        if example.startswith(" ".join(path)):
            unquoted = re.sub(r'"[^"]*"', "", example)
            assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", unquoted)) <= known, example


@EVERY
def test_json_everywhere(path: tuple[str, ...]) -> None:
    assert any("--json" in parameter.opts for parameter in COMMANDS[path].params)


def console(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numcolbert", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False, timeout=120
    )


ARGS, ACTION = "_TYPER_COMPLETE_ARGS", "_TYPER_COMPLETE_FISH_ACTION"


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", {"COMP_WORDS": "numcolbert se", "COMP_CWORD": "1"}),
        ("zsh", {ARGS: "numcolbert se"}),
        ("fish", {ARGS: "numcolbert se", ACTION: "get-args"}),
    ],
)
def test_the_shell_completes(shell: str, words: dict[str, str]) -> None:
    code = "from numcolbert.cli.app import app; app(prog_name='numcolbert')"
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "_NUMCOLBERT_COMPLETE": f"complete_{shell}", **words},
    )  # fmt: skip
    assert "search" in found.stdout
    assert "serve" in found.stdout
    assert "evaluate" not in found.stdout


def test_exit_codes(run: Command, idx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("search", str(idx), "a disk").code == 0
    assert run("search", str(idx / "nothing"), "a disk").code == 1
    assert run("search", str(idx)).code == 2
    assert run("search", str(idx), "a disk", "--where", "year >>> 3").code == 2
    assert (NumColBERTError.exit_code, UsageError.exit_code) == (1, 2)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("numcolbert.api.Index.search", interrupted)
    assert run("search", str(idx), "a disk").code == 130


def test_an_interrupt_while_the_commands_are_loaded_shows_no_traceback() -> None:
    code = (
        "import sys, types\n"
        "class App(types.ModuleType):\n"
        "    def __getattr__(self, name): raise KeyboardInterrupt\n"
        "sys.modules['numcolbert.cli.app'] = App('numcolbert.cli.app')\n"
        "from numcolbert.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a command shows on a terminal of its own."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "numcolbert", *arguments]
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not part:
            break
        shown += part
    process.wait(60)
    os.close(leader)
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_colours_on_a_terminal_and_none_with_no_color() -> None:
    assert "\x1b[31m" in on_a_terminal("search", "/nowhere", "a disk", NO_COLOR="")
    for arguments in (("search", "/nowhere", "a disk"), ("quantities", "5 kg of rice above 3 km")):
        plain = on_a_terminal(*arguments, NO_COLOR="1")
        assert not re.search(r"\x1b\[[\d;]*(3[0-7]|9[0-7])m", plain), plain


def test_piped_output_is_plain() -> None:
    found = console("quantities", "5 kg of rice")
    assert found.returncode == 0
    assert found.stdout.splitlines()[1].split("\t")[:3] == ["5 kg", "5", "kilogram"]
    assert "\x1b" not in found.stdout + found.stderr
