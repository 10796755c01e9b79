# SPDX-License-Identifier: BSD-2-Clause
"""`python -m runners` is the command line; `udapl-cts` makes it so."""

from runners.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
