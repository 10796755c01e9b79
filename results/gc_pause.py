# SPDX-License-Identifier: BSD-2-Clause
"""Work on a run's model without the collector, which finds nothing there and looks at all of it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing is collected in this context, which makes millions of objects and no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
