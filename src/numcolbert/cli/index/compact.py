"""`numcolbert index compact`"""

from __future__ import annotations

import typer

from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.output import JsonOption, print_json


def compact(index: IndexArgument, as_json: JsonOption = False) -> None:
    """Give back the space of deleted and replaced documents.

    Example: [bold]numcolbert index compact idx[/bold]
    """
    from numcolbert.index.collection import Collection
    from numcolbert.index.estimate import megabytes

    collection = Collection.open(index)
    try:
        before = collection.info()["bytes"]
        collection.compact()
        after = collection.info()["bytes"]
    finally:
        collection.close()
    if as_json:
        print_json({"bytes_before": before, "bytes_after": after})
    else:
        typer.echo(f"{index}: {megabytes(before)} before, {megabytes(after)} now")
