# SPDX-License-Identifier: BSD-2-Clause
"""What tests of the pages need."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser; where it is missing the test is left out, and on a CI server it fails."""
    if program := shutil.which("chromium"):
        return program
    why = "no chromium here: apt-get install chromium, or ./udapl-cts selftest, which installs it"
    if os.environ.get("CI"):
        pytest.fail(f"{why}; CI is set, so nothing may be left out")
    pytest.skip(why)
