"""Every failure a person can cause, as one sentence and a hint.

The same three fields (`code`, `message`, `hint`) reach the library's caller as an exception, the terminal
as two lines, and an HTTP client as JSON. A traceback therefore always means a defect of ours.
"""

from __future__ import annotations

from typing import ClassVar


class NumColBERTError(Exception):
    """Base of all errors raised on purpose."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}"

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "hint": self.hint}


class UsageError(NumColBERTError):
    """The call itself is wrong: an option, an argument, a recipe key, a filter expression."""

    code = "wrong_use"
    exit_code = 2
    http_status = 400


class InputError(NumColBERTError):
    """The data handed in is wrong: a file's content, a document, a vector, a query."""

    code = "bad_input"
    http_status = 422


class NotFoundError(NumColBERTError):
    """A named file, index, document or model is not there."""

    code = "not_found"
    http_status = 404


class ConflictError(NumColBERTError):
    """Something is already there, or is in use by someone else."""

    code = "conflict"
    http_status = 409


class ModelError(NumColBERTError):
    """A model folder or file cannot be used."""

    code = "bad_model"


class DamagedIndexError(NumColBERTError):
    """An index on disk does not match its manifest."""

    code = "damaged_index"


class StorageError(NumColBERTError):
    """The disk is full, read-only, or does not let us in."""

    code = "storage"
    http_status = 507


class MissingDependencyError(NumColBERTError):
    """An optional package is needed and not installed."""

    code = "missing_dependency"
    http_status = 501

    @classmethod
    def for_extra(cls, package: str, extra: str, purpose: str) -> MissingDependencyError:
        return cls(
            f"{purpose} needs the package '{package}', which is not installed.",
            hint=f"pip install 'numcolbert[{extra}]'",
        )
