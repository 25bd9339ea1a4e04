"""What happened in a campaign, for those who were not there."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

LOG = "campaign.log"
PLAN = "plan.toml"
"""A copy of the campaign's file, which says later what to keep of each run."""


class CampaignLog:
    """Tells stderr and WORK/campaign.log."""

    def __init__(self, work: Path) -> None:
        self._file, self._since = work / LOG, time.monotonic()

    def say(self, text: str) -> None:
        line = f"{time.monotonic() - self._since:6.0f} s  {text}\n"
        self.note(line)
        with suppress(OSError):  # nobody listens any more; the campaign goes on
            sys.stderr.write(line)

    def note(self, text: str) -> None:
        """Tell the file alone."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(text)
