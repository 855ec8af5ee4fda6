// Recorded nodes and symbolic integers of a trace. Owns two invariants: a node is recorded
// only through sc_build, so its spec is inference's; and an expression over symbols is computed by
// at most one node of the graph.
// In wasm: -Os
#include "trace/trace.h"

// --- Symbols ------------------------------------------------------------------------------------

void sc_trace_note_symbol(sc_trace *t, sc_dim dim, sc_value *value) {
    if (dim.expr) sc_imap_add(&t->symbols, SC_PTR_KEY(dim.expr), SC_PTR_KEY(value));
}

void sc_trace_note_sizes(sc_trace *t, sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return;
    for (uint32_t i = 0; i < value->spec.rank; i++) {
        const sc_expr *expr = value->spec.sizes[i].expr;
        if (!expr || sc_imap_find(&t->symbols, SC_PTR_KEY(expr))) continue;
        if (t->outer && sc_imap_find(&t->outer->providers, SC_PTR_KEY(expr))) continue;
        if (sc_imap_add(&t->providers, SC_PTR_KEY(expr), t->sizes.count)) {
            uint32_t index = t->sizes.count;
            sc_vec_reserve(t->ctx->arena, &t->sizes, index + 1);
            t->sizes.data[index].value = value;
            t->sizes.data[index].dim = i;
            t->sizes.count = index + 1;
        }
    }
}

static sc_x record_size(sc_trace *t, sc_value *value, int64_t dim) {
    sc_traced plain = {.value = value};
    sc_x_data tensor = {.kind = SC_X_TENSOR, .tensor = &plain};
    sc_x args[2] = {&tensor, sc_x_int(t, dim)};
    return sc_trace_record(t, sc_op_get(SC_OP_sym_size_int), args, 2);
}

// Reads a size off a tensor that has it, if `from` knows one.
static void read_off(sc_trace *t, const sc_trace *from, sc_dim dim) {
    const uint64_t *provider = from ? sc_imap_find(&from->providers, SC_PTR_KEY(dim.expr)) : NULL;
    if (provider)
        record_size(t, from->sizes.data[*provider].value, from->sizes.data[*provider].dim);
}

// The value that holds a symbolic integer, read off a tensor when no node computed it yet.
static sc_value *materialise(sc_trace *t, sc_dim dim) {
    uint64_t *known = sc_imap_find(&t->symbols, SC_PTR_KEY(dim.expr));
    if (known) return (sc_value *)(uintptr_t)*known;
    const sc_trace *const known_to[] = {t->outer, t};
    for (int i = 0; i < 2; i++) {
        read_off(t, known_to[i], dim);
        known = sc_imap_find(&t->symbols, SC_PTR_KEY(dim.expr));
        if (known) return (sc_value *)(uintptr_t)*known;
    }
    if (t->status == SC_OK) {
        sc_sb text;
        sc_sb_init(&text, t->ctx->arena);
        sc_dim_print(&text, dim);
        sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Export with the sizes that this line computes from.",
                      "the graph does not define %s", sc_sb_terminate(&text));
    }
    return NULL;
}

static sc_dim compute(sc_trace *t, sc_op_id id, sc_dim a, sc_dim b, sc_dim result) {
    if (t->status != SC_OK || !result.expr || sc_imap_find(&t->symbols, SC_PTR_KEY(result.expr)))
        return result;
    sc_x args[2] = {sc_x_dim(t, a), sc_x_dim(t, b)};
    sc_trace_record(t, sc_op_get(id), args, 2);
    return result;
}

sc_dim sc_trace_add(sc_trace *t, sc_dim a, sc_dim b) {
    return compute(t, SC_OP_sym_add, a, b, sc_dim_add(t->exprs, a, b));
}
sc_dim sc_trace_sub(sc_trace *t, sc_dim a, sc_dim b) {
    return compute(t, SC_OP_sym_sub, a, b, sc_dim_sub(t->exprs, a, b));
}
sc_dim sc_trace_mul(sc_trace *t, sc_dim a, sc_dim b) {
    return compute(t, SC_OP_sym_mul, a, b, sc_dim_mul(t->exprs, a, b));
}
sc_dim sc_trace_floordiv(sc_trace *t, sc_dim a, sc_dim b) {
    return compute(t, SC_OP_sym_floordiv, a, b, sc_dim_floordiv(t->exprs, a, b));
}
sc_dim sc_trace_mod(sc_trace *t, sc_dim a, sc_dim b) {
    return compute(t, SC_OP_sym_mod, a, b, sc_dim_mod(t->exprs, a, b));
}

sc_dim sc_trace_product(sc_trace *t, const sc_dim *dims, uint32_t count) {
    sc_dim product = count ? dims[0] : sc_dim_int(1);
    for (uint32_t i = 1; i < count; i++) product = sc_trace_mul(t, product, dims[i]);
    return product;
}

void sc_trace_begin(sc_trace *t, sc_ctx *ctx, sc_arena *arena, sc_graph *graph,
                    const sc_trace_hooks *hooks) {
    static const sc_spec scalar = {.dtype = SC_DTYPE_F32};
    *t = (sc_trace){.ctx = ctx,
                    .arena = arena,
                    .graph = graph,
                    .hooks = *hooks,
                    .exprs = graph->method->exprs,
                    .symbols = {.arena = ctx->arena},
                    .providers = {.arena = ctx->arena},
                    .autocast = {.dtype = SC_DTYPE_NONE}};
    t->poison.value = sc_new(arena, sc_value);
    t->poison.value->spec = scalar;
    t->poisoned = (sc_x_data){.kind = SC_X_TENSOR, .tensor = &t->poison};
}

void sc_trace_init(sc_trace *t, sc_ctx *ctx, sc_arena *arena, sc_graph *graph,
                   const sc_trace_hooks *hooks) {
    sc_trace_begin(t, ctx, arena, graph, hooks);
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        sc_value *input = graph->inputs.data[i];
        if (input->type == SC_VALUE_INT && input->has_dim)
            sc_trace_note_symbol(t, input->dim, input);
    }
    // Every symbol that is an input's size by itself; the unused ones are swept in the end.
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        sc_value *input = graph->inputs.data[i];
        for (uint32_t d = 0; input->type == SC_VALUE_TENSOR && d < input->spec.rank; d++) {
            sc_dim size = input->spec.sizes[d];
            if (sc_dim_symbol(size) && !sc_imap_find(&t->symbols, SC_PTR_KEY(size.expr)))
                record_size(t, input, d);
        }
    }
    for (uint32_t i = 0; i < graph->inputs.count; i++)
        sc_trace_note_sizes(t, graph->inputs.data[i]);
}

// --- Recording ----------------------------------------------------------------------------------

static sc_arg to_arg(sc_trace *t, sc_arena *arena, sc_x x) {
    switch ((sc_x_kind)x->kind) {
    case SC_X_TENSOR: return sc_arg_value(x->tensor->value);
    case SC_X_INT: {
        if (!x->dim.expr) return sc_arg_int(x->dim.value);
        sc_value *value = materialise(t, x->dim);
        return value ? sc_arg_value(value) : sc_arg_none();
    }
    case SC_X_FLOAT: return sc_arg_float(x->f);
    case SC_X_BOOL: return sc_arg_bool(x->b);
    case SC_X_STR: return sc_arg_str(x->str);
    case SC_X_DEVICE: return (sc_arg){.kind = SC_ARG_DEVICE, .str = x->str};
    case SC_X_DTYPE: return sc_arg_dtype((sc_dtype)x->code);
    case SC_X_LAYOUT: return (sc_arg){.kind = SC_ARG_LAYOUT, .code = x->code};
    case SC_X_FORMAT: return sc_arg_format((sc_memory_format)x->code);
    case SC_X_VALUE: return sc_arg_value(x->value);
    case SC_X_GRAPH: return sc_arg_graph(x->graph);
    case SC_X_PART: return sc_arg_part(x->part);
    case SC_X_LIST: {
        sc_arg *items = x->count ? sc_new_array(arena, sc_arg, x->count) : NULL;
        for (uint32_t i = 0; i < x->count; i++) items[i] = to_arg(t, arena, x->items[i]);
        return sc_arg_list(items, x->count);
    }
    case SC_X_NONE: break;
    }
    return sc_arg_none();
}

sc_arg sc_trace_arg(sc_trace *t, sc_x x) { return to_arg(t, t->arena, x); }

sc_x sc_trace_number(sc_trace *t, sc_value *value) {
    if (value->type == SC_VALUE_NONE) return X_NONE;
    if (value->type == SC_VALUE_INT) {
        if (!value->has_dim)  // unknown: a symbol of its own
            value->dim = sc_exprs_fresh(t->exprs, (sc_range){SC_DIM_NEG_INF, SC_DIM_INF});
        value->has_dim = true;
        sc_trace_note_symbol(t, value->dim, value);
        return sc_x_dim(t, value->dim);
    }
    return sc_x_new(t, (sc_x_data){.kind = SC_X_VALUE, .value = value});
}

sc_x sc_trace_plain(sc_trace *t, sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return sc_trace_number(t, value);
    sc_trace_note_sizes(t, value);
    sc_traced *tensor = sc_new(t->arena, sc_traced);
    tensor->value = value;
    return sc_x_new(t, (sc_x_data){.kind = SC_X_TENSOR, .tensor = tensor});
}

static bool is_unbacked(sc_dim dim) {
    sc_symbol *symbol = sc_dim_symbol(dim);
    return symbol && sc_symbol_is_unbacked(symbol);
}

// The bound that the exporter gives without being asked, elements of the first operand: too few
// where that is broadcast by a mask. A bound that somebody gave may be as much: it is never taken
// back where inference knows no bound.
static int64_t own_bound(const sc_node *source) {
    if (source->arg_count == 0 || source->args[0].kind != SC_ARG_VALUE) return SC_DIM_INF;
    const sc_value *self = source->args[0].value;
    if (self->type != SC_VALUE_TENSOR) return SC_DIM_INF;
    return sc_dim_range(sc_spec_numel(self->graph->method->exprs, &self->spec)).max;
}

void sc_trace_bound(const sc_node *source, sc_dim recorded, sc_dim invented) {
    sc_symbol *symbol = sc_dim_symbol(recorded);
    int64_t most = sc_dim_range(invented).max;
    if (!symbol || !is_unbacked(recorded) || most < symbol->range.min || most == SC_DIM_INF) return;
    if (symbol->range.max == SC_DIM_INF || symbol->range.max == own_bound(source))
        symbol->range.max = most;
}

// Replaces symbols that inference invented by those that the exporter invented.
static void adopt_symbols(const sc_node *source, sc_node *node) {
    uint32_t count = node->out_count < source->out_count ? node->out_count : source->out_count;
    for (uint32_t i = 0; i < count; i++) {
        sc_value *value = node->outs[i];
        const sc_value *recorded = source->outs[i];
        if (value->type == SC_VALUE_TENSOR && recorded->type == SC_VALUE_TENSOR) {
            bool invented = false;
            bool fits = value->spec.rank == recorded->spec.rank &&
                        value->spec.dtype == recorded->spec.dtype;
            for (uint32_t d = 0; fits && d < value->spec.rank; d++) {
                sc_dim a = value->spec.sizes[d], b = recorded->spec.sizes[d];
                if (sc_dim_equal(a, b)) continue;
                invented = true;
                fits = is_unbacked(a);
                if (fits) sc_trace_bound(source, b, a);
            }
            if (fits && invented) {
                value->spec.sizes = recorded->spec.sizes;
                value->spec.strides = recorded->spec.strides;
            }
        } else if (value->type == SC_VALUE_INT && recorded->type != SC_VALUE_TENSOR &&
                   (!value->has_dim || is_unbacked(value->dim))) {
            value->type = recorded->type;
            value->dim = recorded->dim;
            value->has_dim = recorded->has_dim;
        }
    }
}

static sc_x record_args(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    sc_ctx *ctx = t->ctx;
    sc_arg *list = sc_new_array(ctx->scratch, sc_arg, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = to_arg(t, ctx->scratch, args[i]);
        if (list[i].kind == SC_ARG_GRAPH && t->status == SC_OK)
            list[i].graph = t->hooks.body(t, list[i].graph);
    }
    if (t->status != SC_OK) return &t->poisoned;
    if (++t->recorded > ctx->limits.node_max)
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "the program has more than %llu nodes",
                             (unsigned long long)ctx->limits.node_max);
    sc_node *node = NULL;
    sc_status status = sc_build(t->graph, t->before, op, list, count, &t->meta, &node);
    if (status != SC_OK) {
        t->status = status;
        return &t->poisoned;
    }
    node->mark = (uint32_t)t->recorded;
    if (t->source && (sc_op_has(op, SC_DATA_DEPENDENT) || t->source->op == op))
        adopt_symbols(t->source, node);
    const sc_schema *schema = op->schema;
    bool is_list = schema->return_count == 1 && schema->returns[0].is_list;
    if (node->out_count == 1 && !is_list) return sc_trace_plain(t, node->outs[0]);
    sc_x *outs = sc_new_array(t->arena, sc_x, node->out_count ? node->out_count : 1);
    for (uint32_t i = 0; i < node->out_count; i++) outs[i] = sc_trace_plain(t, node->outs[i]);
    return sc_x_list_of(t, outs, node->out_count);
}

sc_x sc_trace_record(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    if (t->status != SC_OK) return &t->poisoned;
    sc_mark mark = sc_arena_mark(t->ctx->scratch);
    sc_x result = record_args(t, op, args, count);
    sc_arena_rewind(t->ctx->scratch, mark);
    return result;
}
