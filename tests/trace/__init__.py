# SPDX-License-Identifier: BSD-2-Clause
"""`trace`: what is recorded of a program, without a device and on guests."""
