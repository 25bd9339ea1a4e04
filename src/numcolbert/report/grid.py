"""A table as values, and the same table as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

Mark = str
"""'+' significantly better, '-' significantly worse, '' neither."""

_PLAIN_MARKS = {"+": "▲", "-": "▼", "": ""}
_LATEX_MARKS = {"+": r"$^{\blacktriangle}$", "-": r"$^{\blacktriangledown}$", "": ""}
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    text: str
    best: bool = False
    mark: Mark = ""
    detail: str = ""
    """Shown where there is room for it: a tooltip in HTML."""


@dataclass(frozen=True, slots=True)
class Grid:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    notes: Sequence[str] = field(default_factory=tuple)


def to_cells(grid: Grid) -> list[list[str]]:
    """The rows as plain strings, for a terminal."""
    return [[entry.text + _PLAIN_MARKS[entry.mark] for entry in row] for row in grid.rows]


def to_markdown(grid: Grid) -> str:
    def written(entry: Entry) -> str:
        text = entry.text.replace("|", r"\|")
        return (f"**{text}**" if entry.best else text) + _PLAIN_MARKS[entry.mark]

    lines = [f"**{grid.title}**", ""]
    lines.append("| " + " | ".join(column.replace("|", r"\|") for column in grid.columns) + " |")
    lines.append("|" + "---|" + "--:|" * (len(grid.columns) - 1))
    lines += ["| " + " | ".join(written(entry) for entry in row) + " |" for row in grid.rows]
    lines += [line for note in grid.notes for line in ("", note)]
    return "\n".join(lines) + "\n"


def to_latex(grid: Grid) -> str:
    """A `table` in booktabs style."""

    def written(entry: Entry) -> str:
        text = latex_escape(entry.text)
        return (rf"\textbf{{{text}}}" if entry.best else text) + _LATEX_MARKS[entry.mark]

    caption = latex_escape(" ".join([grid.title + ".", *grid.notes]))
    for plain, mark in (("▲", _LATEX_MARKS["+"]), ("▼", _LATEX_MARKS["-"])):
        caption = caption.replace(plain, mark)
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,amssymb}",
            r"\begin{table}",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(grid.columns) - 1)}}}",
            r"\toprule",
            " & ".join(latex_escape(column) for column in grid.columns) + r" \\",
            r"\midrule",
            *(" & ".join(written(entry) for entry in row) + r" \\" for row in grid.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def to_html(grid: Grid) -> str:
    """One `<figure>`; the page's style sheet does the rest."""

    def written(entry: Entry, tag: str) -> str:
        title = f' title="{escape(entry.detail)}"' if entry.detail else ""
        best = ' class="best"' if entry.best else ""
        side = {"+": "up", "-": "down"}.get(entry.mark)
        mark = f'<sup class="{side}">{_PLAIN_MARKS[entry.mark]}</sup>' if side else ""
        scope = ' scope="row"' if tag == "th" else ""
        return f"<{tag}{scope}{best}{title}>{escape(entry.text)}{mark}</{tag}>"

    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in grid.columns)
    body = "\n".join(
        "<tr>" + "".join(written(entry, "td" if i else "th") for i, entry in enumerate(row)) + "</tr>"
        for row in grid.rows
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in grid.notes)
    return (
        f"<figure><figcaption>{escape(grid.title)}</figcaption>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
        f"{notes}</figure>\n"
    )


def latex_escape(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(character, character) for character in text)
