"""Turn question-answering collections into retrieval pairs for joint training.

    python scripts/general_pairs.py squad.jsonl.xz medquad.jsonl.xz -o pairs.jsonl.xz [--sentences]
        [--development FOLDER]

Reads lines of {"text", "questions": [...]} (a paragraph and its questions) and of {"q", "a"} (a question and
its answer), and writes {"query", "positive"}, compressed as .xz. Passages are cut to the length that
sentences are searched at.

With --sentences each passage is also asked for by one of its own sentences, without which it then stands in
the pair: people search with statements too, and a model that was taught by questions alone knows only those.

With --development the questions of some passages (--held-out of them, drawn with a fixed seed) and these
passages are left out of the pairs. They become a benchmark over all passages: models can then be chosen by
ordinary search too without a look at a test set.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from cloze import cut, taken_out
from numcolbert.errors import ConflictError, InputError, UsageError
from numcolbert.evaluate.trec import Qrels
from numcolbert.files import refuse_existing, replacing_file, require_file, text_lines
from numcolbert.program import parser_of, positive, program
from numcolbert.reproduce.imported import write_benchmark

Pair = tuple[str, str]
"""A question, or a sentence that asks, and a passage that answers it."""
SEED = 1
HELD_OUT = 0.05


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
                yield question, passage


def asked_by_sentences(passages: Iterable[str]) -> Iterator[Pair]:
    """A sentence of each whole passage that has a fit one, with the rest of it."""
    random = Random(SEED)
    return (taken for passage in dict.fromkeys(passages) if (taken := taken_out(passage, random)))


def held_out(known: Iterable[Pair], share: float) -> set[str]:
    """The questions of so many of the passages."""
    passages = sorted({passage for _, passage in known})
    drawn = set(Random(SEED).sample(passages, round(share * len(passages))))
    return {question for question, passage in known if passage in drawn}


def write_development(folder: Path, known: Iterable[Pair], asked: set[str], *, overwrite: bool) -> None:
    """A benchmark of these questions, each with every passage that answers it, over all passages."""
    passages = {passage: f"p{n:05}" for n, passage in enumerate(dict.fromkeys(p for _, p in known))}
    queries = {question: f"q{n:05}" for n, question in enumerate(sorted(asked))}
    qrels: Qrels = {name: {} for name in queries.values()}
    for question, passage in known:
        if question in asked:
            qrels[queries[question]][passages[passage]] = 1
    named = ({name: text for text, name in texts.items()} for texts in (passages, queries))
    write_benchmark(folder, *named, qrels, overwrite=overwrite)


def refuse_places(
    collections: Sequence[Path], output: Path, development: Path | None, *, overwrite: bool
) -> None:
    """Before anything is read: what must not be replaced, and what no reader could open."""
    if output.resolve() in {collection.resolve() for collection in collections}:
        raise ConflictError(f"'{output}' is one of the collections.", hint="choose another file")
    if output.suffix.lower() != ".xz":
        raise UsageError(f"'{output}' does not end in .xz.", hint="the pairs are written compressed")
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
    parser.add_argument("--sentences", action="store_true", help="passages are asked for by sentences too")
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
    known = [(question, cut(passage, chosen.words)) for question, passage in whole]
    asked = held_out(known, share) if chosen.development else set()
    if chosen.development and not asked:
        raise UsageError(f"A share of {share} holds no question out.", hint="raise it with --held-out")
    answers = {passage for question, passage in known if question in asked}
    kept = [pair for pair in whole if pair[0] not in asked and cut(pair[1], chosen.words) not in answers]
    if not kept:
        raise UsageError(f"A share of {share} leaves no pair.", hint="lower it with --held-out")
    if chosen.sentences:
        kept = [*kept, *asked_by_sentences(passage for _, passage in kept)]
    with replacing_file(chosen.output) as aside, lzma.open(aside, "wt", encoding="utf-8") as out:
        for question, passage in kept:
            pair = {"query": question, "positive": cut(passage, chosen.words)}
            out.write(json.dumps(pair, ensure_ascii=False) + "\n")
        if chosen.development:
            write_development(chosen.development, known, asked, overwrite=chosen.overwrite)
    return 0


if __name__ == "__main__":
    sys.exit(main())
