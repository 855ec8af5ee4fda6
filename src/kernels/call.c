// Arguments of kernels, and refusals of calls. The runtime has checked tags against the schema.
// Choices that a schema leaves open (a Scalar may be an int, a bool or a double) are made here.
#include "base/strides.h"
#include "kernels/convert.h"
#include "kernels/kernel.h"

double sc_call_number(const sc_kernel_call *c, uint32_t i) {
    const sc_evalue *value = c->args[i];
    switch (value->tag) {
    case SC_EVALUE_INT: return (double)value->i;
    case SC_EVALUE_BOOL: return value->b ? 1.0 : 0.0;
    case SC_EVALUE_DOUBLE: return value->d;
    default: return 0.0;
    }
}

int64_t sc_call_integer(const sc_kernel_call *c, uint32_t i) {
    const sc_evalue *value = c->args[i];
    switch (value->tag) {
    case SC_EVALUE_INT: return value->i;
    case SC_EVALUE_BOOL: return value->b;
    case SC_EVALUE_DOUBLE: return sc_f64_to_i64(value->d);
    default: return 0;
    }
}

void sc_call_element(const sc_kernel_call *c, uint32_t i, unsigned dtype, void *element) {
    memset(element, 0, 16);
    sc_put_number(element, dtype, sc_call_number(c, i), sc_call_integer(c, i),
                  c->args[i]->tag == SC_EVALUE_DOUBLE);
}

uint32_t sc_call_ints(const sc_kernel_call *c, uint32_t i, int64_t *out, uint32_t max,
                      uint32_t expand) {
    const sc_evalue *value = c->args[i];
    if (value->tag == SC_EVALUE_INT) {  // int[2] accepts a single int
        out[0] = value->i;
    } else if (value->tag != SC_EVALUE_INT_LIST) {
        return 0;
    }
    uint32_t count = value->tag == SC_EVALUE_INT ? 1 : value->count;
    count = count < max ? count : max;
    if (value->tag == SC_EVALUE_INT_LIST) {
        for (uint32_t k = 0; k < count; k++) out[k] = value->ints[k]->i;
    }
    if (count == 1 && expand > 1) {
        count = expand < max ? expand : max;
        for (uint32_t k = 1; k < count; k++) out[k] = out[0];
    }
    return count;
}

uint32_t sc_wrap_dim(int64_t dim, uint32_t rank) {
    if (rank == 0) return 0;
    int64_t wrapped = dim % (int64_t)rank;
    return (uint32_t)(wrapped < 0 ? wrapped + (int64_t)rank : wrapped);
}

uint32_t sc_call_dim(const sc_kernel_call *c, uint32_t i, uint32_t rank) {
    return sc_wrap_dim(sc_call_integer(c, i), rank);
}

sc_status sc_call_resize(const sc_kernel_call *c, sc_tensor *out, const int64_t *sizes) {
    uint64_t bytes = sc_dtype_bytes((sc_dtype)out->dtype), numel = 1;
    bool fits = true, same = true;
    for (uint32_t d = 0; d < out->rank; d++) {
        same = same && sizes[d] == out->sizes[d];
        fits = fits && sizes[d] >= 0 && sc_mul_u64(numel, (uint64_t)sizes[d], &numel) &&
               sc_mul_u64(bytes, (uint64_t)sizes[d], &bytes);
    }
    if (same) return SC_OK;
    if (!fits || !out->is_dynamic || bytes > out->capacity_bytes)
        return sc_call_fail_hint(c, SC_ERR_SHAPE, "Export with a larger bound for this result.",
                                 "finds more elements than its result can hold");
    out->numel = (int64_t)numel;
    for (uint32_t d = 0; d < out->rank; d++) out->sizes[d] = sizes[d];
    (void)sc_strides_of(sizes, out->rank, out->dim_order, out->strides);
    return SC_OK;
}

// --- Failures ------------------------------------------------------------------------------------

static void print_tensor(sc_sb *sb, const sc_tensor *t) {
    sc_sb_addf(sb, "%s[", sc_dtype_short((sc_dtype)t->dtype));
    for (uint32_t d = 0; d < t->rank; d++)
        sc_sb_addf(sb, "%s%lld", d ? ", " : "", (long long)t->sizes[d]);
    sc_sb_add_char(sb, ']');
}

// "f32[2, 3], f32[4, 5] -> f32[2, 5]": the tensors among the arguments, the outs behind the arrow.
static const char *print_tensors(sc_arena *arena, const sc_kernel_call *c) {
    sc_sb sb;
    const uint32_t outs = c->arg_count - sc_op_out_count(c->op);
    const char *before = "";
    sc_sb_init(&sb, arena);
    for (uint32_t i = 0; i < c->arg_count; i++) {
        const sc_evalue *value = c->args[i];
        bool is_list =
            value->tag == SC_EVALUE_TENSOR_LIST || value->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST;
        if (i == outs) before = " -> ";
        for (uint32_t k = 0; k < (is_list ? value->count : 1); k++) {
            const sc_evalue *item = is_list ? value->tensors[k] : value;
            if (!item || item->tag != SC_EVALUE_TENSOR) continue;
            sc_sb_add_text(&sb, before);
            print_tensor(&sb, item->tensor);
            before = ", ";
        }
    }
    return sc_sb_terminate(&sb);
}

static bool is_complex_tensor(const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && sc_dtype_is_complex((sc_dtype)value->tensor->dtype);
}

static bool is_complex(const sc_evalue *value) {
    const bool is_list =
        value->tag == SC_EVALUE_TENSOR_LIST || value->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST;
    for (uint32_t k = 0; is_list && k < value->count; k++)
        if (value->tensors[k] && is_complex_tensor(value->tensors[k])) return true;
    return is_complex_tensor(value);
}

static const char *hint_dtypes(const sc_kernel_call *c) {
    for (uint32_t i = 0; i < c->arg_count; i++)
        if (is_complex(c->args[i]))
            return "Compute with real numbers: torch.view_as_real gives the parts of complex ones.";
    return "Convert the operands with .to() before this operator.";
}

static const char hint_sizes[] =
    "Compare the sizes of the inputs with those of the exported model.";

sc_status sc_pair_fail(sc_ctx *ctx, const sc_tensor *a, const char *what, const sc_tensor *b) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_sb sb;
    sc_sb_init(&sb, ctx->scratch);
    print_tensor(&sb, a);
    sc_sb_addf(&sb, " %s ", what);
    print_tensor(&sb, b);
    sc_status status = sc_fail(ctx, SC_ERR_SHAPE, hint_sizes, "%s", sc_sb_terminate(&sb));
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

static sc_status fail(const sc_kernel_call *c, sc_status code, const char *hint, const char *format,
                      va_list args) {
    sc_mark mark = sc_arena_mark(c->ctx->scratch);
    sc_sb what;
    sc_sb_init(&what, c->ctx->scratch);
    sc_sb_vaddf(&what, format, args);
    const char *text = sc_sb_terminate(&what);
    sc_status status = sc_fail(c->ctx, code, hint, "%s: %s (%s)", c->op->name, text,
                               print_tensors(c->ctx->scratch, c));
    sc_arena_rewind(c->ctx->scratch, mark);
    return status;
}

sc_status sc_call_fail(const sc_kernel_call *c, sc_status code, const char *format, ...) {
    const char *hint = code == SC_ERR_SHAPE   ? hint_sizes
                       : code == SC_ERR_DTYPE ? hint_dtypes(c)
                                              : NULL;
    va_list args;
    va_start(args, format);
    sc_status status = fail(c, code, hint, format, args);
    va_end(args);
    return status;
}

sc_status sc_call_fail_hint(const sc_kernel_call *c, sc_status code, const char *hint,
                            const char *format, ...) {
    va_list args;
    va_start(args, format);
    sc_status status = fail(c, code, hint, format, args);
    va_end(args);
    return status;
}

sc_status sc_call_no_kernel(const sc_kernel_call *c) {
    return sc_call_fail(c, SC_ERR_DTYPE, "there is no kernel for operands like these");
}

sc_status sc_call_starved(const sc_kernel_call *c) {
    return sc_call_fail_hint(c, SC_ERR_INTERNAL, "Report the program that shows this.",
                             "more scratch is needed than was reserved when the method was loaded");
}

// --- Single elements -----------------------------------------------------------------------------

static char *element_at(const sc_tensor *t, int64_t offset) {
    return (char *)t->data + offset * sc_dtype_bytes((sc_dtype)t->dtype);
}

double sc_tensor_real(const sc_tensor *t, int64_t offset) {
    double value;
    sc_loader(SC_CLASS_F64, t->dtype)(&value, element_at(t, offset), 1, 1);
    return value;
}

int64_t sc_tensor_integer(const sc_tensor *t, int64_t offset) {
    int64_t value;
    sc_loader(SC_CLASS_I64, t->dtype)(&value, element_at(t, offset), 1, 1);
    return value;
}

void sc_tensor_put_real(const sc_tensor *t, int64_t offset, double value) {
    sc_put_number(element_at(t, offset), t->dtype, value, 0, true);
}

void sc_tensor_put_integer(const sc_tensor *t, int64_t offset, int64_t value) {
    sc_put_number(element_at(t, offset), t->dtype, 0, value, false);
}
