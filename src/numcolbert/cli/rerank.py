"""`numcolbert rerank`"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.documents import IdFieldOption, SkipBadOption, TextFieldOption, documents_from
from numcolbert.cli.hits import show_results
from numcolbert.cli.loading import load_model
from numcolbert.cli.output import JsonOption
from numcolbert.cli.search import GateOption, QueryArgument, VerifyOption
from numcolbert.errors import InputError, UsageError
from numcolbert.files import without_compression
from numcolbert.types import Document

RUN_SUFFIXES = (".run", ".trec")


def rerank(
    query: QueryArgument,
    candidates: Annotated[
        str,
        typer.Argument(
            metavar="[CANDIDATES]",
            help="Passages: jsonl, csv, tsv, parquet, txt, a TREC run (.run, .trec), or - for stdin.",
        ),
    ] = "-",
    docs: Annotated[
        str | None, typer.Option(help="The documents that a TREC run names.", show_default=False)
    ] = None,
    query_id: Annotated[
        str | None, typer.Option(help="The query of a TREC run whose documents to take.", show_default=False)
    ] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="How many to show.", show_default="all")] = None,
    verify: VerifyOption = False,
    gate: GateOption = True,
    model: Annotated[
        str | None, typer.Option(help="Model folder or id. By default the shipped one.", show_default=False)
    ] = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score passages for a query, without an index.

    Examples: [bold]numcolbert rerank "rents below 900 euros" flats.jsonl -k 5[/bold],
    [bold]grep flat ads.txt | numcolbert rerank "rents below 900 euros"[/bold],
    [bold]numcolbert rerank "profit above 2 billion" bm25.run --query-id 7 --docs news.jsonl[/bold]
    """
    run = without_compression(Path(candidates)).suffix in RUN_SUFFIXES
    if run and docs is None:
        raise UsageError(
            f"'{candidates}' is a TREC run, which names documents without their text.",
            hint="name the file with the documents: --docs DOCS",
        )
    if not run and (docs is not None or query_id is not None):
        option = "--docs" if docs is not None else "--query-id"
        raise UsageError(
            f"{option} belongs to a TREC run, and '{candidates}' is none by its name.",
            hint=f"leave {option} out, or name a file that ends in " + " or ".join(RUN_SUFFIXES),
        )
    source = docs if run and docs is not None else candidates
    with documents_from(source, text_field=text_field, id_field=id_field, skip_bad=skip_bad) as found:
        passages = _of_run(Path(candidates), query_id, found) if run else found
        results = load_model(model).rerank(query, passages, k=k, verify=verify, gate=gate)
    show_results(results, as_json=as_json)


def _of_run(path: Path, query_id: str | None, documents: Iterable[Document]) -> list[Document]:
    """The documents that a run lists for one query, in its order."""
    wanted = _ids(path, query_id)
    found = {document.id: document for document in documents if document.id in wanted}
    missing = next((id for id in wanted if id not in found), None)
    if missing is not None:
        raise InputError(
            f"The run '{path}' names the document '{missing}', which is not in the collection.",
            hint="name the collection that the run was made on with --docs",
        )
    return [found[id] for id in wanted]


def _ids(path: Path, query_id: str | None) -> dict[str, float]:
    from numcolbert.train.trec import read_run

    queries = read_run(path, what="run")
    if query_id is None and len(queries) == 1:
        return next(iter(queries.values()))
    if query_id not in queries:
        some = ", ".join(list(queries)[:5])
        problem = f"has no query '{query_id}'" if query_id else f"holds {len(queries)} queries"
        raise UsageError(f"The run '{path}' {problem}.", hint=f"choose one with --query-id: {some}")
    return queries[query_id]
