/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ia/shared/instance.h"
#include "case/poison.h"
#include "cases/evd/shared/dispatcher.h"

#define ASYNC_QLEN 8

struct instance instance_with(struct test *t, DAT_COUNT qlen, DAT_EVD_HANDLE async)
{
        struct instance instance = {.async = async};

        poison((void *)&instance.ia, sizeof(instance.ia));
        expect(dat_ia_open(ia_name(t), qlen, &instance.async, &instance.ia), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_IA, instance.ia);
        return instance;
}

struct instance instance_new(struct test *t)
{
        return instance_with(t, ASYNC_QLEN, DAT_HANDLE_NULL);
}

void instance_close(struct test *t, const struct instance *instance, DAT_CLOSE_FLAGS flags)
{
        expect(dat_ia_close(instance->ia, flags), DAT_SUCCESS);
        disown(t, instance->ia);
}

DAT_EVD_HANDLE async_told(struct test *t, DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE told;

        poison((void *)&told, sizeof(told));
        must(dat_ia_query(ia, &told, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL));
        must_be_written(t, "dat_ia_query", "the asynchronous EVD", &told, sizeof(told));
        return told;
}

void expect_instance_works(struct test *t, DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;
        struct buf *buf;

        expect(dat_pz_create(ia, &zone), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_PZ, zone);
        buf = buf_with(t, .ia = ia, .pz = zone);
        expect(dat_evd_create(ia, SE_QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
        post_ses(t, evd, 0, 2);
        expect_ses(t, evd, 0, 2);
        release(t, evd);
        release(t, buf);
        release(t, zone);
}
