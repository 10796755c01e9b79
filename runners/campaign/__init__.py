# SPDX-License-Identifier: BSD-2-Clause
"""A run: what is tried where, by whom and against what, to the last verdict."""
