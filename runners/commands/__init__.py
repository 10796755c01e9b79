# SPDX-License-Identifier: BSD-2-Clause
"""One module per command; each has add_parser(), which names the function that runs it."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[Any]
else:
    Subparsers = Any
