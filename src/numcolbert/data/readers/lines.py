"""Numbered lines of a plain or compressed text file, in bounded memory."""

from __future__ import annotations

import lzma
import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from numcolbert.data.readers.faults import Faults
from numcolbert.files import open_binary, require_file, storage_errors

LONGEST_LINE = 16 * 2**20
"""Bytes. A longer line is not a document, and reading it whole is what exhausts memory."""

# Control characters that no text has: not tab, line ends, form feed or escape.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def numbered_lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text with its line end) for every line that is UTF-8 text."""
    require_file(path, "file")
    if path.stat().st_size == 0:
        faults.report(f"The file '{path}' is empty.", hint="check how it was made")
        return
    with storage_errors(path), open_binary(path) as file:
        number = 0
        while True:
            raw, whole = _next_line(file, faults)
            if not raw:
                return
            number += 1
            if number == 1:
                raw = raw.removeprefix(BOM_UTF8)
            if not whole:
                faults.at(
                    number,
                    f"is longer than {LONGEST_LINE // 2**20} MB",
                    hint="write one document a line, or pass --skip-bad to leave it out",
                )
            elif number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                faults.at(
                    number, "is UTF-16, not UTF-8", hint="convert it: iconv -f utf-16 -t utf-8 OLD > NEW"
                )
            elif _BINARY.search(raw):
                faults.at(
                    number, "holds binary data, not text", hint="pass a text, CSV, JSONL or Parquet file"
                )
            else:
                try:
                    text = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    faults.at(
                        number,
                        f"is not UTF-8 (byte {error.start + 1})",
                        hint="convert it, for example: iconv -f latin1 -t utf-8 OLD > NEW",
                        cause=error,
                    )
                else:
                    yield number, text
            del raw


def _next_line(file: BinaryIO, faults: Faults) -> tuple[bytes, bool]:
    """One line and whether it is whole; the rest of an overlong line is read past, piece by piece."""
    try:
        raw = file.readline(LONGEST_LINE)
        if len(raw) < LONGEST_LINE or raw.endswith(b"\n"):
            return raw, True
        while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        return raw[:1], False
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not the content
        faults.report(
            f"The compressed file '{faults.path}' is damaged or cut off: {error}.",
            hint="fetch it again, or pass --skip-bad to keep what can be read",
            cause=error,
        )
        return b"", True
