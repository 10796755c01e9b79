# SPDX-License-Identifier: BSD-2-Clause
"""The model of a run, and its loader."""
