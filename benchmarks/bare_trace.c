/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the linker puts before the trace in udapl-cases-bare: of each call it keeps the number, the
 * function, the return and the times. benchmarks.case_cost compares the two binaries.
 */
#include <string.h>

#include "evidence/capture.h"
#include "evidence/memory.h"
#include "evidence/render_call.h"

void __wrap_capture_call(struct call_record *call, unsigned int function,
                         const struct trace_arg *args);
void __wrap_capture_answer(struct call_record *call, const struct trace_arg *args, DAT_RETURN ret);
void __wrap_memory_begin(uint64_t number, unsigned int function, const struct trace_arg *args,
                         struct call_memory *told);
void __wrap_memory_end(uint64_t number, unsigned int function, const struct trace_arg *args,
                       DAT_RETURN ret, struct call_memory *told);
void __wrap_render_call(struct render *render, const struct call_record *call);

void __wrap_capture_call(struct call_record *call, unsigned int function,
                         const struct trace_arg *args)
{
        (void)args;
        call->function = (uint16_t)function;
        call->ret = 0;
        call->used = 0;
        call->pointee_count = 0;
        memset(call->args, 0, sizeof(call->args));
        memset(call->in, 0, sizeof(call->in));
        memset(call->out, 0, sizeof(call->out));
}

void __wrap_capture_answer(struct call_record *call, const struct trace_arg *args, DAT_RETURN ret)
{
        (void)args;
        call->ret = ret;
}

void __wrap_memory_begin(uint64_t number, unsigned int function, const struct trace_arg *args,
                         struct call_memory *told)
{
        (void)number;
        (void)function;
        (void)args;
        (void)told;
}

void __wrap_memory_end(uint64_t number, unsigned int function, const struct trace_arg *args,
                       DAT_RETURN ret, struct call_memory *told)
{
        (void)number;
        (void)function;
        (void)args;
        (void)ret;
        (void)told;
}

static void write_nothing(struct writer *writer, const char *name, const char *brackets)
{
        write_name(writer, name);
        write_open(writer, brackets[0]);
        write_close(writer, brackets[1]);
}

void __wrap_render_call(struct render *render, const struct call_record *call)
{
        struct writer *writer = &render->writer;
        char space[API_NAME_SPACE];

        render_begin(render, "call");
        write_count(writer, "n", call->number);
        write_string(writer, "who", render->who);
        write_string(writer, "call", api_functions[call->function].name);
        write_nothing(writer, "args", "[]");
        write_name(writer, "typed");
        write_open(writer, '{');
        write_nothing(writer, "args", "{}");
        write_nothing(writer, "out", "{}");
        write_close(writer, '}');
        if (atomic_load(&call->state) == CALL_DONE) {
                write_string(writer, "ret", api_return_name(call->ret, space));
                write_nothing(writer, "out", "[]");
        }
        write_name(writer, "ns");
        write_open(writer, '[');
        write_unsigned(writer, call->began_ns);
        write_unsigned(writer, call->began_ns + call->took_ns);
        write_close(writer, ']');
        write_count(writer, "at_us", call->at_ns / 1000);
        write_count(writer, "us", call->took_ns / 1000);
        render_end(render);
}
