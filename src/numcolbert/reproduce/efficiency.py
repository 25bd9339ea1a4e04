"""Runs of the compressed engine at several sizes, with what they cost: the rows of the efficiency table.

    python -m numcolbert.reproduce.efficiency SYSTEM MODEL BENCHMARK -o RUNS [--passages N] [--nbits 8 4 2 1]
        [--ungated SYSTEM] [--rounds 3]

encodes the benchmark with an exported model (an interrupted run goes on where it stopped), searches it
exactly and with each number of bits, and writes RUNS/SYSTEM-exact/ and RUNS/SYSTEM-plaid<bits>/ with
milliseconds a query (the median over queries) and bytes beside each run, and how many processors others kept
busy meanwhile. With --passages the collection is cut: every judged passage, and others evenly from all over
it. With --ungated the same indexes are asked once more with every gate at 1, which is what a plain ColBERT of
this size costs, and these runs get the name given. For times worth reporting let nothing else run on the
machine.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import UsageError
from numcolbert.evaluate.trec import write_run
from numcolbert.files import cache_folder, replacing_file
from numcolbert.program import parser_of, program
from numcolbert.progress import Progress, track
from numcolbert.reproduce.disturbance import Disturbance
from numcolbert.reproduce.runs import file_name
from numcolbert.train.benchmarks import Benchmark, Corpus, read_benchmark, read_corpus
from numcolbert.train.fingerprint import write_note

if TYPE_CHECKING:
    from numcolbert.model.encoder import Encoder

PART = 2048
"""Passages encoded between two writes."""
NBITS = (8, 4, 2, 1)
DEPTH = 100
ROUNDS = 3
"""Times each query is asked unless told; the fastest counts, so that a moment's disturbance does not."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class EncodedCorpus:
    ids: list[str]
    parts: list[Path]
    """Files with `vectors` [tokens, dim] and `lengths` [passages], in order."""

    def batches(self) -> Iterator[tuple[range, list[Vectors]]]:
        """Passages with their positions in `ids`."""
        start = 0
        for part in self.parts:
            with np.load(part) as saved:
                ends = np.cumsum(saved["lengths"])
                passages = np.split(saved["vectors"].astype(np.float32), ends[:-1])
            yield range(start, start + len(passages)), passages
            start += len(passages)

    def sample(self, count: int, seed: int = 0) -> Vectors:
        """Vectors from all over the collection."""
        share = -(-count // len(self.parts))
        generator = np.random.default_rng(seed)
        drawn = []
        for part in self.parts:
            with np.load(part) as saved:
                vectors = saved["vectors"]
            rows = generator.choice(len(vectors), min(share, len(vectors)), replace=False)
            drawn.append(vectors[np.sort(rows)].astype(np.float32))
        return np.concatenate(drawn)

    @property
    def vectors(self) -> int:
        total = 0
        for part in self.parts:
            with np.load(part) as saved:
                total += int(saved["lengths"].sum())
        return total


def cut(corpus: Corpus, judged: set[str], passages: int | None) -> tuple[list[str], list[str]]:
    """(ids, texts): all, or every judged passage and others evenly from all over the collection."""
    if passages is None or passages >= len(corpus.ids):
        return corpus.ids, corpus.texts
    needed = [row for row, document in enumerate(corpus.ids) if document in judged]
    others = [row for row, document in enumerate(corpus.ids) if document not in judged]
    room = passages - len(needed)
    if room < 0:
        raise UsageError(
            f"{len(needed):,} passages are judged, {passages:,} are asked for.",
            hint=f"ask for at least --passages {len(needed)}",
        )
    drawn = [others[at * len(others) // room] for at in range(room)]
    rows = sorted([*needed, *drawn])
    return [corpus.ids[row] for row in rows], [corpus.texts[row] for row in rows]


def encode(encoder: Encoder, ids: list[str], texts: Sequence[str], folder: Path) -> EncodedCorpus:
    """Encode part by part into `folder`; parts that are there are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(texts), PART)
    parts = [folder / f"{start:08}.npz" for start in starts]
    with Progress("encode", len(texts), "passages") as progress:
        for start, path in zip(starts, parts, strict=True):
            some = texts[start : start + PART]
            if not path.is_file():
                found = [encoding.vectors for encoding in encoder.encode_documents(some)]
                lengths = np.array([len(vectors) for vectors in found], np.int32)
                with replacing_file(path) as aside, aside.open("wb") as file:
                    np.savez(file, vectors=np.concatenate(found).astype(np.float16), lengths=lengths)
            progress.advance(len(some))
    return EncodedCorpus(ids, parts)


def measure_engines(
    asked: Mapping[str, Sequence[Vectors]],
    benchmark: Benchmark,
    encoded: EncodedCorpus,
    runs: Path,
    nbits: Sequence[int] = NBITS,
    rounds: int = ROUNDS,
) -> list[dict[str, Any]]:
    """Write one run an engine and system, and say what each costs; a system is its queries' vectors."""
    from numcolbert.index.flat import FlatEngine
    from numcolbert.index.plaid import PlaidEngine
    from numcolbert.index.plaid_settings import PlaidSettings, sample_size

    dim = next(iter(asked.values()))[0].shape[1]
    total = encoded.vectors

    def flat(folder: Path) -> Any:
        return FlatEngine.create(folder, dim)

    def plaid(bits: int) -> Callable[[Path], Any]:
        def create(folder: Path) -> Any:
            settings = PlaidSettings(nbits=bits)
            sample = encoded.sample(sample_size(settings, total))
            return PlaidEngine.create(folder, dim, settings, sample=sample, expected_vectors=total)

        return create

    engines: dict[str, Callable[[Path], Any]] = {"exact": flat}
    engines |= {f"plaid{bits}": plaid(bits) for bits in nbits}
    facts = []
    for name, create in track(list(engines.items()), "engines", unit="engines"):
        with tempfile.TemporaryDirectory(prefix="numcolbert-efficiency-") as folder:
            begin = time.perf_counter()
            engine = create(Path(folder) / "engine")
            for keys, passages in encoded.batches():
                engine.add(keys, passages)
            engine.commit()
            built = time.perf_counter() - begin
            size = int(engine.stats()["bytes"])
            for system, queries in asked.items():
                others = Disturbance()
                run, times = _searched(engine, encoded.ids, benchmark.query_ids, queries, rounds)
                fact: dict[str, float] = {
                    "ms/query": round(1000 * float(np.median(times)), 2),
                    "GB": round(size / 1e9, 4),
                    "build s": round(built, 1),
                    "passages": len(encoded.ids),
                }
                busy = others.share()
                if busy is not None:
                    fact["others"] = round(busy, 2)
                target = runs / f"{system}-{name}" / f"{file_name(benchmark)}.trec"
                write_run(target, run, f"{system}-{name}")
                write_note(target, benchmark)
                with replacing_file(target.with_name(f"{file_name(benchmark)}.facts.json")) as aside:
                    aside.write_text(json.dumps(fact, indent=1), encoding="utf-8")
                facts.append({"system": f"{system}-{name}", **fact})
            engine.close()
    return facts


def _searched(
    engine: Any, ids: Sequence[str], query_ids: Sequence[str], queries: Sequence[Vectors], rounds: int
) -> tuple[dict[str, dict[str, float]], list[float]]:
    engine.search(queries[0], DEPTH)  # compiling is not what is measured
    run: dict[str, dict[str, float]] = {}
    times = [float("inf")] * len(queries)
    for _ in range(rounds):
        for number, (query, vectors) in enumerate(zip(query_ids, queries, strict=True)):
            begin = time.perf_counter()
            found = engine.search(vectors, DEPTH)
            times[number] = min(times[number], time.perf_counter() - begin)
            run[query] = {ids[key]: float(s) for key, s in zip(found.keys, found.scores, strict=True)}
    return run, times


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__, "numcolbert.reproduce.efficiency")
    parser.add_argument("system", help="numcolbert, colbert-ft: the beginning of the run folders' names")
    parser.add_argument("model", help="exported model")
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--passages", type=int, help="cut the collection to so many; all if left out")
    parser.add_argument("--nbits", type=int, nargs="+", default=list(NBITS), choices=NBITS)
    parser.add_argument(
        "--ungated", metavar="SYSTEM", help="ask with every gate at 1 too: name of these runs"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times each query is asked")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        raise UsageError(f"{chosen.rounds} rounds measure nothing.", hint="ask for at least --rounds 1")
    from numcolbert.model.encoder import Encoder

    benchmark = read_benchmark(chosen.benchmark)
    judged = {document for grades in benchmark.qrels.values() for document in grades}
    corpus = read_corpus(benchmark.corpus_path)
    ids, texts = cut(corpus, judged, chosen.passages)
    encoder = Encoder.load(chosen.model)
    state = benchmark.corpus_path.stat()
    place = f"{benchmark.name}-{state.st_size}-{state.st_mtime_ns}-{encoder.fingerprint[:12]}-{len(ids)}"
    encoded = encode(encoder, ids, texts, cache_folder() / "efficiency" / place)
    encodings = encoder.encode_queries(benchmark.query_texts)
    asked = {chosen.system: [encoding.vectors for encoding in encodings]}
    if chosen.ungated:
        asked[chosen.ungated] = [encoding.ungated() for encoding in encodings]
    facts = measure_engines(asked, benchmark, encoded, chosen.out, chosen.nbits, chosen.rounds)
    sys.stdout.write(json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
