/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that can be loaded, but is no DAT provider. */

int not_a_provider(void);

int not_a_provider(void)
{
        return 0;
}
