# SPDX-License-Identifier: BSD-2-Clause
"""The command line on the checkout that FAKE_ROOT names, with fabrics that need no guest.

FAKE_GRACE is how many seconds an agent may be late, or silent: as few as a test cares to wait where
one hangs, and else more than any agent is held up. FAKE_STILL is for how many a host stands still
that is said to. FAKE_FAULTS_AT_A_TIME is of how many a crew of `faults` has entries.
"""

import os
from pathlib import Path
from typing import NoReturn

from runners import cli
from runners.campaign.session import session
from runners.checkout import Checkout

FABRICS = {
    "vm": "tests.runners.fake_fabric:FakeFabric",
    "qemu": "runners.fabric.vm:VmFabric",
    "host": "runners.fabric.host:HostFabric",
    "ssh": "runners.fabric.ssh:SshFabric",
    "absent": "tests.runners.fake_fabric:AbsentFabric",
}


def main() -> NoReturn:
    """Obey the arguments of this process."""
    session.HELLO_TIMEOUT = 60.0
    grace = float(os.environ.get("FAKE_GRACE", "60"))
    session.patience = lambda limits: limits.deadline_ms / 1000 + grace
    session.SILENCE = grace + 1
    session.STILL = float(os.environ.get("FAKE_STILL", "3"))
    session.ABORT_TIMEOUT = min(grace, 2.0)
    if at_a_time := os.environ.get("FAKE_FAULTS_AT_A_TIME"):
        from runners.campaign.mutation import campaign as mutation

        mutation.FAULTS_AT_A_TIME = int(at_a_time)
    raise SystemExit(cli.main(checkout=Checkout(Path(os.environ["FAKE_ROOT"]), FABRICS)))


if __name__ == "__main__":
    main()
