"""`numcolbert evaluate`: measure TREC runs, compare them, say what is significant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.errors import UsageError
from numcolbert.files import all_files, name_as_text, refuse_existing, refuse_input, without_compression

if TYPE_CHECKING:
    from numcolbert.evaluate.compare import Comparison
    from numcolbert.evaluate.slices import Slice
    from numcolbert.evaluate.trec import Qrels
    from numcolbert.report.grid import Grid


def evaluate(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="TREC run files, or NAME=FILE.")],
    qrels: Annotated[Path, typer.Option("--qrels", help="TREC qrels file.")],
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Test every run against this one (its name or file).")
    ] = None,
    subsets: Annotated[
        Path | None, typer.Option("--subsets", help="Folder of qrels files, measured one by one.")
    ] = None,
    suites: Annotated[
        Path | None,
        typer.Option(
            "--suites", help="Folder of suites, each with qrels.trec; the runs hold their queries too."
        ),
    ] = None,
    attributes: Annotated[
        Path | None,
        typer.Option("--attributes", help="attributes.json: measure each operator on its own, or see --by."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Attributes to measure by, as in operator, length or seen,expanded together; repeatable.",
        ),
    ] = None,
    errors: Annotated[
        bool,
        typer.Option(
            "--errors",
            help="Also say whether concepts or numbers are wrong; reads about.trec beside the qrels.",
        ),
    ] = False,
    measures: Annotated[
        list[str] | None, typer.Option("--measures", "-m", help="ir-measures names; repeat or use commas.")
    ] = None,
    tukey: Annotated[bool, typer.Option("--tukey", help="Also compare all pairs with Tukey's HSD.")] = False,
    alpha: Annotated[float, typer.Option("--alpha", help="Level of significance.")] = 0.05,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")] = 0,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Name shown above the table.")] = None,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="corpus.jsonl: refuse documents it does not hold.")
    ] = None,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Drop run queries that the qrels do not judge.")
    ] = False,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX (booktabs).")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a self-contained page here.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
) -> None:
    """Measure TREC runs; missing queries count as zero.

    Example: [bold]numcolbert evaluate bm25.run ours.run --qrels qrels.trec --baseline bm25[/bold]
    """
    from numcolbert.evaluate.compare import compare
    from numcolbert.evaluate.measures import DEFAULT_MEASURES, canonical_measures, split_measures
    from numcolbert.evaluate.slices import Slice, suite_slices
    from numcolbert.evaluate.trec import read_qrels, read_run
    from numcolbert.evaluate.wrong_hits import wrong_hits
    from numcolbert.report.grid import to_latex, to_markdown
    from numcolbert.report.tables import comparison_grids, comparison_json
    from numcolbert.report.wrong_hits import wrong_hits_grid
    from numcolbert.train.benchmarks import read_corpus

    if as_json + markdown + latex > 1:
        raise UsageError("--json, --markdown and --latex exclude each other.", hint="choose one")
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha is {alpha:g}.", hint="give a number between 0 and 1, as in 0.05")
    names = canonical_measures(
        [name for given in measures or DEFAULT_MEASURES for name in split_measures(given)]
    )
    files = named_files(runs)
    if html is not None:
        refuse_existing(html, "file", overwrite=overwrite)
        refuse_input(html, [qrels, corpus, *files.values(), *_beside(qrels, attributes, subsets, suites)])
    if tukey and len(files) < 2:
        raise UsageError(
            "--tukey compares pairs of runs, and there is one run.", hint="name two runs or more"
        )
    documents = set(read_corpus(corpus).ids) if corpus else None
    judged = read_qrels(qrels, documents=documents)
    slices = _slices(judged, subsets, attributes, by)
    in_suites = suite_slices(suites) if suites is not None else []
    parts: list[tuple[Slice, Qrels]] = []
    if errors:
        parts = _parts_with_concepts([Slice("all", judged), *slices], qrels.parent)
        parts += _suites_with_concepts(in_suites, suites) if suites is not None else []
    slices += in_suites
    known = None if ignore_unknown else {query for part in slices for query in part.qrels} | judged.keys()
    hint = "if the qrels belong to the run and judge fewer queries, add --ignore-unknown"
    hits = {
        name: read_run(path, queries=known, documents=documents, hint=hint) for name, path in files.items()
    }
    comparison = compare(
        hits,
        judged,
        _baseline_name(baseline, files),
        dataset=name_as_text(dataset or qrels.resolve().parent.name or "all"),
        measures=names,
        slices=slices,
        with_tukey=tukey,
        alpha=alpha,
        seed=seed,
    )
    grids = comparison_grids(comparison)
    wrong = [shares for part, about in parts for shares in wrong_hits(hits, part, about, seed=seed)]
    wrong_grids = [wrong_hits_grid(comparison.dataset, wrong, comparison.level)] if errors else []
    if html is not None:
        _write_page(html, comparison, grids, wrong_grids)
    grids += wrong_grids
    if as_json:
        print_json(comparison_json(comparison) | ({"errors": wrong} if errors else {}))
    elif markdown:
        typer.echo("\n".join(map(to_markdown, grids)), nl=False)
    elif latex:
        typer.echo("\n".join(map(to_latex, grids)), nl=False)
    else:
        print_grids(grids)


def named_files(given: list[str]) -> dict[str, Path]:
    """'ours=runs/a.run' names a run; a bare file is named as it is without its endings."""
    files: dict[str, Path] = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            name, file = without_compression(Path(text)).stem, text
        elif not name or not file:
            raise UsageError(f"'{text}' does not name a run.", hint="write NAME=FILE, as in ours=a.run")
        name = name_as_text(name)
        if name in files:
            raise UsageError(f"Two runs are named '{name}'.", hint=f"name one: other={file}")
        files[name] = Path(file)
    return files


def _beside(
    qrels: Path, attributes: Path | None, subsets: Path | None, suites: Path | None
) -> Iterator[Path]:
    """The attributes, and the files that are read because of the folders they lie in."""
    yield from all_files(qrels.parent, "about.trec")
    if attributes:
        yield from (attributes, *all_files(attributes.parent, "queries.jsonl"))
    if subsets:
        yield from all_files(subsets, "*.trec")
    if suites:
        yield from all_files(suites, "*/*.trec")


def print_grids(grids: list[Grid], notes: Sequence[str] = ()) -> None:
    """All grids, then their notes, each once, and `notes` on all of them."""
    from numcolbert.report.grid import to_cells

    for position, grid in enumerate(grids):
        if position:
            typer.echo()
        # Titles and notes go to stderr, so that what is piped is the table alone; with several tables the
        # title stays with its table.
        if len(grids) > 1:
            typer.echo(f"# {grid.title}")
        print_table(grid.columns, to_cells(grid), title=None if len(grids) > 1 else grid.title)
    for note in dict.fromkeys(note for grid in grids for note in grid.notes):
        typer.echo(_placed(note, grids), err=True)
    for note in notes:
        typer.echo(note, err=True)


def _placed(note: str, grids: list[Grid]) -> str:
    """The note and, where it counts queries of some tables only, which: it stands apart from all of them."""
    from numcolbert.report.tables import SILENT

    titles = [grid.title for grid in grids if note in grid.notes]
    if not note.startswith(SILENT) or len(titles) == len(grids):
        return note
    return f"{', '.join(titles)}: {note[0].lower()}{note[1:]}"


def _baseline_name(baseline: str | None, files: dict[str, Path]) -> str | None:
    if baseline is None or baseline in files:
        return baseline
    same = [name for name, path in files.items() if path == Path(baseline)]
    if not same:
        raise UsageError(
            f"The baseline '{baseline}' is not among the runs.", hint="choose one of " + ", ".join(files)
        )
    return same[0]


def _slices(
    judged: Qrels, subsets: Path | None, attributes: Path | None, by: list[str] | None
) -> list[Slice]:
    from numcolbert.evaluate.slices import (
        LENGTH,
        attribute_slices,
        check_inside,
        subset_slices,
        with_lengths,
    )
    from numcolbert.train.benchmarks import read_attributes, read_questions

    if by and not attributes:
        raise UsageError(
            "--by needs to know the attributes of the queries.", hint="pass --attributes attributes.json"
        )
    slices: list[Slice] = []
    if attributes:
        known: Mapping[str, Mapping[str, Any]] = read_attributes(attributes)
        groups = [[key.strip() for key in group.split(",")] for group in by or ["operator"]]
        if any(LENGTH in keys for keys in groups):
            known = with_lengths(known, read_questions(attributes.parent))
        for keys in groups:
            slices += attribute_slices(judged, known, keys)
    if subsets:
        slices += subset_slices(subsets)
    check_inside(slices, judged)
    return slices


def _parts_with_concepts(parts: list[Slice], folder: Path) -> list[tuple[Slice, Qrels]]:
    """Each part with what its passages are about."""
    from numcolbert.evaluate.wrong_hits import read_about

    about = read_about(folder, parts[0].qrels)
    return [(part, about) for part in parts]


def _suites_with_concepts(parts: list[Slice], folder: Path) -> list[tuple[Slice, Qrels]]:
    """The same of suites, without those whose queries have two conditions: they do not say."""
    from numcolbert.evaluate.wrong_hits import find_about, read_about

    places = {name_as_text(path.parent.name): path.parent for path in all_files(folder, "*/qrels.trec")}
    known = [(part, places[part.name]) for part in parts]
    return [(part, read_about(place, part.qrels)) for part, place in known if find_about(place)]


def _write_page(path: Path, comparison: Comparison, grids: list[Grid], wrong: list[Grid]) -> None:
    from numcolbert import __version__
    from numcolbert.report.html import Page, Section, write

    first, *rest = grids
    sections = [Section("All queries", [first])]
    if rest:
        sections.append(Section("Parts of the query set", rest))
    if wrong:
        sections.append(Section("Wrong concepts and wrong numbers", wrong))
    facts = {
        "software": f"numcolbert {__version__}",
        "intervals": f"{comparison.level:.0%} bootstrap over queries, {comparison.resamples:,} resamples, "
        f"seed {comparison.seed}; point at a number to see it",
    }
    lead = f"{len(comparison.overall.rows)} systems, {comparison.overall.queries:,} queries"
    write(Page(f"Evaluation: {comparison.dataset}", lead, sections=sections, facts=facts), path)
