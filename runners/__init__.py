# SPDX-License-Identifier: BSD-2-Clause
"""The command line, the fabrics, and the runner of the cases."""
