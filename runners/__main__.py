# SPDX-License-Identifier: BSD-2-Clause
"""`python -m runners` is the command line; `udapl-cts` makes it so."""

import signal

if __name__ == "__main__":
    # While this loads, a ^C has nothing to end in good order, and no traceback to show.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from runners.cli import main

    signal.signal(signal.SIGINT, handler)
    raise SystemExit(main())
