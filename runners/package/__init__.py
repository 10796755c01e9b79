# SPDX-License-Identifier: BSD-2-Clause
"""The package of a run: making, signing and verifying it."""
