"""One self-contained page: no script, no font, no picture from elsewhere; good on paper too."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from numcolbert.files import replacing_file, require_file
from numcolbert.report.grid import Grid, to_html

_STYLE = """
:root { --ink:#1c2430; --soft:#5b6776; --line:#d9dfe6; --paper:#fff; --tint:#f4f7fa; --accent:#0b6e6e;
  --up:#0a7d33; --down:#b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink:#e6eaf0; --soft:#9aa7b6; --line:#313b47;
  --paper:#14191f; --tint:#1b222a; --accent:#5cc8c2; --up:#5fd38a; --down:#ff8a80; } }
* { box-sizing:border-box }
body { margin:0; background:var(--paper); color:var(--ink); line-height:1.55;
  font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif }
main { max-width:64rem; margin:0 auto; padding:3rem 1.25rem 5rem }
h1 { font-size:1.9rem; line-height:1.2; margin:0 0 .25rem; letter-spacing:-.01em }
h2 { font-size:1.25rem; margin:3rem 0 .75rem; padding-top:1rem; border-top:1px solid var(--line) }
.lead { color:var(--soft); margin:0 0 1.5rem }
.summary { background:var(--tint); border-left:4px solid var(--accent); padding:.9rem 1.1rem;
  margin:1.5rem 0 }
.summary p { margin:.4rem 0 }
nav { font-size:.92rem; columns:2 18rem; margin:1.5rem 0 } nav a { display:block; color:var(--accent);
  text-decoration:none; padding:.1rem 0 }
figure { margin:1.5rem 0 2rem; break-inside:avoid } figcaption { font-weight:600; margin-bottom:.5rem }
.scroll { overflow-x:auto }
table { border-collapse:collapse; width:100%; font-size:.93rem; font-variant-numeric:tabular-nums }
thead th, thead th:first-child { border-bottom:2px solid var(--ink); font-weight:600 }
th,td { padding:.34rem .6rem; text-align:right } th:first-child { text-align:left }
tbody th { font-weight:500 } @media (min-width:50rem) { tbody th { min-width:15.5rem } }
tbody tr { border-bottom:1px solid var(--line) } tbody tr:hover { background:var(--tint) }
.best { font-weight:700 } sup { font-size:.62em; margin-left:.15em } .up { color:var(--up) }
.down { color:var(--down) } .note { color:var(--soft); font-size:.86rem; margin:.4rem 0 }
img { max-width:100%; height:auto; background:#fff; border:1px solid var(--line); border-radius:6px }
dl { display:grid; grid-template-columns:max-content 1fr; gap:.2rem 1.2rem; font-size:.9rem }
dt { color:var(--soft) } dd { margin:0; overflow-wrap:anywhere }
@media print { :root { --ink:#000; --paper:#fff; --tint:#fff; --line:#bbb; --soft:#444; --accent:#000;
  --up:#000; --down:#000 } body { font-size:9.5pt; line-height:1.4 } main { max-width:none; padding:0 }
  h1 { font-size:1.5rem } .lead { margin:0 } .summary { font-size:8.5pt; padding:.3rem .8rem; margin:.7rem 0 }
  nav { display:none } h2 { margin-top:1.5rem } h2, h2 + p, figcaption { break-after:avoid }
  h2 + p, figure:has(img) { break-inside:avoid }
  figure { margin:.8rem 0 1rem; break-inside:auto } .scroll { overflow:visible; break-inside:avoid }
  table { font-size:8pt } th,td { padding:.14rem .3rem } tbody th { min-width:11.5rem }
  .note { font-size:7.5pt; margin:.15rem 0 } img { max-height:85mm }
  @page { margin:14mm 13mm } }
""".strip()


@dataclass(frozen=True, slots=True)
class Picture:
    path: Path
    """A PNG or SVG file; it is embedded."""
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    grids: Sequence[Grid] = ()
    pictures: Sequence[Picture] = ()
    text: Sequence[str] = ()
    notes: Sequence[str] = ()
    """What is to know about all grids, below them."""


@dataclass(frozen=True, slots=True)
class Point:
    """A few sentences of the summary."""

    text: str
    about: str = ""
    """What they are about, in bold before them."""


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    lead: str
    summary: Sequence[Point] = ()
    """What a reader must know first, defeats included."""
    sections: Sequence[Section] = ()
    facts: dict[str, str] = field(default_factory=dict)
    """How the numbers were made: versions, seeds, dates."""


def render(page: Page) -> str:
    titles = list(enumerate(section.title for section in page.sections))
    links = "".join(f'<a href="#s{i}">{escape(title)}</a>' for i, title in titles)
    summary = "".join(f"<p>{_point(point)}</p>" for point in page.summary)
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(page.title)}</h1>\n<p class="lead">{escape(page.lead)}</p>\n',
        f'<div class="summary">{summary}</div>\n' if summary else "",
        f"<nav>{links}</nav>\n" if len(titles) > 1 else "",
        *(_section(i, section) for i, section in enumerate(page.sections)),
        _facts(page.facts),
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def write(page: Page, path: Path) -> None:
    with replacing_file(path) as aside:
        aside.write_text(render(page), encoding="utf-8")


def _point(point: Point) -> str:
    about = f"<strong>{escape(point.about)}</strong> " if point.about else ""
    return about + escape(point.text)


def _section(number: int, section: Section) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in section.text)
    grids = "".join(to_html(grid) for grid in section.grids)
    notes = "".join(f'<p class="note">{escape(note)}</p>\n' for note in section.notes)
    pictures = "".join(_picture(picture) for picture in section.pictures)
    heading = f"<h2>{escape(section.title)}</h2>\n"
    return f'<section id="s{number}">{heading}{text}{grids}{notes}{pictures}</section>\n'


def _picture(picture: Picture) -> str:
    path = require_file(picture.path, "figure")
    kind = "image/svg+xml" if path.suffix == ".svg" else "image/png"
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    caption = escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:{kind};base64,{data}">'
        f'<figcaption class="note">{caption}</figcaption></figure>\n'
    )


def _facts(facts: dict[str, str]) -> str:
    if not facts:
        return ""
    lines = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items())
    return f"<section><h2>How this was made</h2><dl>{lines}</dl></section>\n"
