// Reading and building the arguments of expansions. Everything that reads is total: on the wrong
// kind, a bad index or a failed trace it answers something harmless, so expansions need no checks.
#include "base/print.h"
#include "trace/trace.h"

sc_x sc_trace_fail(sc_trace *t, sc_status code, const char *hint, const char *format, ...) {
    if (t->status == SC_OK) {
        char text[400];
        va_list args;
        va_start(args, format);
        sc_vprint(text, sizeof text, format, args);
        va_end(args);
        t->status = sc_fail(t->ctx, code, hint, "%s", text);
    }
    return &t->poisoned;
}

const sc_x_data sc_x_none = {.kind = SC_X_NONE};
const sc_x_data sc_x_strided = {.kind = SC_X_LAYOUT};
const sc_x_data sc_x_cpu = {.kind = SC_X_DEVICE, .str = {"cpu", 3}};
const sc_x_data sc_x_true = {.kind = SC_X_BOOL, .b = true};
const sc_x_data sc_x_false = {.kind = SC_X_BOOL, .b = false};

sc_x sc_x_new(sc_trace *t, sc_x_data data) {
    sc_x_data *cell = sc_new(t->arena, sc_x_data);
    *cell = data;
    return cell;
}

sc_x sc_x_dim(sc_trace *t, sc_dim d) {
    uint64_t index = (uint64_t)d.value + 1;
    if (d.expr || index >= SC_COUNT_OF(t->ints))
        return sc_x_new(t, (sc_x_data){.kind = SC_X_INT, .dim = d});
    t->ints[index] = (sc_x_data){.kind = SC_X_INT, .dim = d};
    return &t->ints[index];
}
sc_x sc_x_int(sc_trace *t, int64_t i) { return sc_x_dim(t, sc_dim_int(i)); }
sc_x sc_x_float(sc_trace *t, double f) {
    return sc_x_new(t, (sc_x_data){.kind = SC_X_FLOAT, .f = f});
}

sc_x sc_x_str(sc_trace *t, const char *s) {
    return sc_x_new(t, (sc_x_data){.kind = SC_X_STR, .str = sc_str_from(s)});
}

sc_x sc_x_dtype(sc_trace *t, sc_dtype d) {
    return sc_x_new(t, (sc_x_data){.kind = SC_X_DTYPE, .code = (uint8_t)d});
}

sc_x sc_x_format(sc_trace *t, sc_memory_format f) {
    return sc_x_new(t, (sc_x_data){.kind = SC_X_FORMAT, .code = (uint8_t)f});
}

sc_x sc_x_list_of(sc_trace *t, const sc_x *items, uint32_t count) {
    return sc_x_new(t, (sc_x_data){.kind = SC_X_LIST, .count = count, .items = items});
}

sc_x sc_x_list(sc_trace *t, const sc_x *items, uint32_t count) {
    sc_x *copy = sc_new_array(t->arena, sc_x, count ? count : 1);
    if (count) memcpy(copy, items, count * sizeof *copy);
    return sc_x_list_of(t, copy, count);
}

sc_x sc_x_dims(sc_trace *t, const sc_dim *dims, uint32_t count) {
    sc_x *items = sc_new_array(t->arena, sc_x, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) items[i] = sc_x_dim(t, dims[i]);
    return sc_x_list_of(t, items, count);
}

sc_x sc_x_ints(sc_trace *t, const int64_t *values, uint32_t count) {
    sc_x *items = sc_new_array(t->arena, sc_x, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) items[i] = sc_x_int(t, values[i]);
    return sc_x_list_of(t, items, count);
}

const sc_spec *sc_x_spec(sc_x x) {
    static const sc_spec scalar = {.dtype = SC_DTYPE_F32};
    return x->kind == SC_X_TENSOR ? &x->tensor->value->spec : &scalar;
}

sc_dim sc_x_size(sc_x x, int64_t dim) {
    const sc_spec *spec = sc_x_spec(x);
    if (dim < 0) dim += spec->rank;
    return dim >= 0 && dim < spec->rank ? spec->sizes[dim] : sc_dim_int(1);
}

int64_t sc_x_number(sc_x x, int64_t otherwise) {
    if (x->kind == SC_X_INT && !x->dim.expr) return x->dim.value;
    return x->kind == SC_X_BOOL ? x->b : otherwise;
}

int64_t sc_x_small(sc_trace *t, sc_x x, int64_t otherwise) {
    int64_t value = sc_x_number(x, otherwise);
    if (value >= -INT32_MAX && value <= INT32_MAX) return value;
    sc_trace_fail(t, SC_ERR_LIMIT, NULL, "the number %lld is out of range", (long long)value);
    return otherwise;
}

double sc_x_real(sc_x x, double otherwise) {
    if (x->kind == SC_X_FLOAT) return x->f;
    return sc_x_is_number(x) ? (double)sc_x_number(x, 0) : otherwise;
}

double sc_x_known(sc_trace *t, sc_x x, double otherwise) {
    if (!sc_x_is_none(x) && !sc_x_is_number(x))
        sc_trace_fail(t, SC_ERR_UNSUPPORTED,
                      "Pass a number that is known when the model is exported, or compute with a "
                      "tensor: torch.full((), n).",
                      "this call needs a number at export that is known only at run time");
    return sc_x_real(x, otherwise);
}

bool sc_x_is_number(sc_x x) {
    return x->kind == SC_X_FLOAT || x->kind == SC_X_BOOL || (x->kind == SC_X_INT && !x->dim.expr);
}

bool sc_x_equals(sc_x x, double number) { return sc_x_is_number(x) && sc_x_real(x, 0) == number; }

uint32_t sc_x_wrap(sc_trace *t, sc_x dim, uint32_t rank) {
    int64_t wrapped = sc_x_number(dim, INT64_MIN);
    int64_t bound = rank ? rank : 1;
    if (wrapped < 0 && wrapped != INT64_MIN) wrapped += bound;
    if (wrapped >= 0 && wrapped < bound) return (uint32_t)wrapped;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a dimension is out of range for a rank-%u tensor",
                  rank);
    return 0;
}

sc_x sc_x_at(sc_trace *t, sc_x list, uint32_t index) {
    if (list->kind == SC_X_LIST && index < list->count) return list->items[index];
    return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a list has no item %u", index);
}

// PyTorch takes some operators apart where it needs no size for it.
static void refuse_open(sc_trace *t, sc_dim size, const char *what) {
    const bool is_composite = t->source && t->source->op->traits & SC_COMPOSITE;
    sc_sb text;
    if (t->status != SC_OK) return;
    sc_sb_init(&text, t->ctx->arena);
    sc_dim_print(&text, size);
    sc_trace_fail(t, SC_ERR_UNSUPPORTED,
                  is_composite ? "Save ep.run_decompositions() instead, which may not need this "
                                 "size. If it does, export with this size static."
                               : "Export with this size static.",
                  "this call %s of the open size %s, which has to be known for it", what,
                  sc_sb_terminate(&text));
}

uint32_t sc_x_int_list(sc_trace *t, sc_x list, int64_t *out, uint32_t max) {
    if (list->kind == SC_X_INT && max) {
        out[0] = sc_x_small(t, list, 0);
        return 1;
    }
    if (list->kind != SC_X_LIST) return 0;
    for (uint32_t i = 0; i < list->count && i < max; i++) {
        out[i] = sc_x_small(t, list->items[i], 0);
        if (list->items[i]->kind == SC_X_INT && list->items[i]->dim.expr)
            refuse_open(t, list->items[i]->dim, "makes something");
        else if (list->items[i]->kind != SC_X_INT)
            sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Export with these numbers constant.",
                          "this operator needs a list of known integers");
    }
    if (list->count <= max) return list->count;
    sc_trace_fail(t, SC_ERR_LIMIT, NULL, "a list has more than %u items", max);
    return max;
}

uint32_t sc_x_dim_list(sc_trace *t, sc_x list, sc_dim *out, uint32_t max) {
    if (list->kind != SC_X_LIST) return 0;
    for (uint32_t i = 0; i < list->count && i < max; i++) {
        sc_x item = list->items[i];
        const bool is_open = item->kind == SC_X_INT && item->dim.expr;
        out[i] = is_open ? item->dim : sc_dim_int(sc_x_small(t, item, 0));
        if (item->kind != SC_X_INT)
            sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Export with these sizes constant.",
                          "this operator needs a list of sizes");
    }
    if (list->count <= max) return list->count;
    sc_trace_fail(t, SC_ERR_LIMIT, NULL, "a list has more than %u items", max);
    return max;
}

sc_x sc_x_sizes(sc_trace *t, sc_x x, uint32_t from, uint32_t to) {
    const sc_spec *spec = sc_x_spec(x);
    if (to > spec->rank) to = spec->rank;
    return from < to ? sc_x_dims(t, spec->sizes + from, to - from) : sc_x_dims(t, NULL, 0);
}

int64_t sc_x_static_size(sc_trace *t, sc_x x, int64_t dim) {
    sc_dim size = sc_x_size(x, dim);
    if (!size.expr) return sc_x_small(t, sc_x_dim(t, size), 0);
    refuse_open(t, size, "goes along a dimension");
    return 0;
}

bool sc_x_is_float(sc_x x) { return sc_dtype_is_float(sc_x_dtype_of(x)); }

bool sc_x_is_contiguous(sc_trace *t, sc_x x) {
    return x->kind == SC_X_TENSOR && sc_spec_is_contiguous(t->exprs, sc_x_spec(x));
}

sc_dim sc_x_numel(sc_trace *t, sc_x x) { return sc_spec_numel(t->exprs, sc_x_spec(x)); }

sc_x sc_trace_cell(sc_trace *t, const sc_arg *arg, sc_trace_find_fn find) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_VALUE: return find(t, arg->value);
    case SC_ARG_INT: return sc_x_int(t, arg->i);
    case SC_ARG_FLOAT: return sc_x_float(t, arg->f);
    case SC_ARG_BOOL: return sc_x_bool(arg->b);
    case SC_ARG_STR: return sc_x_new(t, (sc_x_data){.kind = SC_X_STR, .str = arg->str});
    case SC_ARG_DEVICE: return sc_x_new(t, (sc_x_data){.kind = SC_X_DEVICE, .str = arg->str});
    case SC_ARG_DTYPE: return sc_x_dtype(t, (sc_dtype)arg->code);
    case SC_ARG_LAYOUT: return sc_x_new(t, (sc_x_data){.kind = SC_X_LAYOUT, .code = arg->code});
    case SC_ARG_MEMORY_FORMAT: return sc_x_format(t, (sc_memory_format)arg->code);
    case SC_ARG_GRAPH: return sc_x_new(t, (sc_x_data){.kind = SC_X_GRAPH, .graph = arg->graph});
    case SC_ARG_PART: return sc_x_new(t, (sc_x_data){.kind = SC_X_PART, .part = arg->part});
    case SC_ARG_LIST: {
        sc_x *items = sc_new_array(t->arena, sc_x, arg->count ? arg->count : 1);
        for (uint32_t i = 0; i < arg->count; i++) items[i] = sc_trace_cell(t, &arg->items[i], find);
        return sc_x_list_of(t, items, arg->count);
    }
    case SC_ARG_NONE: break;
    }
    return X_NONE;
}
