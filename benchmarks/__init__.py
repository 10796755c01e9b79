# SPDX-License-Identifier: BSD-2-Clause
"""Measurements; a package of its own, so that no installed package of this name hides it."""
