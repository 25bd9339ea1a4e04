"""`numcolbert index info`"""

from __future__ import annotations

from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.output import JsonOption, print_json, print_table


def info(index: IndexArgument, as_json: JsonOption = False) -> None:
    """Show what an index holds: model, engine, settings, counts, sizes, metadata fields.

    Example: [bold]numcolbert index info idx[/bold]
    """
    from numcolbert.index.collection import Collection

    collection = Collection.open(index)
    try:
        facts = {**collection.info(), "fields": sorted(collection.view.store.fields())}
    finally:
        collection.close()
    if as_json:
        print_json(facts)
        return
    engine = {
        f"engine {name}": value for name, value in facts.pop("engine_stats").items() if name not in facts
    }
    rows = {**facts, **engine}
    print_table(
        ("what", "value"), [(name, _shown(value)) for name, value in rows.items() if value is not None]
    )


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items()) or "-"
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else str(value)
