"""Evaluate a model on benchmark folders, exactly and on the device.

    python -m numcolbert.train.evaluate MODEL BENCHMARK... -o OUT

writes TREC run files and results.json to OUT and prints a table. Needs no ir-measures. With --candidates RUN
each query is ranked among the documents that RUN holds for it, as in MS MARCO's reranking task.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from numcolbert.files import replacing_file, storage_errors
from numcolbert.model.checkpoint import find_gate, load_checkpoint
from numcolbert.program import positive, program
from numcolbert.train.benchmarks import Benchmark, Corpus, read_benchmark, read_corpus, with_suites, write_run
from numcolbert.train.fingerprint import write_note
from numcolbert.train.gate_setting import AS_TRAINED, GateSetting, with_setting
from numcolbert.train.measures import MEASURES, mean_measures
from numcolbert.train.model_setup import choose_device, skipped_document_ids, text_settings
from numcolbert.train.packed import PackedEncoder, PackedSettings, Precision, compute_dtype
from numcolbert.train.ranking import (
    EncodedQueries,
    Group,
    best_documents,
    encode_documents,
    encode_queries,
    score_all,
    tokenise,
)
from numcolbert.train.text_reader import TextReader

log = logging.getLogger(__name__)

_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass
class Result:
    """What came out on one benchmark."""

    name: str
    queries: int
    documents: int
    seconds: float
    scores: dict[str, dict[str, float]]
    """Measures by variant: `gated` and `ungated` of the same model, or `plain` for one without a gate."""
    subsets: dict[str, dict[str, float]] = field(default_factory=dict)
    """Measures of the first variant on each subset of the queries."""
    detector: dict[str, float] = field(default_factory=dict)


Corpora = dict[Path, tuple[Corpus, list[list[int]]]]
"""Corpora that were read, with their tokens."""


@dataclass
class Ranker:
    """A model made ready to rank."""

    encoder: PackedEncoder
    gate: Any
    reader: TextReader
    device: torch.device
    skipped_ids: Tensor | None = None
    corpora: Corpora = field(default_factory=dict)

    def corpus(self, path: Path) -> tuple[Corpus, list[list[int]]]:
        """A corpus and its tokens, read once however often the training looks at it."""
        if path not in self.corpora:
            corpus = read_corpus(path)
            self.corpora[path] = (corpus, tokenise(self.reader, corpus.texts))
        return self.corpora[path]

    def queries(self, texts: Sequence[str], gate: GateSetting = AS_TRAINED) -> EncodedQueries:
        """Encoded queries, gated as `gate` says."""
        changed = with_setting(self.gate, gate)
        return encode_queries(self.encoder, changed, self.reader, texts, self.device)

    @classmethod
    def of(cls, model: Any, *, precision: Precision = "auto") -> Ranker:
        device = model.device
        encoder = PackedEncoder(model, PackedSettings(compute_dtype(device, precision)))
        return cls(
            encoder, find_gate(model), TextReader(text_settings(model)), device, skipped_document_ids(model)
        )


DEPTH = 100
"""Hits a query in a run file: as deep as the measures look. Systems that rerank need more."""


def evaluate(
    ranker: Ranker,
    benchmarks: Iterable[Benchmark],
    out: Path | None = None,
    *,
    depth: int = DEPTH,
    gates: Sequence[GateSetting] = (),
) -> Iterator[Result]:
    """One after the other, so that those that are done can be kept whatever becomes of the next.

    Benchmarks that share a corpus follow each other: it is encoded once for all of them, and for each of
    the `gates` that the model is also measured with.
    """
    corpus: Corpus | None = None
    groups: list[Group] = []
    was_training = ranker.encoder.training
    ranker.encoder.eval()
    try:
        for benchmark in benchmarks:
            start = time.monotonic()
            if corpus is None or corpus.path != benchmark.corpus_path:
                groups = []  # let go of the old vectors before the new ones come
                corpus, tokens = ranker.corpus(benchmark.corpus_path)
                store = torch.float16 if ranker.device.type == "cuda" else torch.float32
                groups = encode_documents(
                    ranker.encoder,
                    tokens,
                    ranker.device,
                    skipped_ids=ranker.skipped_ids,
                    store=store,
                )
            queries = ranker.queries(benchmark.query_texts)
            variants = variants_of(queries, gated=ranker.gate is not None)
            for gate in gates:
                variants[str(gate)] = ranker.queries(benchmark.query_texts, gate).gates
            scores = score_all(queries, list(variants.values()), groups)
            result = Result(benchmark.name, len(benchmark.query_ids), len(corpus.ids), 0.0, {})
            for variant, score in zip(variants, scores, strict=True):
                ranked = best_documents(score, corpus.ids, benchmark.query_ids, depth)
                names = {query: [document for document, _ in hits] for query, hits in ranked.items()}
                result.scores[variant] = mean_measures(names, benchmark.qrels)
                if not result.subsets:
                    result.subsets = {
                        subset: {"queries": float(len(qrels)), **mean_measures(names, qrels)}
                        for subset, qrels in benchmark.subsets.items()
                    }
                if out is not None:
                    _save_run(out, benchmark, variant, ranked)
            if ranker.gate is not None:
                result.detector = detector_measures(queries, benchmark)
            result.seconds = round(time.monotonic() - start, 2)
            yield result
    finally:
        ranker.encoder.train(was_training)


def variants_of(queries: EncodedQueries, *, gated: bool) -> dict[str, Tensor]:
    """The token weights a model is measured with, by name."""
    plain = torch.ones_like(queries.gates)
    return {"gated": queries.gates, "ungated": plain} if gated else {"plain": plain}


def evaluate_candidates(
    ranker: Ranker, benchmark: Benchmark, candidates: Path, out: Path, *, depth: int = DEPTH
) -> Result:
    """Measure the model as a reranker of a TREC run."""
    from numcolbert.train.reranking import read_candidates, rerank

    start = time.monotonic()
    held = read_candidates(candidates)
    rankings = rerank(ranker, benchmark, held, depth)
    result = Result(benchmark.name, len(benchmark.query_ids), sum(map(len, held.values())), 0.0, {})
    for variant, ranked in rankings.items():
        names = {query: [document for document, _ in hits] for query, hits in ranked.items()}
        result.scores[variant] = mean_measures(names, benchmark.qrels)
        _save_run(out, benchmark, variant, ranked)
    result.seconds = round(time.monotonic() - start, 2)
    return result


def _save_run(
    out: Path, benchmark: Benchmark, variant: str, ranked: dict[str, list[tuple[str, float]]]
) -> None:
    path = out / f"{benchmark.name.replace('/', '-')}.{variant}.trec"
    write_run(path, ranked, variant)
    write_note(path, benchmark)


def detector_measures(queries: EncodedQueries, benchmark: Benchmark) -> dict[str, float]:
    """Token F1 of the detector, mean gates, and the share of distracting numbers that are amplified.

    Where the quantity of a condition stands, attributes.json says; every other number is a distraction.
    """
    gold, distracting, known = _token_marks(queries, benchmark)
    if not known.any():
        return {}
    found = (queries.probabilities > 0.5).cpu().numpy() & known
    gates = queries.gates.cpu().numpy()
    hits = float((found & gold).sum())
    measures = {
        "f1": 2 * hits / max(float(found.sum() + gold.sum()), 1.0),
        "precision": hits / max(float(found.sum()), 1.0),
        "recall": hits / max(float(gold.sum()), 1.0),
        "gate_on_quantities": float(gates[gold].mean()) if gold.any() else 0.0,
    }
    if distracting.any():
        measures["distractors"] = float(distracting.sum())
        measures["distractors_amplified"] = float((gates[distracting] > 1.0).mean())
    return {name: round(value, 5) for name, value in measures.items()}


def _token_marks(
    queries: EncodedQueries, benchmark: Benchmark
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Per token: of the condition's quantity, of a distractor, of a query with known spans."""
    gold = np.zeros(len(queries.words), np.bool_)
    distracting, known = gold.copy(), gold.copy()
    token = 0
    asked = zip(benchmark.query_ids, benchmark.query_texts, queries.offsets, strict=True)
    for query, text, offsets in asked:
        wanted = benchmark.condition_spans(query)
        others = [match.span() for match in _NUMBER.finditer(text)]
        for start, end in offsets:
            if queries.words[token]:
                known[token] = bool(wanted)
                gold[token] = any(start < b and end > a for a, b in wanted)
                number = any(start < b and end > a for a, b in others)
                distracting[token] = bool(wanted) and number and not gold[token]
            token += 1
    return gold, distracting, known


def table(results: Sequence[Result]) -> str:
    """A compact table for people."""
    lines = [f"{'benchmark':34} {'variant':10} {'queries':>7} " + " ".join(f"{m:>8}" for m in MEASURES)]
    for result in results:
        rows = [(v, float(result.queries), values) for v, values in result.scores.items()]
        rows += [(f"  {s}", values["queries"], values) for s, values in result.subsets.items()]
        for variant, count, values in rows:
            cells = " ".join(f"{values[m]:8.4f}" for m in MEASURES)
            lines.append(f"{result.name[-34:]:34} {variant[:10]:10} {count:7.0f} {cells}")
        if result.detector:
            found = "  ".join(f"{name} {value:.4f}" for name, value in result.detector.items())
            lines.append(f"{result.name[-34:]:34} detector   {found}")
    return "\n".join(lines)


def collect(folders: Sequence[Path], *, suites: bool) -> list[Benchmark]:
    """The benchmarks in `folders`, each once, under names of their own: run files are called by them."""
    found = [
        (benchmark, [parent.name for parent in folder.absolute().parents])
        for folder in {folder.resolve(): folder for folder in folders}.values()
        for benchmark in (with_suites(folder) if suites else [read_benchmark(folder)])
    ]
    # Two folders may have the same name (finance/dev, medical/dev): those they lie in tell them apart.
    for level in range(max((len(above) for _, above in found), default=0)):
        count = Counter(benchmark.name for benchmark, _ in found)
        for benchmark, above in found:
            if count[benchmark.name] > 1 and level < len(above):
                benchmark.name = f"{above[level]}/{benchmark.name}"
    return [benchmark for benchmark, _ in found]


def add_device_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--precision", choices=get_args(Precision), default="auto", help="bf16 on a GPU, else fp32"
    )


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m numcolbert.train.evaluate", description=__doc__)
    parser.add_argument("model", help="folder of a saved model")
    parser.add_argument("benchmarks", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder for run files and results.json")
    parser.add_argument("--no-suites", action="store_true", help="leave out the folders under suites/")
    parser.add_argument("--depth", type=positive, default=DEPTH, help="hits a query in the run files")
    parser.add_argument("--candidates", type=Path, help="rank what this TREC run holds, and nothing else")
    add_device_options(parser)
    chosen = parser.parse_args(arguments)
    benchmarks = collect(chosen.benchmarks, suites=not chosen.no_suites)
    with storage_errors(chosen.out):  # now, and not after everything is ranked
        chosen.out.mkdir(parents=True, exist_ok=True)
    model = load_checkpoint(chosen.model, device=str(choose_device(chosen.device)))
    ranker = Ranker.of(model, precision=chosen.precision)
    if chosen.candidates is None:
        measured = evaluate(ranker, benchmarks, chosen.out, depth=chosen.depth)
    else:
        measured = (
            evaluate_candidates(ranker, b, chosen.candidates, chosen.out, depth=chosen.depth)
            for b in benchmarks
        )
    sys.stdout.write(table(save_results(chosen.out / "results.json", measured)) + "\n")
    return 0


def save_results(path: Path, measured: Iterable[Result]) -> list[Result]:
    """Written anew with each result that comes: an evaluation that is cut off keeps what it has."""
    results = []
    for result in measured:
        results.append(result)
        with replacing_file(path) as aside:
            aside.write_text(json.dumps([vars(one) for one in results], indent=1), encoding="utf-8")
    return results


if __name__ == "__main__":
    sys.exit(main())
