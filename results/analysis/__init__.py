# SPDX-License-Identifier: BSD-2-Clause
"""Conclusions from the model of a run: causes, profiles, waivers, comparison."""
