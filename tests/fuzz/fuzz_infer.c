// Shape rules on arguments made up from bytes: any operator, any sizes, strides and numbers of the
// kinds that its schema allows, symbolic or as at run time. Rules must answer with a result or an
// error; results must be well formed.
#include <math.h>

#include "ops/infer.h"

#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct source {
    byte_stream in;
    sc_arena *arena;
    sc_exprs *exprs;  // NULL: run time
} source;

static int64_t number(source *s) {
    static const int64_t odd[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, -1, 1 << 30, INT64_MIN + 1};
    uint8_t b = next_byte(&s->in);
    return b >= 240 ? odd[b % SC_COUNT_OF(odd)] : b >= 200 ? -(int64_t)(b - 199) : b % 16;
}

static sc_dim dim(source *s, bool size) {
    uint8_t b = next_byte(&s->in);
    if (s->exprs && b > 180) {
        static const char *const names[] = {"s0", "s1", "u0"};
        sc_symbol *symbol = sc_exprs_symbol(s->exprs, sc_str_from(names[b % 3]));
        symbol->range = (sc_range){b % 3 == 2 ? 0 : 2, 100};
        symbol->has_hint = b % 3 != 2;
        symbol->hint = 7;
        sc_dim d = sc_dim_from_symbol(s->exprs, symbol);
        return b % 2 ? d : sc_dim_add(s->exprs, d, sc_dim_int(1));
    }
    int64_t value = number(s);
    return sc_dim_int(size ? value & 0x7fffffff : value);
}

static const sc_spec *tensor(source *s) {
    static const sc_dtype dtypes[] = {SC_DTYPE_F32, SC_DTYPE_I64, SC_DTYPE_BOOL, SC_DTYPE_F16,
                                      SC_DTYPE_U8,  SC_DTYPE_C64, SC_DTYPE_U16};
    uint8_t b = next_byte(&s->in);
    sc_spec *spec = sc_new(s->arena, sc_spec);
    uint32_t rank = b < 240 ? b % 6 : b % (SC_RANK_MAX + 1);
    *spec = sc_spec_new(s->arena, dtypes[next_byte(&s->in) % SC_COUNT_OF(dtypes)], rank);
    for (uint32_t d = 0; d < rank; d++) spec->sizes[d] = dim(s, true);
    sc_spec_set_contiguous(s->exprs, spec);
    if (b % 3 == 0 && s->exprs)
        for (uint32_t d = 0; d < rank; d++) spec->strides[d] = dim(s, true);
    return spec;
}

static sc_iarg scalar(source *s, sc_param_type type) {
    switch (type) {
    case SC_PARAM_TENSOR: return (sc_iarg){.kind = SC_IARG_TENSOR, .tensor = tensor(s)};
    case SC_PARAM_INT: return (sc_iarg){.kind = SC_IARG_INT, .dim = dim(s, false)};
    case SC_PARAM_BOOL: return (sc_iarg){.kind = SC_IARG_BOOL, .b = next_byte(&s->in) & 1};
    case SC_PARAM_FLOAT: return (sc_iarg){.kind = SC_IARG_FLOAT, .f = (double)number(s) / 2};
    case SC_PARAM_SCALAR:
        if (next_byte(&s->in) & 1) return (sc_iarg){.kind = SC_IARG_INT, .dim = dim(s, false)};
        return (sc_iarg){.kind = SC_IARG_FLOAT,
                         .f = next_byte(&s->in) & 1 ? NAN : (double)number(s)};
    case SC_PARAM_STR: return (sc_iarg){.kind = SC_IARG_STR, .str = SC_STR("floor")};
    case SC_PARAM_DTYPE: return (sc_iarg){.kind = SC_IARG_DTYPE, .code = next_byte(&s->in) % 8};
    case SC_PARAM_MEMORY_FORMAT:
        return (sc_iarg){.kind = SC_IARG_MEMORY_FORMAT, .code = next_byte(&s->in) % 4};
    default: return (sc_iarg){.kind = SC_IARG_NONE};
    }
}

static sc_iarg argument(source *s, const sc_param *param) {
    uint8_t b = next_byte(&s->in);
    if (param->is_optional && b % 3 == 0) return (sc_iarg){.kind = SC_IARG_NONE};
    if (!param->is_list) return scalar(s, param->type);
    uint32_t count = b > 250 ? 20 : b % 5;
    sc_iarg *items = sc_new_array(s->arena, sc_iarg, count);
    for (uint32_t i = 0; i < count; i++) {
        bool is_absent = param->item_is_optional && next_byte(&s->in) % 3 == 0;
        items[i] = is_absent ? (sc_iarg){.kind = SC_IARG_NONE} : scalar(s, param->type);
    }
    return (sc_iarg){.kind = SC_IARG_LIST, .count = count, .items = items};
}

static void check(const sc_infer *in) {
    for (uint32_t i = 0; i < in->out_count; i++) {
        const sc_iout *out = &in->outs[i];
        if (out->kind != SC_IOUT_TENSOR) continue;
        uint64_t bytes;
        SC_ASSERT(out->spec.rank <= SC_RANK_MAX && sc_dtype_is_known(out->spec.dtype));
        sc_spec_bytes_max(&out->spec, &bytes);
        for (uint32_t d = 0; d < out->spec.rank; d++)
            SC_ASSERT(out->spec.sizes[d].expr || out->spec.sizes[d].value >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    source s = {.in = {.data = data, .size = size}, .arena = &arena};
    if (sc_ops_init() == SC_OK && size > 3) {
        const sc_op *op = next_op(&s.in, NULL);
        bool runtime = next_byte(&s.in) & 1;
        s.exprs = runtime ? NULL : sc_exprs_new(&arena, ctx.names);
        sc_iarg args[64];
        for (uint32_t i = 0; i < op->schema->param_count; i++)
            args[i] = argument(&s, &op->schema->params[i]);
        sc_infer in = {.ctx = &ctx,
                       .arena = &arena,
                       .exprs = s.exprs,
                       .op = op,
                       .args = args,
                       .arg_count = op->schema->param_count,
                       .runtime = runtime};
        if (sc_infer_run(&in) == SC_OK) check(&in);
    }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
