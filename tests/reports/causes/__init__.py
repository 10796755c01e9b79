# SPDX-License-Identifier: BSD-2-Clause
"""Findings by cause: what makes two of them one, what sets them apart, and how they are shown."""
