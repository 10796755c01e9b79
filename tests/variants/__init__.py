# SPDX-License-Identifier: BSD-2-Clause
"""Drawn cases on providers that differ in what the pages leave open."""
