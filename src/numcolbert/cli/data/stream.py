"""The options with which commands open a triple stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from numcolbert.data.triples import TripleStream

PoolsArgument = Annotated[
    list[Path] | None, typer.Argument(help="Pools made with 'data mine'; none: attribute sentences only.")
]
SeedOption = Annotated[int, typer.Option(help="The same seed gives the same triples.")]
HeldOutOption = Annotated[
    list[Path] | None,
    typer.Option("--held-out", help="A benchmark (or its held_out.json) that training must not see."),
]
GeneralOption = Annotated[
    list[Path] | None, typer.Option("--general", help="JSONL of query, positive and maybe negative.")
]
MixOption = Annotated[
    list[str] | None, typer.Option("--mix", help="NAME=WEIGHT for a pool, 'attributes' or 'general'.")
]
SettingsOption = Annotated[
    Path | None, typer.Option("--settings", help="TOML with the shares; see the guide on triples.")
]


def parse_mix(values: list[str] | None) -> dict[str, float] | None:
    from numcolbert.errors import UsageError

    if not values:
        return None
    mix = {}
    for value in values:
        name, _, weight = value.partition("=")
        try:
            mix[name] = float(weight)
        except ValueError:
            raise UsageError(
                f"'--mix {value}' is not NAME=WEIGHT.", hint="write for instance --mix attributes=0.3"
            ) from None
    return mix


def open_stream(
    pools: list[Path] | None,
    *,
    seed: int,
    held_out: list[Path] | None,
    general: list[Path] | None,
    mix: list[str] | None,
    settings: Path | None,
    worker: int = 0,
    workers: int = 1,
) -> TripleStream:
    from numcolbert.config import read_toml, settings_from
    from numcolbert.data.held_out import HeldOut
    from numcolbert.data.pool import Pool
    from numcolbert.data.triple_settings import TripleSettings
    from numcolbert.data.triples import TripleStream

    chosen = TripleSettings()
    if settings is not None:
        chosen = settings_from(TripleSettings, read_toml(settings), f"'{settings}'")
    return TripleStream(
        [Pool.load(path) for path in pools or []],
        seed=seed,
        worker=worker,
        workers=workers,
        held_out=HeldOut.read(held_out or []),
        mix=parse_mix(mix),
        settings=chosen,
        general=general or [],
    )
