# SPDX-License-Identifier: BSD-2-Clause
"""What a run left behind: its records, their model, and the analysis of both."""
