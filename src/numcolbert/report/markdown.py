"""A page as Markdown: the same sections, with links to the pictures."""

from __future__ import annotations

from pathlib import Path

from numcolbert.report.grid import to_markdown
from numcolbert.report.html import Page, Section


def page_markdown(page: Page, folder: Path) -> str:
    """The page as it is to lie in `folder`, where its pictures lie too."""
    points = [f"**{point.about}** {point.text}" if point.about else point.text for point in page.summary]
    parts = [f"# {page.title}", *points]
    for section in page.sections:
        parts += _section(section, folder)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(section: Section, folder: Path) -> list[str]:
    pictures = [
        f"![{picture.caption}]({picture.path.relative_to(folder).as_posix()})" for picture in section.pictures
    ]
    grids = [to_markdown(grid) for grid in section.grids]
    return [f"## {section.title}", *section.text, *grids, *section.notes, *pictures]
