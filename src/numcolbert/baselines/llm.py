"""A language model as judge: any OpenAI-compatible endpoint grades each passage from 1 to 5.

Answers with a grade are kept on disk, so an interrupted run costs nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import random
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from http.client import HTTPException, InvalidURL
from pathlib import Path
from typing import Any

from numcolbert.baselines.cache import open_cache
from numcolbert.baselines.rerank import Pair
from numcolbert.errors import InputError, NumColBERTError, UsageError
from numcolbert.progress import Progress

log = logging.getLogger(__name__)

PROMPT = """You judge search results. Some queries ask for a quantity that is equal to, greater than or less \
than a value; a passage is relevant only if it is about what the query asks for and its quantity satisfies \
the condition, converting units where needed.

Query: {query}
Passage: {passage}

Answer with one digit from 1 (not relevant) to 5 (perfectly relevant) and nothing else."""

_RETRIED = {408, 409, 429, 500, 502, 503, 504}
_CHARACTERS_A_TOKEN = 4
_LOWEST = 1.0
_GRADE = re.compile(r"(?<![\d.])[1-5](?![\d.]\d|\d)")


class EndpointError(NumColBERTError):
    """The language model's endpoint refused or could not be reached."""


@dataclass(frozen=True)
class LLMSettings:
    endpoint: str = "https://api.openai.com/v1"
    model: str = "gpt-4o-mini"
    api_key: str = ""
    concurrency: int = 8
    retries: int = 6
    backoff_s: float = 1.0
    timeout_s: float = 60.0
    dollars_per_million_input: float = 0.15
    dollars_per_million_output: float = 0.60


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would cost."""

    calls: int
    cached: int
    input_tokens: int
    output_tokens: int
    dollars: float


class LLMJudge:
    """A `Scorer` that asks an endpoint."""

    def __init__(
        self, settings: LLMSettings, cache: Path, *, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        _check_numbers(settings)
        if not _is_address(settings.endpoint):
            raise UsageError(
                f"'{settings.endpoint}' is not an endpoint.",
                hint="it begins with http:// or https:// and holds neither spaces nor letters beyond ASCII",
            )
        if not (settings.api_key.isascii() and settings.api_key.isprintable()):
            raise UsageError(
                "The API key holds characters that no key has.",
                hint="set it again, without line breaks",
            )
        self.settings = settings
        self.unreadable = 0
        """Answers without a grade; they count as the lowest."""
        self._sleep = sleep
        self._lock = threading.Lock()
        self._database = open_cache(cache, "answers (key BLOB PRIMARY KEY, answer TEXT)", threads=True)

    def estimate(self, pairs: Sequence[Pair]) -> Estimate:
        """Count without asking (about four characters a token)."""
        distinct = list(dict.fromkeys(pairs))
        open_pairs = [pair for pair in distinct if self._remembered(pair) is None]
        tokens = sum(len(self._prompt(pair)) // _CHARACTERS_A_TOKEN + 8 for pair in open_pairs)
        dollars = (
            tokens * self.settings.dollars_per_million_input
            + len(open_pairs) * self.settings.dollars_per_million_output
        ) / 1e6
        return Estimate(len(open_pairs), len(distinct) - len(open_pairs), tokens, len(open_pairs), dollars)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        distinct = list(dict.fromkeys(pairs))
        answers: dict[Pair, str] = {}
        fresh = []
        for pair in distinct:
            known = self._remembered(pair)
            if known is None:
                fresh.append(pair)
            else:
                answers[pair] = known
        with (
            Progress(self.settings.model, len(fresh), "pairs") as progress,
            ThreadPoolExecutor(self.settings.concurrency) as pool,
        ):

            def count(asked: Future[str]) -> None:
                if not asked.cancelled() and asked.exception() is None:
                    progress.advance()

            try:
                futures: dict[Future[str], Pair] = {pool.submit(self._ask, pair): pair for pair in fresh}
                for future in futures:
                    future.add_done_callback(count)
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # after a failure, or Ctrl-C, the rest is not asked: the pool would wait for all of it
                pool.shutdown(wait=False, cancel_futures=True)
            for future in done:
                answers[futures[future]] = future.result()
        self.unreadable = 0
        grades = {pair: self._grade(answer) for pair, answer in answers.items()}
        if self.unreadable:
            log.warning("%d answers held no grade and count as 1", self.unreadable)
        return [grades[pair] for pair in pairs]

    def close(self) -> None:
        self._database.close()

    def _grade(self, answer: str) -> float:
        found = _GRADE.search(answer)
        if found is None:
            self.unreadable += 1
            return _LOWEST
        return float(found.group())

    def _ask(self, pair: Pair) -> str:
        body = {
            "model": self.settings.model,
            "messages": [{"role": "user", "content": self._prompt(pair)}],
            "temperature": 0,
            "max_tokens": 4,
        }
        reply = self._post("/chat/completions", body)
        try:
            answer = reply["choices"][0]["message"]["content"]
            if answer is None:  # a filter was in the way: no reason to end a run of thousands
                answer = ""
            if not isinstance(answer, str):
                raise TypeError(answer)
        except (KeyError, IndexError, TypeError) as error:
            raise InputError(
                f"'{self.settings.endpoint}' answered without choices: {json.dumps(reply)[:200]}.",
                hint="is the endpoint OpenAI-compatible?",
            ) from error
        if _GRADE.search(answer):  # another time there may be one, and none is worth keeping
            row = (self._key(pair), answer)
            with self._lock:
                self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)
                self._database.commit()
        return answer

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self.settings.endpoint.rstrip("/") + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.settings.api_key}"},
        )
        for attempt in range(self.settings.retries + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.settings.timeout_s) as response:
                    return json.loads(response.read())
            except urllib.error.HTTPError as error:
                if error.code not in _RETRIED or attempt == self.settings.retries:
                    raise _refusal(self.settings.endpoint, error) from error
                pause = self._pause(attempt, error.headers.get("Retry-After"))
            except (OSError, HTTPException, ValueError) as error:
                hopeless = _is_no_address(error)
                if hopeless or attempt == self.settings.retries:
                    no_json = isinstance(error, ValueError) and not hopeless
                    what = "does not answer with JSON" if no_json else "cannot be reached"
                    raise EndpointError(
                        f"'{self.settings.endpoint}' {what}: {error}.",
                        hint="check the address and the network; answers so far are kept",
                    ) from error
                pause = self._pause(attempt, None)
            self._sleep(pause)
        raise AssertionError("the loop returns or raises")

    def _pause(self, attempt: int, asked: str | None) -> float:
        """Twice as long each time, with some chance, unless the server says how long."""
        if asked is not None and asked.strip().isdecimal():
            return float(asked)
        return self.settings.backoff_s * 2.0**attempt * (0.75 + random.random() / 2)

    def _prompt(self, pair: Pair) -> str:
        return PROMPT.format(query=pair[0], passage=pair[1])

    def _key(self, pair: Pair) -> bytes:
        return hashlib.blake2b(
            json.dumps([self.settings.model, self._prompt(pair)]).encode(), digest_size=16
        ).digest()

    def _remembered(self, pair: Pair) -> str | None:
        with self._lock:
            row = self._database.execute(
                "SELECT answer FROM answers WHERE key = ?", (self._key(pair),)
            ).fetchone()
        return row[0] if row and _GRADE.search(row[0]) else None


def _check_numbers(settings: LLMSettings) -> None:
    for name, number, least in (
        ("concurrency", settings.concurrency, 1),
        ("number of retries", settings.retries, 0),
        ("pause before a retry", settings.backoff_s, 0),
        ("price of input", settings.dollars_per_million_input, 0),
        ("price of output", settings.dollars_per_million_output, 0),
    ):
        if not least <= number < math.inf:  # nor does what is no number pass
            raise UsageError(f"The {name} is {number}.", hint=f"give {least} or more")
    if not 0 < settings.timeout_s < math.inf:
        raise UsageError(f"The time limit is {settings.timeout_s}.", hint="give more than 0 seconds")


def _is_address(endpoint: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(endpoint)
        _ = parts.port  # read for its errors
    except ValueError:
        return False
    plain = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
    return plain and parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_no_address(error: Exception) -> bool:
    """Trying again cannot help: encoding fails in an address, decoding in an answer."""
    return isinstance(error, InvalidURL | UnicodeError) and not isinstance(error, UnicodeDecodeError)


def _refusal(endpoint: str, error: urllib.error.HTTPError) -> EndpointError:
    hints = {
        401: "set the API key",
        403: "the key has no access to this model",
        404: "check endpoint and model",
    }
    said = _body(error)
    return EndpointError(
        f"'{endpoint}' answered {error.code}: {said}" if said else f"'{endpoint}' answered {error.code}.",
        hint=hints.get(error.code, "answers so far are kept; run it again later"),
    )


def _body(error: urllib.error.HTTPError) -> str:
    """The beginning of what a refusal says, as one line; empty where it breaks off."""
    try:
        text = error.read().decode(errors="replace")
    except (OSError, HTTPException):
        return ""
    return " ".join(text.split())[:200]
