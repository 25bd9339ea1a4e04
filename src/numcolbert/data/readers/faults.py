"""What happens to bad input: raise with file and line, or count it and go on."""

from __future__ import annotations

from pathlib import Path

from numcolbert.errors import InputError

KEPT_MESSAGES = 20


class Faults:
    """Decides for one reading whether a bad line ends it or is skipped."""

    def __init__(self, path: Path, *, skip: bool) -> None:
        self.path, self.skip = path, skip
        self.count = 0
        self.messages: list[str] = []
        """The first few, for a person to look at."""

    def at(self, line: int, problem: str, *, hint: str, cause: Exception | None = None) -> None:
        self.report(f"Line {line} of '{self.path}' {problem}.", hint=hint, cause=cause)

    def report(self, message: str, *, hint: str, cause: Exception | None = None) -> None:
        if not self.skip:
            raise InputError(message, hint=hint) from cause
        self.count += 1
        if len(self.messages) < KEPT_MESSAGES:
            self.messages.append(message)


SKIP_HINT = "mend the line, or pass --skip-bad to leave such lines out"
