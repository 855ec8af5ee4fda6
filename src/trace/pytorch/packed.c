// Weights of 4 bits that torchao has as bytes. Runtimes multiply with none of them: those that no
// backend took are widened when the program runs, and tables of embeddings are the operator with
// which that can be done from two integers a byte. All rows of the table are the weight; numbers
// are the same, (integer - 0) * scale in float32.
#include "trace/pytorch/packed.h"
#include "base/nibbles.h"
#include "trace/words/calls.h"

typedef struct table {
    const sc_constant *integers;
    int64_t rows, columns, groups, low, high;
} table;

// --- Packed weights ------------------------------------------------------------------------------

// Does only this operator read the input? It packs it for all of its nodes or for no node.
static bool is_for_this_alone(const sc_trace *t, uint32_t input) {
    const sc_value *source = t->graph->method->graph->inputs.data[input];
    for (const sc_arg *use = source->first_use; use; use = use->next_use)
        if (use->user->op != t->source->op || use != &use->user->args[0]) return false;
    return source->use_count > 0;
}

// The constant that a traced tensor is, where nobody has written to it. Buffers may be written by
// another method; bodies cannot reach constants.
static const sc_constant *constant_of(const sc_trace *t, sc_x x, uint32_t *input) {
    const sc_value *value = sc_x_is_tensor(x) ? x->tensor->value : NULL;
    const sc_method *method = t->graph->method;
    if (!value || value->node || value->graph != t->graph || t->graph->parent) return NULL;
    const sc_input_sig *sig = &method->inputs.data[value->index];
    const bool is_fixed = sig->kind == SC_INPUT_PARAMETER || sig->kind == SC_INPUT_CONSTANT_TENSOR;
    if (!is_fixed || (x->tensor->storage && x->tensor->storage->generation > 0)) return NULL;
    *input = value->index;
    return sig->constant;
}

static bool has_sizes(sc_trace *t, sc_x x, int64_t rows, int64_t columns) {
    return sc_x_is_tensor(x) && sc_x_rank(x) == 2 && sc_dim_is(sc_x_size(x, 0), rows) &&
           sc_dim_is(sc_x_size(x, 1), columns) && sc_x_is_contiguous(t, x);
}

static bool read_sizes(sc_trace *t, const sc_x *a, table *w) {
    const sc_dim rows = sc_x_size(a[0], 0), columns = sc_x_size(a[0], 1);
    w->rows = sc_dim_is_int(rows) ? rows.value : 0;
    w->columns = sc_dim_is_int(columns) ? columns.value : 0;
    if (w->rows <= 0 || w->columns <= 0 || w->columns % 2 != 0 || a[1]->count != 2) return false;
    const int64_t group = sc_x_number(a[1]->items[1], 0);
    if (sc_x_number(a[1]->items[0], 0) != 1 || group <= 0 || w->columns % group != 0) return false;
    w->groups = w->columns / group;
    return has_sizes(t, a[0], w->rows, w->columns) && has_sizes(t, a[2], w->rows, w->groups);
}

static bool read_range(const sc_x *a, table *w) {
    w->low = sc_x_number(a[5], -128);
    w->high = sc_x_number(a[6], 127);
    return w->low >= -8 && w->high <= 7 && w->low < w->high;
}

static bool has_dtypes(const sc_x *a) {
    return sc_x_is_tensor(a[0]) && sc_x_rank(a[0]) == 2 && sc_x_dtype_of(a[0]) == SC_DTYPE_I8 &&
           a[1]->kind == SC_X_LIST && sc_x_is_tensor(a[2]) && sc_x_dtype_of(a[2]) == SC_DTYPE_F32 &&
           a[7]->code == SC_DTYPE_F32;
}

static bool holds(sc_trace *t, const sc_constant *constant, int8_t low, int8_t high) {
    bool is_within = false;
    const sc_status status = sc_extent_is_within(t->ctx, constant->data, low, high, &is_within);
    if (status != SC_OK && t->status == SC_OK) t->status = status;
    return status == SC_OK && is_within;
}

static bool has_zeros(sc_trace *t, const sc_x *a) {
    uint32_t input;
    if (sc_x_is_none(a[3])) return true;
    const sc_constant *zeros = constant_of(t, a[3], &input);
    return zeros && zeros->data.size > 0 && holds(t, zeros, 0, 0);
}

// Numbers outside of the range that the node tells are looked for, too, because they are not
// clamped.
static bool read_table(sc_trace *t, const sc_x *a, table *w) {
    uint32_t input;
    if (!has_dtypes(a) || !read_range(a, w) || !read_sizes(t, a, w)) return false;
    w->integers = constant_of(t, a[0], &input);
    if (!w->integers || !is_for_this_alone(t, input)) return false;
    if (w->integers->data.size != (uint64_t)w->rows * (uint64_t)w->columns) return false;
    return has_zeros(t, a) && holds(t, w->integers, -8, 7);
}

// --- Products with them --------------------------------------------------------------------------

static sc_value *find_input(const sc_graph *graph, sc_str target) {
    const sc_method *method = graph->method;
    for (uint32_t i = method->inputs.count; i > 0; i--)
        if (method->inputs.data[i - 1].constant &&
            sc_str_equal(method->inputs.data[i - 1].target, target))
            return graph->inputs.data[i - 1];
    return NULL;
}

static sc_value *add_input(sc_trace *t, const table *w, sc_str name) {
    sc_arena *arena = t->ctx->arena;
    sc_constant *constant = sc_new(arena, sc_constant);
    *constant = *w->integers;
    constant->name = name;
    constant->data = sc_extent_nibbles(arena, w->integers->data);
    constant->spec = sc_spec_new(arena, SC_DTYPE_U8, 2);
    constant->spec.sizes[0] = sc_dim_int(w->rows);
    constant->spec.sizes[1] = sc_dim_int(w->columns / 2);
    sc_spec_set_contiguous(t->exprs, &constant->spec);
    const char *from = t->source->args[0].value->name->text;
    sc_value *value =
        sc_graph_add_input(t->graph, sc_str_format(arena, "%s_packed", from), SC_VALUE_TENSOR);
    value->spec = constant->spec;
    const sc_input_sig sig = {
        .kind = SC_INPUT_CONSTANT_TENSOR, .target = name, .constant = constant};
    sc_vec_push(arena, &t->graph->method->inputs, sig);
    return value;
}

// Nodes of one weight share it packed.
static sc_x packed(sc_trace *t, const table *w) {
    const sc_str name =
        sc_str_format(t->ctx->arena, SC_STR_FMT ".packed", SC_STR_ARG(w->integers->name));
    sc_value *value = t->source->args[0].value->use_count > 1 ? find_input(t->graph, name) : NULL;
    return sc_trace_fresh(t, value ? value : add_input(t, w, name));
}

sc_x sc_pytorch_packed(sc_trace *t, const sc_x *a) {
    table w;
    if (!t->source || t->source->args[0].kind != SC_ARG_VALUE || !read_table(t, a, &w)) return NULL;
    sc_x rows = sc_f_range(t, sc_x_int(t, w.rows), SC_DTYPE_NONE);
    return CALL(t, quantized_decomposed_embedding_4bit, packed(t, &w), a[2], X_NONE,
                sc_x_int(t, w.low), sc_x_int(t, w.high), rows);
}
