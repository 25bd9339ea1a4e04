"""`numcolbert index delete`"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.output import JsonOption, print_json
from numcolbert.errors import UsageError


def delete(
    index: IndexArgument,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ids of the documents, or - for one a line on standard input.", show_default=False
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Delete all documents that fit this filter.", show_default=False)
    ] = None,
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Pass over ids that are not there.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete documents by id or by filter.

    When an id is not there, nothing is deleted.

    Examples: [bold]numcolbert index delete idx doc1 doc2[/bold],
    [bold]numcolbert index delete idx --where "year < 2000"[/bold]
    """
    from numcolbert.index.collection import Collection
    from numcolbert.search.filters import filter_for

    if bool(ids) == (where is not None):
        raise UsageError("Name the documents to delete.", hint="give ids, or --where, and not both")
    collection = Collection.open(index)
    try:
        if where is not None:
            keys = collection.select(filter_for(collection.view, where)).tolist()
            wanted = [stored.document.id for stored in collection.fetch(keys).values()]
        elif ids == ["-"]:
            wanted = [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
        else:
            wanted = ids or []
        count = collection.delete(wanted, ignore_missing=ignore_missing or where is not None)
        left = len(collection)
    finally:
        collection.close()
    if as_json:
        print_json({"deleted": count, "documents": left})
    else:
        typer.echo(f"{count:,} deleted; {left:,} documents left")
