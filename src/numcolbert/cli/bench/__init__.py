"""`numcolbert bench ...`: side by side, one table a command."""

from __future__ import annotations

import typer

from numcolbert.cli.bench import encode, engines, extractor, train

app = typer.Typer(help="Measure extractors, engines, encoders and training.", no_args_is_help=True)
app.command("encode")(encode.encode)
app.command("engines")(engines.engines)
app.command("extractor")(extractor.extractor)
app.command("train")(train.train)
