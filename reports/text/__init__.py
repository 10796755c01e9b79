# SPDX-License-Identifier: BSD-2-Clause
"""Reports as text: JUnit XML, JSON, Markdown."""
