#include "rt/setup.h"

#include "harness.h"

void setup_begin(setup *s) {
    memset(s, 0, sizeof *s);
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
}

bool setup_open(setup *s, const void *bytes, size_t size, const sc_rt_options *options) {
    sc_source *source = sc_source_from_memory(&s->arena, bytes, size);
    return CHECK_OK(sc_rt_program_open(&s->ctx, source, options, &s->program));
}

static sc_status read_bytes(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                            size_t bytes) {
    (void)ctx;
    memcpy(out, (const char *)source->user + offset, bytes);
    return SC_OK;
}

sc_source *setup_read(sc_arena *arena, const void *bytes, size_t size) {
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_bytes, .size = size, .user = (void *)(uintptr_t)bytes};
    return source;
}

bool setup_load(setup *s, const char *method) {
    return CHECK_OK(sc_rt_method_load(&s->ctx, s->program, sc_str_from(method), &s->method));
}

bool setup_open_file(setup *s, const char *file, const char *method) {
    size_t size;
    setup_begin(s);
    const char *bytes = test_read(file, &size);
    return setup_open(s, bytes, size, NULL) && setup_load(s, method);
}

void setup_end(setup *s) {
    if (s->program) sc_rt_program_close(s->program);
    sc_arena_deinit(&s->scratch);
    sc_arena_deinit(&s->arena);
}

sc_rt_input setup_floats(const float *data, uint8_t rank, const int64_t *sizes) {
    int64_t count = 1;
    for (uint8_t d = 0; d < rank; d++) count *= sizes[d];
    return (sc_rt_input){.tag = SC_EVALUE_TENSOR,
                         .dtype = SC_DTYPE_F32,
                         .rank = rank,
                         .sizes = sizes,
                         .data = data,
                         .bytes = (uint64_t)count * sizeof(float)};
}

sc_status setup_set(setup *s, uint32_t index, sc_rt_input input) {
    return sc_rt_method_set_input(&s->ctx, s->method, index, &input);
}

static void fill(setup *s, uint32_t index) {
    const sc_evalue *declared = sc_rt_method_input(s->method, index);
    sc_rt_input input = {.tag = (sc_evalue_tag)declared->tag};
    switch (declared->tag) {
    case SC_EVALUE_INT: input.i = declared->i; break;
    case SC_EVALUE_DOUBLE: input.d = declared->d; break;
    case SC_EVALUE_BOOL: input.b = declared->b; break;
    case SC_EVALUE_STRING: input.str = declared->str; break;
    case SC_EVALUE_TENSOR: {
        const sc_tensor *t = declared->tensor;
        uint64_t bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
        void *data = test_alloc(bytes + 1);
        float *numbers = data;
        memset(data, 0, bytes);
        for (int64_t i = 0; t->dtype == SC_DTYPE_F32 && i < t->numel; i++)
            numbers[i] = (float)(i * 37 % 23 - 11) / 8;
        input.dtype = t->dtype;
        input.rank = t->rank;
        input.sizes = t->sizes;
        input.data = data;
        input.bytes = bytes;
        break;
    }
    default: break;
    }
    CHECK_OK(setup_set(s, index, input));
}

void setup_fill(setup *s) {
    for (uint32_t i = 0; i < sc_rt_method_input_count(s->method); i++) fill(s, i);
}
