# SPDX-License-Identifier: BSD-2-Clause
"""Findings by cause: the defects behind what a run found."""
