"""Train many recipes on one machine, a few at a time, unattended, and keep what is worth keeping.

    python scripts/campaign.py run PLAN WORK --slots 6 --seconds 1500 --pack OUT
    python scripts/campaign.py show WORK            how far each is, and its development results
    python scripts/campaign.py pack WORK OUT        what `run --pack` does with every run that ends
    python scripts/campaign.py unpack OUT FOLDER    the same files again

`run` starts what stands in the file PLAN (see campaign_plan.py), or is added to it later. When the seconds
are over, or at Ctrl-C or SIGTERM, trainings save a checkpoint and end; leave a minute or two for that. OUT
holds what has ended at any time: fetch it early, and not only at the end. Runs go to WORK/runs/<name>, what
they say to WORK/logs/<name>.log, what happened to WORK/campaign.log.

Several small trainings keep a GPU busier than one after the other; NVIDIA's MPS
(`nvidia-cuda-mps-control -d`) lets their kernels run side by side.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from campaign_log import CampaignLog
from campaign_pack import Limits, Packer, make_room, pack, unpack
from campaign_run import Campaign
from campaign_show import show
from numcolbert.errors import UsageError
from numcolbert.program import parser_of, program


def run(chosen: argparse.Namespace) -> int:
    if chosen.slots < 1:
        raise UsageError(f"{chosen.slots} slots start nothing.", hint="give --slots 1 or more")
    if chosen.pack:
        make_room(chosen.pack)
    campaign = Campaign(
        chosen.plan,
        chosen.work,
        chosen.slots,
        seconds=chosen.seconds,
        only=chosen.only,
        have=chosen.have,
        changes=chosen.changes,
    )
    packer = None
    if chosen.pack:
        packer = Packer(chosen.work, chosen.pack, campaign.log.say, limits(chosen))
        campaign.when_ended = packer.add
    try:
        campaign.run()
    finally:  # whatever went wrong, what was trained is kept
        campaign.log.note(campaign.table())
        if packer:
            packer.finish()
        sys.stdout.write(campaign.table())
    return int(any(end.state == "failed" for end in campaign.ended.values()))


@program
def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    if chosen.action == "run":
        return run(chosen)
    if chosen.action == "pack":
        pack(chosen.work, chosen.out, CampaignLog(chosen.work).say, limits(chosen))
    elif chosen.action == "unpack":
        unpack(chosen.out, chosen.folder)
    else:
        show(chosen.work)
    return 0


def limits(chosen: argparse.Namespace) -> Limits:
    return Limits(chosen.part_megabytes, chosen.most_megabytes)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run")
    running.add_argument("plan", type=Path)
    running.add_argument("work", type=Path)
    running.add_argument("--slots", type=int, default=4, help="trainings at once")
    running.add_argument("--seconds", type=float, help="ask what is running to stop after so long")
    running.add_argument(
        "--pack", type=Path, metavar="OUT", help="pack what is worth keeping of each run that ends"
    )
    running.add_argument("--only", nargs="+", default=[], metavar="RUN", help="and what these wait for")
    running.add_argument(
        "--have", nargs="+", default=[], metavar="RUN", help="made before: its folder is in WORK/runs"
    )
    running.add_argument(
        "--set", dest="changes", action="append", default=[], metavar="section.key=value", help="in all runs"
    )
    packing = actions.add_parser("pack")
    packing.add_argument("work", type=Path)
    packing.add_argument("out", type=Path)
    for action in (running, packing):
        action.add_argument("--part-megabytes", type=float, default=Limits.part_megabytes)
        action.add_argument("--most-megabytes", type=float, default=Limits.most_megabytes)
    unpacking = actions.add_parser("unpack")
    unpacking.add_argument("out", type=Path)
    unpacking.add_argument("folder", type=Path)
    showing = actions.add_parser("show")
    showing.add_argument("work", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
