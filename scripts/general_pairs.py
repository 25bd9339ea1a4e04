"""Turn question-answering collections into retrieval pairs for joint training.

    python scripts/general_pairs.py squad.jsonl.xz medquad.jsonl.xz -o pairs.jsonl.xz [--sentences [N]]
        [--negatives N] [--development FOLDER]

Reads lines of {"text", "questions": [...]} (a paragraph and its questions) and of {"q", "a"} (a question and
its answer), and writes {"query", "positive"}, compressed as .xz. Passages are cut to the length that
sentences are searched at.

With --sentences each passage is also asked for by one of its own sentences (or up to N of them), without
which it then stands in the pair: people search with statements too, and a model that was taught by questions
alone knows only those.

With --negatives each pair has a "negative" too: another passage, drawn from the first N that BM25 finds for
the query. Passages drawn at random are about something else entirely, and rank themselves. Needs the extra
`baselines`.

With --development the questions of some passages (--held-out of them, drawn with a fixed seed) and these
passages are left out of the pairs. They become a benchmark over all passages: models can then be chosen by
ordinary search too without a look at a test set.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from cloze import cut, sentences, taken_out
from numcolbert.baselines.bm25 import BM25
from numcolbert.errors import ConflictError, InputError, UsageError
from numcolbert.evaluate.trec import Qrels
from numcolbert.files import refuse_existing, replacing_file, require_file, text_lines
from numcolbert.program import parser_of, positive, program
from numcolbert.progress import track
from numcolbert.reproduce.imported import write_benchmark
from numcolbert.types import Document

SEED = 1
HELD_OUT = 0.05


class Pair(NamedTuple):
    """A question, or a sentence that asks, and a passage that answers it."""

    query: str
    passage: str
    whole: str
    """The passage as it was before a sentence was taken out of it."""


def pairs(path: Path) -> Iterator[Pair]:
    """Each question with the whole passage."""
    for number, line in text_lines(require_file(path, "collection")):
        try:
            row = json.loads(line)
            questions, passage = (
                (row["questions"], row["text"]) if "questions" in row else ([row["q"]], row["a"])
            )
            if not isinstance(questions, list):  # a text would be taken for one question a letter
                raise TypeError(questions)
            passage = " ".join(passage.split())
            asked = [question.strip() for question in questions]
            "".join([passage, *asked]).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"Line {number} of '{path}' holds half of a surrogate pair.",
                hint="half a character cannot be stored: mend the line or leave it out",
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"Line {number} of '{path}' has neither 'questions' (a list) and 'text' nor 'q' and 'a'.",
                hint="see the head of this script for the two layouts",
            ) from error
        for question in asked:
            if passage and question:
                yield Pair(question, passage, passage)


def asked_by_sentences(passages: Iterable[str], most: int) -> list[Pair]:
    """Up to `most` sentences of each whole passage that has fit ones, each with the rest of it. What several
    passages say asks for none of them.
    """
    random = Random(SEED)
    different = list(dict.fromkeys(passages))
    said = Counter(sentence for passage in different for sentence in set(sentences(passage)))
    drawn = ((taken_out(passage, random), passage) for _ in range(most) for passage in different)
    asked = dict.fromkeys(Pair(*taken, passage) for taken, passage in drawn if taken)
    return [pair for pair in asked if said[pair.query] == 1]


def near_misses(asked: Sequence[Pair], best: int, words: int) -> Iterator[str | None]:
    """For each query one of the first `best` passages that BM25 finds and that do not answer it, cut; None
    where all passages do.
    """
    wholes = list(dict.fromkeys(pair.whole for pair in asked))
    number_of = {whole: number for number, whole in enumerate(wholes)}
    answers = defaultdict[str, set[int]](set)
    for pair in asked:
        answers[pair.query].add(number_of[pair.whole])
    ranker, random = BM25(), Random(SEED)
    ranker.index(Document(str(number), cut(whole, words)) for number, whole in enumerate(wholes))
    for pair in track(asked, "near misses", unit="pairs"):
        scores = ranker.scores(pair.query)
        scores[list(answers[pair.query])] = -1.0
        found = np.argpartition(-scores, min(best, len(scores) - 1))[:best]
        others = [number for number in found.tolist() if scores[number] >= 0]
        yield cut(wholes[random.choice(sorted(others))], words) if others else None


def held_out(known: Iterable[Pair], share: float) -> set[str]:
    """The questions of so many of the passages."""
    passages = sorted({pair.passage for pair in known})
    drawn = set(Random(SEED).sample(passages, round(share * len(passages))))
    return {pair.query for pair in known if pair.passage in drawn}


def write_development(folder: Path, known: Iterable[Pair], asked: set[str], *, overwrite: bool) -> None:
    """A benchmark of these questions, each with every passage that answers it, over all passages."""
    different = dict.fromkeys(pair.passage for pair in known)
    passages = {passage: f"p{n:05}" for n, passage in enumerate(different)}
    queries = {question: f"q{n:05}" for n, question in enumerate(sorted(asked))}
    qrels: Qrels = {name: {} for name in queries.values()}
    for pair in known:
        if pair.query in asked:
            qrels[queries[pair.query]][passages[pair.passage]] = 1
    named = ({name: text for text, name in texts.items()} for texts in (passages, queries))
    write_benchmark(folder, *named, qrels, overwrite=overwrite)


def refuse_places(
    collections: Sequence[Path], output: Path, development: Path | None, *, overwrite: bool
) -> None:
    """Before anything is read: what must not be replaced, and what no reader could open."""
    if output.resolve() in {collection.resolve() for collection in collections}:
        raise ConflictError(f"'{output}' is one of the collections.", hint="choose another file")
    if output.suffix.lower() != ".xz":
        raise UsageError(f"'{output}' does not end in .xz.", hint="it is written compressed")
    refuse_existing(output, "file", overwrite=overwrite)
    if development is None:
        return
    refuse_existing(development, "folder", overwrite=overwrite, mark="queries.jsonl")
    inside = (file for file in (*collections, output) if file.resolve().is_relative_to(development.resolve()))
    if file := next(inside, None):
        raise ConflictError(
            f"'{file}' lies in '{development}', which is replaced.", hint="choose another folder"
        )


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--words", type=positive, default=90, help="passages are cut after this many words")
    parser.add_argument(
        "--sentences",
        type=positive,
        nargs="?",
        const=1,
        metavar="N",
        help="passages are asked for by sentences too, each by one or by up to N",
    )
    parser.add_argument(
        "--negatives", type=positive, metavar="N", help="each pair has one of BM25's first N as its negative"
    )
    parser.add_argument("--development", type=Path, metavar="FOLDER", help="a benchmark of what is held out")
    parser.add_argument("--held-out", type=float, help=f"share of the passages; {HELD_OUT}")
    parser.add_argument("--overwrite", action="store_true", help="replace pairs and benchmark")
    chosen = parser.parse_args(arguments)
    if chosen.held_out is not None and chosen.development is None:
        raise UsageError(
            "--held-out says how much becomes a benchmark, and none is made.",
            hint="name its folder with --development",
        )
    share = HELD_OUT if chosen.held_out is None else chosen.held_out
    if not 0 < share < 1:
        parser.error("--held-out lies between 0 and 1")
    refuse_places(chosen.collections, chosen.output, chosen.development, overwrite=chosen.overwrite)
    whole = [pair for collection in chosen.collections for pair in pairs(collection)]
    if not whole:
        raise InputError("The collections hold no question with a passage.", hint="are they the right files?")
    known = [pair._replace(passage=cut(pair.passage, chosen.words)) for pair in whole]
    asked = held_out(known, share) if chosen.development else set()
    if chosen.development and not asked:
        raise UsageError(f"A share of {share} holds no question out.", hint="raise it with --held-out")
    answers = {pair.passage for pair in known if pair.query in asked}
    kept = [pair for pair in known if pair.query not in asked and pair.passage not in answers]
    if not kept:
        raise UsageError(f"A share of {share} leaves no pair.", hint="lower it with --held-out")
    if chosen.sentences:
        kept += asked_by_sentences((pair.whole for pair in kept), chosen.sentences)
    negatives = near_misses(kept, chosen.negatives, chosen.words) if chosen.negatives else repeat(None)
    with replacing_file(chosen.output) as aside, lzma.open(aside, "wt", encoding="utf-8") as out:
        for pair, negative in zip(kept, negatives, strict=False):
            row = {"query": pair.query, "positive": cut(pair.passage, chosen.words)}
            out.write(
                json.dumps(row | ({"negative": negative} if negative else {}), ensure_ascii=False) + "\n"
            )
        if chosen.development:
            write_development(chosen.development, known, asked, overwrite=chosen.overwrite)
    return 0


if __name__ == "__main__":
    sys.exit(main())
