// Runs methods of programs on zeros, for fuzzers of program files.
#ifndef FUZZ_RUN_PROGRAM_H
#define FUZZ_RUN_PROGRAM_H

#include "rt/rt.h"

static inline void set_inputs(sc_ctx *ctx, sc_rt_method *method) {
    for (uint32_t i = 0; i < sc_rt_method_input_count(method); i++) {
        const sc_evalue *declared = sc_rt_method_input(method, i);
        sc_rt_input input = {.tag = (sc_evalue_tag)declared->tag};
        sc_mark mark = sc_arena_mark(ctx->scratch);
        if (declared->tag == SC_EVALUE_TENSOR) {
            const sc_tensor *t = declared->tensor;
            input.dtype = t->dtype;
            input.rank = t->rank;
            input.sizes = t->sizes;
            input.bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
            input.data = sc_arena_alloc(ctx->scratch, (size_t)input.bytes + 1);
        } else {
            input.i = declared->tag == SC_EVALUE_INT ? declared->i : 0;
            input.b = declared->tag == SC_EVALUE_BOOL && declared->b;
            input.d = declared->tag == SC_EVALUE_DOUBLE ? declared->d : 0;
            input.str = declared->tag == SC_EVALUE_STRING ? declared->str : (sc_str){NULL, 0};
        }
        sc_status status = sc_rt_method_set_input(ctx, method, i, &input);
        SC_ASSERT(status == SC_OK || ctx->error_count > 0);
        sc_arena_rewind(ctx->scratch, mark);
    }
}

static inline void read_outputs(sc_ctx *ctx, sc_rt_method *method) {
    for (uint32_t i = 0; i < sc_rt_method_output_count(method); i++) {
        const sc_evalue *value = sc_rt_method_output(method, i);
        if (value->tag != SC_EVALUE_TENSOR || !value->tensor->data) continue;
        size_t bytes =
            (size_t)value->tensor->numel * sc_dtype_bytes((sc_dtype)value->tensor->dtype);
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_rt_tensor_read(value->tensor, sc_arena_alloc(ctx->scratch, bytes + 1), bytes);
        sc_arena_rewind(ctx->scratch, mark);
    }
}

static inline sc_status read_file(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                                  size_t bytes) {
    (void)ctx;
    SC_ASSERT(offset <= source->size && bytes <= source->size - offset);
    memcpy(out, (const uint8_t *)source->user + offset, bytes);
    return SC_OK;
}

#endif
