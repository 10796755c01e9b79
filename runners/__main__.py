# SPDX-License-Identifier: BSD-2-Clause
"""`python -m runners` is the command line; `udapl-cts` makes it so.

Python ends with 1 where it fails, and so does the suite where a provider does. They are told apart
here: whatever keeps the command line from being loaded is a sentence, and 2.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

COULD_NOT_TELL = 2
INTERRUPTED = 130
ROOT = Path(__file__).resolve().parents[1]
# An installation brings the pinned packages along; a clone has them in .venv.
VENDORED = ROOT / "python" / "{}.{}".format(*sys.version_info)


def load_and_run() -> int:
    """Load the command line, then obey it; the exit code."""
    # While this loads, a ^C has nothing to end in good order, and no traceback to show.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from runners.cli import main
    except (Exception, SystemExit) as error:
        _say(f"cannot load the command line ({type(error).__name__}: {error}): {_advice()}")
        return COULD_NOT_TELL
    signal.signal(signal.SIGINT, handler)
    try:
        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


def _advice() -> str:
    path = os.environ.get("PYTHONPATH", str(ROOT))
    if path != str(ROOT):
        return f"unset PYTHONPATH, which is {path}"
    return f"remove {ROOT / '.venv'}, which ./udapl-cts makes again"


def _say(text: str) -> None:
    with suppress(OSError):
        os.write(2, f"udapl-cts: {text}\n".encode(errors="backslashreplace"))


if __name__ == "__main__":
    if not __package__:
        # Started by its path, apart from all that this machine's user has set for Python.
        own = [str(ROOT)]
        if VENDORED.is_dir():
            own.append(str(VENDORED))
        sys.path[:0] = own
        for name in [name for name in os.environ if name.startswith("PYTHON")]:
            del os.environ[name]
        os.environ["PYTHONPATH"] = os.pathsep.join(own)
    raise SystemExit(load_and_run())
