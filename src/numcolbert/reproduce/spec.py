"""A table of the paper as a file: which rows, and what the paper reports."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from numcolbert.config import read_toml, settings_from
from numcolbert.errors import UsageError
from numcolbert.evaluate.measures import DEFAULT_MEASURES
from numcolbert.reproduce.systems import SYSTEMS

TABLES = (
    "main",
    "facts",
    "taught",
    "variants",
    "ablation",
    "ablation-early",
    "positives",
    "general",
    "efficiency",
    "efficiency-whole",
    "operators",
)
_FOLDER = Path(__file__).parent / "tables"


@dataclass(frozen=True)
class RowSpec:
    name: str
    system: str
    """Folder of its runs; a system of the registry is run here, for others `elsewhere.toml` has a command."""
    first: str = ""
    """The system whose run it stands on."""
    note: str = ""
    leaves_out: str = ""
    """The part of the table's subject it is trained without: the summary says what that part adds."""
    upper_bound: bool = False
    """Uses knowledge that no real system has; left out of the ranking of systems."""
    more_than_ranking: bool = False
    """Does more than rank by an index; left out of the ranking of systems, and `note` says what it does."""
    measured: bool = True
    """False for rows that need what nobody here has; `note` says what."""
    paper: dict[str, list[float]] = field(default_factory=dict)
    """The paper's data set -> its values there, in the order of the table's `paper_measures`."""

    @property
    def competes(self) -> bool:
        return not (self.upper_bound or self.more_than_ranking)

    @property
    def made_here(self) -> bool:
        return self.system in SYSTEMS


@dataclass(frozen=True)
class TableSpec:
    title: str
    rows: tuple[RowSpec, ...]
    measures: tuple[str, ...] = DEFAULT_MEASURES
    paper_measures: tuple[str, ...] = DEFAULT_MEASURES
    benchmarks: tuple[str, ...] = ("openfinquant", "openmedquant")
    """Those that are there are measured."""
    paper_data: dict[str, str] = field(default_factory=dict)
    """Benchmark -> the data set the paper's numbers beside it come from."""
    subject: str = "NumColBERT"
    """The row the summary speaks of."""
    baseline: str = "ColBERT_ft"
    """The row every other is tested against."""
    rivals: tuple[str, ...] = ()
    """Rows the summary sets the subject against besides the baseline."""
    tukey: bool = False
    suites: bool = False
    """Also one table a suite of the benchmark."""
    operators: bool = False
    """Also one table an operator."""
    facts: tuple[str, ...] = ()
    """Columns beside the measures, from what was noted when the runs were made."""
    kept: dict[str, str] = field(default_factory=dict)
    """Benchmark -> the row of whose quality the subject's share is told."""
    in_summary: bool = False
    """Whether a report that begins with another table tells of this one in its opening too."""
    among: str = ""
    """What the rows are, where they are not systems that compete: what is said of the subject says so, and
    stands above the table."""
    name: str = ""
    """The file's, without ending."""
    shipped: str = ""
    """The row of the model people get, where it is not the subject: the summary says where it loses."""
    note: str = ""

    @property
    def among_them(self) -> str:
        """Put behind what a sentence says of the subject."""
        return f" among {self.among}" if self.among else ""


def load_table(name: str) -> TableSpec:
    if name not in TABLES:
        raise UsageError(f"There is no table '{name}'.", hint="choose one of " + ", ".join((*TABLES, "all")))
    spec = settings_from(TableSpec, read_toml(_FOLDER / f"{name}.toml"), f"the table '{name}'")
    spec = replace(spec, name=name)
    names = {row.system for row in spec.rows}
    for rival in spec.rivals:
        if rival not in {row.name for row in spec.rows}:
            raise UsageError(
                f"The rival '{rival}' is no row of the table '{name}'.", hint="give the name of a row"
            )
    for row in spec.rows:
        if row.first and row.first not in names | set(SYSTEMS):
            raise UsageError(
                f"Row '{row.name}' stands on '{row.first}', which is no row of the table '{name}'.",
                hint="name the system of another row",
            )
        for values in row.paper.values():
            if len(values) != len(spec.paper_measures):
                raise UsageError(
                    f"Row '{row.name}' has {len(values)} values of the paper.",
                    hint="give one for each of " + ", ".join(spec.paper_measures),
                )
    return spec
