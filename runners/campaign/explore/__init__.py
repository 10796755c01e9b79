# SPDX-License-Identifier: BSD-2-Clause
"""Random walks through the API: drawn by Hypothesis, judged by the executable specification."""
