# SPDX-License-Identifier: BSD-2-Clause
"""The command line on the checkout that FAKE_ROOT names, with fabrics that need no guest."""

import os
from pathlib import Path

from runners import cli, session
from runners.checkout import Checkout

FABRICS = {
    "vm": "tests.runners.fake_fabric:FakeFabric",
    "qemu": "runners.fabric.vm:VmFabric",
    "host": "runners.fabric.host:HostFabric",
    "ssh": "runners.fabric.ssh:SshFabric",
    "absent": "tests.runners.fake_fabric:AbsentFabric",
}

if __name__ == "__main__":
    session.patience = lambda limits: limits.deadline_ms / 1000 + 3.0
    session.ABORT_TIMEOUT = 1.0
    session.SILENCE = 4.0
    session.HELLO_TIMEOUT = 60.0
    raise SystemExit(cli.main(checkout=Checkout(Path(os.environ["FAKE_ROOT"]), FABRICS)))
