"""The judge against a local server that speaks the protocol."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.baselines import llm
from numcolbert.baselines.kept_scores import KeptScores
from numcolbert.baselines.llm import EndpointError, LLMJudge, LLMSettings
from numcolbert.cli.app import app
from numcolbert.errors import InputError, StorageError, UsageError
from numcolbert.progress import Update, listening


class Server:
    """Grades a passage by the digit in it; `failures` are answered first."""

    def __init__(self) -> None:
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.requests: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.reply: str | None = None
        self.refusal: bytes | None = None
        """What failures say; by default an object."""
        self.meeting: threading.Barrier | None = None
        self.running = self.most_running = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                with outer.lock:
                    outer.running += 1
                    outer.most_running = max(outer.most_running, outer.running)
                if outer.meeting:
                    outer.meeting.wait(30)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append({"path": self.path, **body})
                    outer.headers.append(dict(self.headers))
                    failure = outer.failures.pop(0) if outer.failures else None
                    outer.running -= 1  # before the answer, which lets the next request in
                if failure:
                    said = json.dumps({"error": "busy"}).encode()
                    self.answer(failure[0], said if outer.refusal is None else outer.refusal, failure[1])
                else:
                    passage = body["messages"][0]["content"].split("Passage: ")[1]
                    text = next(c for c in passage if c.isdigit())
                    content = outer.reply if outer.reply is not None else text
                    reply = {"choices": [{"message": {"content": content}}]}
                    self.answer(200, json.dumps(reply).encode(), {})

            def answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, text in ({"Content-Length": str(len(data))} | headers).items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def judge(server: Server, folder: Path, **changes) -> LLMJudge:
    settings = LLMSettings(endpoint=server.url, model="toy", api_key="secret", backoff_s=0.0, **changes)
    return LLMJudge(settings, folder / "answers.sqlite")


PAIRS = [("heavy things", f"weighs {grade} kilograms") for grade in (4, 1, 5, 4)]


def test_grades_and_protocol(server: Server, tmp_path: Path) -> None:
    assert judge(server, tmp_path).score(PAIRS) == [4, 1, 5, 4]
    assert len(server.requests) == 3, "the same pair is asked once"
    first = server.requests[0]
    assert first["path"] == "/v1/chat/completions" and first["model"] == "toy" and first["temperature"] == 0
    assert "Query: heavy things" in first["messages"][0]["content"]
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_answers_are_kept(server: Server, tmp_path: Path) -> None:
    judge(server, tmp_path).score(PAIRS)
    server.requests.clear()
    assert judge(server, tmp_path).score(PAIRS) == [4, 1, 5, 4]
    assert server.requests == []


def test_the_estimate_asks_nothing(server: Server, tmp_path: Path) -> None:
    one = judge(server, tmp_path, dollars_per_million_input=1.0, dollars_per_million_output=2.0)
    estimate = one.estimate(PAIRS)
    assert (estimate.calls, estimate.cached, estimate.output_tokens) == (3, 0, 3)
    assert estimate.dollars == pytest.approx((estimate.input_tokens + 2 * 3) / 1e6)
    assert server.requests == []
    one.score(PAIRS[:1])
    assert (one.estimate(PAIRS).calls, one.estimate(PAIRS).cached) == (2, 1)


def test_it_tries_again_and_obeys_retry_after(server: Server, tmp_path: Path) -> None:
    server.failures = [(429, {"Retry-After": "7"}), (503, {}), (503, {"Retry-After": "²"})]
    pauses: list[float] = []
    settings = LLMSettings(endpoint=server.url, model="toy", backoff_s=2.0)
    one = LLMJudge(settings, tmp_path / "a.sqlite", sleep=pauses.append)
    assert one.score(PAIRS[:1]) == [4]
    assert pauses[0] == 7 and 3 <= pauses[1] <= 5, "second pause: 2 s, doubled once, give or take a quarter"
    assert 6 <= pauses[2] <= 10, "doubled twice where the server gives no number"


def test_it_gives_up_and_says_so(server: Server, tmp_path: Path) -> None:
    server.failures = [(500, {})] * 3
    with pytest.raises(EndpointError, match="answered 500"):
        judge(server, tmp_path, retries=2).score(PAIRS[:1])
    server.failures = [(401, {})]
    with pytest.raises(EndpointError, match="answered 401") as caught:
        judge(server, tmp_path).score(PAIRS[:1])
    assert caught.value.hint == "set the API key"


def test_what_was_not_answered_is_not_counted(server: Server, tmp_path: Path) -> None:
    server.failures = [(401, {})]
    updates: list[Update] = []
    pairs = [("q", f"passage {i}") for i in range(20)]
    with listening(updates.append), pytest.raises(EndpointError):
        judge(server, tmp_path, concurrency=1).score(pairs)
    answered = sum("passage" in request["messages"][0]["content"] for request in server.requests) - 1
    assert updates[-1].finished and updates[-1].done <= answered < 20


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (b'{\n  "error": {\n    "code": "bad"\n  }\n}\n', {}, '402: { "error": { "code": "bad" } }'),
        (b'{"err', {"Content-Length": "99"}, "402."),
        (b"", {}, "402."),
    ],
)
def test_a_refusal_is_one_line_whatever_it_says(
    server: Server, tmp_path: Path, body: bytes, headers: dict[str, str], said: str
) -> None:
    server.failures, server.refusal = [(503, headers), (402, headers)], body
    with pytest.raises(EndpointError) as caught:
        judge(server, tmp_path).score(PAIRS[:1])
    assert caught.value.message == f"'{server.url}' answered {said}"
    assert len(server.requests) == 2, "a server that is busy is asked again, also where it breaks off"


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.example"])
def test_what_is_no_address_is_not_asked_again(tmp_path: Path, host: str) -> None:
    pauses: list[float] = []
    settings = LLMSettings(endpoint=f"http://{host}/v1")
    with pytest.raises(EndpointError, match="cannot be reached"):
        LLMJudge(settings, tmp_path / "a.sqlite", sleep=pauses.append).score(PAIRS[:1])
    assert pauses == []


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    settings = LLMSettings(endpoint="http://127.0.0.1:9", retries=1, backoff_s=0)
    with pytest.raises(EndpointError, match="cannot be reached"):
        LLMJudge(settings, tmp_path / "a.sqlite").score(PAIRS[:1])


@pytest.mark.parametrize(
    ("reply", "grade", "unreadable"),
    [("5", 5, 0), ("Relevance: 3.", 3, 0), ("4/5", 4, 0), ("I cannot say", 1, 1), ("10", 1, 1), ("", 1, 1)],
)
def test_answers_are_read(server: Server, tmp_path: Path, reply: str, grade: int, unreadable: int) -> None:
    server.reply = reply
    one = judge(server, tmp_path)
    assert one.score(PAIRS[:1]) == [grade]
    assert one.unreadable == unreadable
    assert one.estimate(PAIRS[:1]).cached == 1 - unreadable, "what holds no grade is asked again"


def test_an_answer_that_a_filter_took_away_ends_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = judge(server, tmp_path)
    with monkeypatch.context() as patched:
        nothing = {"choices": [{"message": {"content": None}}]}
        patched.setattr(one, "_post", lambda path, body: nothing)
        assert one.score(PAIRS[:1]) == [1] and one.unreadable == 1
    assert one.score(PAIRS[:1]) == [4], "asked again, for it was not kept"


def test_what_was_kept_without_a_grade_is_asked_again(server: Server, tmp_path: Path) -> None:
    judge(server, tmp_path).score(PAIRS)
    with sqlite3.connect(tmp_path / "answers.sqlite") as database:
        database.execute("UPDATE answers SET answer = 'None'")
    assert judge(server, tmp_path).score(PAIRS) == [4, 1, 5, 4] and len(server.requests) == 6


def test_many_at_once(server: Server, tmp_path: Path) -> None:
    pairs = [("q", f"{i % 5 + 1} and {'x' * i}") for i in range(60)]
    server.meeting = threading.Barrier(6)  # nobody is answered until six have asked
    assert judge(server, tmp_path, concurrency=6).score(pairs) == [i % 5 + 1 for i in range(60)]
    assert server.most_running == 6


def test_nothing_more_is_asked_after_an_interruption(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, asked, leaving = judge(server, tmp_path, concurrency=1), [], threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            leaving.set()
            super().shutdown(wait=wait)

    def ask(pair: tuple[str, str]) -> str:
        asked.append(pair)
        leaving.wait()
        return "1"

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(llm, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(llm, "wait", interrupted)
    monkeypatch.setattr(one, "_ask", ask)
    with pytest.raises(KeyboardInterrupt):
        one.score([("q", str(number)) for number in range(60)])
    assert len(asked) <= 1, "the one that was under way"


@pytest.mark.parametrize(
    ("body", "length", "complaint"),
    [(b"\xff{", 2, "does not answer with JSON"), (b'{"choi', 99, "cannot be reached")],
)
def test_an_answer_that_breaks_off_or_is_no_json(
    tmp_path: Path, body: bytes, length: int, complaint: str
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{http.server_address[1]}"
        one = LLMJudge(LLMSettings(endpoint=address, retries=1, backoff_s=0), tmp_path / "a.sqlite")
        with pytest.raises(EndpointError, match=complaint):
            one.score(PAIRS[:1])
        http.shutdown()


@pytest.mark.parametrize(
    "opened",
    [
        lambda path: LLMJudge(LLMSettings(), path),
        lambda path: KeptScores(LLMJudge(LLMSettings(), path.with_name("good")), "m", path),
    ],
)
def test_a_cache_that_is_none_is_named(tmp_path: Path, opened: Callable[[Path], object]) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_text("no database at all, but long enough to be looked at as one " * 20)
    with pytest.raises(StorageError, match="cannot be opened"):
        opened(path)


def test_wrong_use(tmp_path: Path) -> None:
    for settings in (LLMSettings(endpoint="http://["), LLMSettings(endpoint="https://")):
        with pytest.raises(UsageError, match="not an endpoint"):
            LLMJudge(settings, tmp_path / "a")
    with pytest.raises(UsageError, match="API key"):
        LLMJudge(LLMSettings(api_key="two\nlines"), tmp_path / "a")
    with pytest.raises(UsageError, match="not an endpoint"):
        LLMJudge(LLMSettings(endpoint="ftp://x"), tmp_path / "a")
    with pytest.raises(UsageError, match="concurrency is 0"):
        LLMJudge(LLMSettings(concurrency=0), tmp_path / "a")


@pytest.mark.parametrize(
    "endpoint",
    ["http://x:abc/v1", "http://x:99999", "http://x/ü", "http://ü/v1", "http://x/a b", "http://x/v1\n"],
)
def test_what_can_be_no_endpoint_is_refused_at_once(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(UsageError, match="not an endpoint"):
        LLMJudge(LLMSettings(endpoint=endpoint), tmp_path / "a")


@pytest.mark.parametrize("number", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("dollars_per_million_input", "price of input"),
        ("dollars_per_million_output", "price of output"),
        ("backoff_s", "pause"),
        ("timeout_s", "time limit"),
    ],
)
def test_numbers_that_are_none_are_refused(tmp_path: Path, name: str, called: str, number: float) -> None:
    with pytest.raises(UsageError, match=called):
        LLMJudge(replace(LLMSettings(), **{name: number}), tmp_path / "a")


def test_the_command_says_what_it_made(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "corpus.jsonl").write_text('{"id": "d", "text": "weighs 4 kilograms"}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "heavy things"}\n')
    (tmp_path / "qrels.trec").write_text("q 0 d 1\n")
    first, out = tmp_path / "first.run", tmp_path / "llm.run"
    first.write_text("q Q0 d 1 2.0 t\n")
    options = ["--first", str(first), "-o", str(out), "--endpoint", server.url, "--model", "toy", "--json"]
    result = CliRunner().invoke(app, ["baseline", "llm", str(tmp_path), *options])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said.pop("estimate")["calls"] == 1
    assert said == {"system": "toy", "run": str(out), "queries": 1} and out.is_file()
    refused = CliRunner().invoke(
        app, ["baseline", "llm", str(tmp_path), *options, "--input-price", "nan", "--dry-run"]
    )
    assert isinstance(refused.exception, UsageError) and not refused.stdout


def test_an_endpoint_of_another_kind(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = judge(server, tmp_path)
    for reply in ({"answer": 42}, {"choices": [{"message": {"content": 5}}]}):
        monkeypatch.setattr(one, "_post", lambda path, body, reply=reply: reply)
        with pytest.raises(InputError, match="answered without choices"):
            one.score(PAIRS[:1])
    assert one.estimate(PAIRS[:1]).cached == 0
