# SPDX-License-Identifier: BSD-2-Clause
"""Random walks through the API: drawn from tables, judged by the executable specification."""
