/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that uses the installed headers and library: prints how many IAs there are. */
#include <dat/udat.h>

#include <stdio.h>

int main(void)
{
        DAT_PROVIDER_INFO info[4], *list[4] = {&info[0], &info[1], &info[2], &info[3]};
        DAT_COUNT count = -1;
        DAT_RETURN ret = dat_registry_list_providers(4, &count, list);

        printf("%#x %d %s\n", ret, (int)count, count > 0 ? info[0].ia_name : "");
        return 0;
}
