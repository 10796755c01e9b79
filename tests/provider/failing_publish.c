/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of libdaplref-failing.so, in which the linker sends each call of object_publish() here. The
 * handles of a process or the limit of an IA are too many to be used up for each call.
 */
#include "base/daplref.h"
#include "base/handle.h"

#include "failing.h"

DAT_RETURN __real_object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind);
DAT_RETURN __wrap_object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind);

DAT_RETURN __wrap_object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind)
{
        if (call_fails("object_publish", __builtin_return_address(0)))
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        return __real_object_publish(ia, object, kind);
}
