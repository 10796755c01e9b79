# SPDX-License-Identifier: BSD-2-Clause
"""`explore`: the steps, the search, and the walks on guests."""
