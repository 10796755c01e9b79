# SPDX-License-Identifier: BSD-2-Clause
"""^C and SIGTERM: the first one ends the run in good order, the second one ends it at once."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Turns the first signal into KeyboardInterrupt, the second into the process's end.

    Only for the main thread. `exit_code` is what the second signal ends the process with.
    """

    def __init__(self, exit_code: int) -> None:
        self._exit_code = exit_code
        self._held = 0
        self._pending = False
        self.seen = ""

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def anew(self) -> None:
        """What begins now may be ended in good order too, though something was before."""
        self.seen = ""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing is interrupted in this context; a signal takes effect at its end.

        In another thread than the main one nothing ever is.
        """
        if current_thread() is not main_thread():
            yield
            return
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._pending and not self._held:
                self._pending = False
                raise KeyboardInterrupt

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.seen:
            os._exit(self._exit_code)
        self.seen = signal.Signals(number).name
        if self._held:
            self._pending = True
        else:
            raise KeyboardInterrupt
