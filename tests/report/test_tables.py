"""The same table in every format."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from numcolbert.evaluate.compare import compare
from numcolbert.report.grid import Entry, Grid, latex_escape, to_cells, to_html, to_latex, to_markdown
from numcolbert.report.html import Page, Picture, Point, Section, render
from numcolbert.report.tables import comparison_grids, comparison_json

GRID = Grid("A & B", ["system", "R@1"], [[Entry("x_1|y"), Entry("0.5", best=True, mark="+")]], ["50% <note>"])


def test_plain_cells() -> None:
    assert to_cells(GRID) == [["x_1|y", "0.5▲"]]


def test_markdown() -> None:
    lines = to_markdown(GRID).splitlines()
    assert lines[2:5] == ["| system | R@1 |", "|---|--:|", r"| x_1\|y | **0.5**▲ |"]


def test_latex() -> None:
    text = to_latex(GRID)
    assert r"x\_1|y & \textbf{0.5}$^{\blacktriangle}$ \\" in text
    assert r"\caption{A \& B. 50\% \textless{}note\textgreater{}}" in text
    assert text.count(r"\begin") == text.count(r"\end") == 2
    assert latex_escape("a_b{}^~\\") == r"a\_b\{\}\textasciicircum{}\textasciitilde{}\textbackslash{}"


class Balanced(HTMLParser):
    """Checks that every tag closes."""

    VOID = frozenset({"meta", "img", "!doctype"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.external: list[str] = []

    def handle_starttag(self, tag: str, attrs) -> None:
        self.external += [v for k, v in attrs if k in ("src", "href") and not v.startswith(("data:", "#"))]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(html: str) -> None:
    parser = Balanced()
    parser.feed(html)
    assert not parser.open and not parser.external


def test_html_is_escaped_and_closed() -> None:
    html = to_html(GRID)
    check(html)
    assert "A &amp; B" in html and "50% &lt;note&gt;" in html and '<sup class="up">▲</sup>' in html


def test_a_page_is_self_contained(tmp_path) -> None:
    (tmp_path / "f.png").write_bytes(b"\x89PNG")
    sections = [Section("One", [GRID], [Picture(tmp_path / "f.png", "caption")], ["text"]), Section("Two")]
    html = render(Page("Title <b>", "lead", [Point("It loses here.", "A & B.")], sections, {"seed": "0"}))
    check(html)
    assert "data:image/png;base64,iVBORw==" in html
    assert html.index("<strong>A &amp; B.</strong> It loses here.") < html.index("<table>")
    assert "Title &lt;b&gt;" in html


@pytest.fixture
def comparison():
    qrels = {f"q{i}": {"a": 1} for i in range(6)}
    good = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    bad = {query: {"b": 2.0, "c": 1.5, "a": 1.0} for query in list(qrels)[:5]}
    return compare({"good": good, "bad": bad}, qrels, "good", dataset="tiny", with_tukey=True)


def test_a_comparison_as_grids(comparison) -> None:
    first, *rest = comparison_grids(comparison)
    assert first.title == "tiny (6 queries)"
    assert to_cells(first)[0] == ["good", "1.000", "1.000", "0.100", "1.000"]
    assert to_cells(first)[1][2] == "0.278▼"
    assert first.rows[0][1].best and not first.rows[1][1].best
    assert "Queries without any hit count as zero: bad 1." in first.notes
    assert any("than good (paired t-test, Holm-corrected, p < 0.05)" in note for note in first.notes)
    assert "interval" in first.rows[1][2].detail and "against good" in first.rows[1][2].detail
    assert len(rest) == 4 and rest[0].rows[0][0].text == "good - bad"


def test_a_comparison_as_json(comparison) -> None:
    value = json.loads(json.dumps(comparison_json(comparison), allow_nan=False))
    assert value["tables"][0]["rows"][1]["missing"] == 1
