// Finds results that can live inside their source's memory. A view must be static and dense in
// row-major order on both sides, start at a known byte, and never be read after somebody wrote to
// the memory it lives in. Returned values keep their own memory, as do values that bodies take.
#include "passes/views.h"

#define NEVER UINT32_MAX

typedef struct finder {
    sc_ctx *ctx;
    sc_method *method;
    sc_views_options options;
    sc_view *views;
    uint32_t *first_write;  // by mark of the root: position of the first node that writes it
    uint32_t position;
} finder;

// --- Geometry --------------------------------------------------------------------------------------

static bool is_dense(const finder *f, const sc_value *value) {
    return value->type == SC_VALUE_TENSOR && sc_spec_is_static(&value->spec) &&
           sc_spec_is_contiguous(f->method->exprs, &value->spec);
}

static uint64_t elements(const sc_spec *spec, uint32_t from) {
    uint64_t count = 1;
    for (uint32_t i = from; i < spec->rank; i++)
        if (!sc_mul_u64(count, (uint64_t)spec->sizes[i].value, &count))
            return 0;
    return count;
}

static bool wrap_dim(const sc_arg *arg, uint32_t rank, uint32_t *out) {
    int64_t dim = arg->kind == SC_ARG_INT ? arg->i : INT64_MIN;
    if (dim < 0 && dim != INT64_MIN)
        dim += rank;
    *out = (uint32_t)dim;
    return dim >= 0 && dim < rank;
}

// A range along `dim` is one run of memory when everything outside of `dim` has size 1.
static bool is_one_run(const sc_spec *spec, uint32_t dim) {
    for (uint32_t i = 0; i < dim; i++)
        if (!sc_dim_is(spec->sizes[i], 1))
            return false;
    return true;
}

static bool range_offset(const sc_spec *spec, const sc_arg *dim_arg, const sc_arg *start_arg,
                         uint64_t *offset) {
    uint32_t dim;
    if (!wrap_dim(dim_arg, spec->rank, &dim) || !is_one_run(spec, dim))
        return false;
    int64_t start = start_arg->kind == SC_ARG_INT ? start_arg->i : 0;
    int64_t size = spec->sizes[dim].value;
    if (start_arg->kind != SC_ARG_INT && start_arg->kind != SC_ARG_NONE)
        return false;
    if (start < 0)
        start = sc_max_i64(start + size, 0);
    start = sc_min_i64(start, size);
    *offset = (uint64_t)start * elements(spec, dim + 1);
    return true;
}

static bool slice_offset(const sc_node *node, const sc_spec *spec, uint64_t *offset) {
    const sc_arg *step = sc_node_arg(node, "step");
    if (step->kind != SC_ARG_INT || step->i != 1)
        return false;
    return range_offset(spec, sc_node_arg(node, "dim"), sc_node_arg(node, "start"), offset);
}

// Where result 0 begins, in elements of the source.
static bool first_offset(const sc_node *node, const sc_spec *spec, uint64_t *offset) {
    sc_arg zero = sc_arg_int(0);
    *offset = 0;
    switch (node->op->id) {
    case SC_OP_view_copy:
    case SC_OP_unsqueeze_copy:
    case SC_OP_squeeze_copy_dim:
    case SC_OP_squeeze_copy_dims:
    case SC_OP_alias_copy:
    case SC_OP_detach_copy:
        return true;
    case SC_OP_expand_copy:
        return sc_spec_same_sizes(spec, &node->outs[0]->spec);
    case SC_OP_slice_copy_Tensor:
        return slice_offset(node, spec, offset);
    case SC_OP_select_copy_int:
        return range_offset(spec, sc_node_arg(node, "dim"), sc_node_arg(node, "index"), offset);
    case SC_OP_split_copy_Tensor:
    case SC_OP_split_with_sizes_copy:
    case SC_OP_unbind_copy_int:  // one part after the other
        return range_offset(spec, sc_node_arg(node, "dim"), &zero, offset);
    default:
        return false;
    }
}

// --- Safety ----------------------------------------------------------------------------------------

static const sc_value *root_of(const finder *f, const sc_value *value) {
    while (f->views[value->mark].base)
        value = f->views[value->mark].base;
    return value;
}

static bool is_returned(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user == value->graph->ret)
            return true;
    return false;
}

static bool is_constant(const sc_input_sig *sig) {
    return sig->kind == SC_INPUT_PARAMETER || sig->kind == SC_INPUT_BUFFER ||
           sig->kind == SC_INPUT_CONSTANT_TENSOR;
}

// May others live inside this value, `offset` bytes from its start?
static bool can_hold(const finder *f, const sc_value *root, uint64_t offset) {
    if (root->node && (root->node->op->traits & (SC_HIGHER_ORDER | SC_MUTATES)))
        return false;  // where such a result lies is decided elsewhere
    if (root->node)
        return f->options.outputs_planned || !is_returned(root);
    if (root->graph->parent)
        return false;
    const sc_input_sig *sig = &f->method->inputs.data[root->index];
    if (!is_constant(sig))
        return f->options.inputs_planned && (f->options.outputs_planned || !is_returned(root));
    return f->first_write[root->mark] != NEVER || offset == 0;
}

// Is every reader done before the memory is written?
static bool is_read_before(const sc_value *value, uint32_t position) {
    for (const sc_arg *use = value->first_use; use && position != NEVER; use = use->next_use)
        if (use->user->mark >= position)
            return false;
    return true;
}

static bool is_written(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && sc_op_has(use->user->op, SC_MUTATES) && use == &use->user->args[0])
            return true;
    return false;
}

// Control flow moves the tensors it is handed: they must be whole.
static bool is_handed_over(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && sc_op_has(use->user->op, SC_HIGHER_ORDER))
            return true;
    return false;
}

static bool can_be_view(const finder *f, const sc_value *value, const sc_value *root) {
    return is_dense(f, value) && !is_returned(value) && !is_written(value) &&
           !is_handed_over(value) && is_read_before(value, f->first_write[root->mark]);
}

// --- The walk --------------------------------------------------------------------------------------

static void try_node(finder *f, sc_node *node) {
    uint64_t start, offset, item_bytes, used = 0;
    if (node->out_count == 0 || node->arg_count == 0 || node->args[0].kind != SC_ARG_VALUE)
        return;
    sc_value *source = node->args[0].value;
    if (!is_dense(f, source) || !first_offset(node, &source->spec, &start))
        return;
    const sc_value *root = root_of(f, source);
    item_bytes = sc_dtype_bytes((sc_dtype)source->spec.dtype);
    offset = start * item_bytes;
    if (!can_hold(f, root, offset + f->views[source->mark].offset))
        return;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_value *result = node->outs[i];
        bool whole = i == 0 || can_hold(f, root, offset + used);
        if (!whole || result->spec.dtype != source->spec.dtype || !can_be_view(f, result, root))
            return;
        used += elements(&result->spec, 0) * item_bytes;
    }
    if (offset + used > elements(&source->spec, 0) * item_bytes)
        return;
    for (uint32_t i = 0; i < node->out_count; i++) {
        f->views[node->outs[i]->mark] = (sc_view){source, offset};
        offset += elements(&node->outs[i]->spec, 0) * item_bytes;
    }
}

// The value at the end of a chain of operators that could be views.
static const sc_value *possible_root(const sc_value *value) {
    uint64_t offset;
    while (value->node && value->node->arg_count > 0 && value->node->args[0].kind == SC_ARG_VALUE &&
           value->node->args[0].value->type == SC_VALUE_TENSOR) {
        const sc_node *node = value->node;
        bool view = sc_spec_is_static(&node->args[0].value->spec) &&
                    first_offset(node, &node->args[0].value->spec, &offset);
        if (!view && !sc_op_has(node->op, SC_MUTATES))
            break;
        value = node->args[0].value;
    }
    return value;
}

static sc_status number_nodes(sc_ctx *ctx, sc_graph *graph, finder *f);

static sc_status number_bodies(sc_ctx *ctx, const sc_arg *arg, finder *f) {
    if (arg->kind == SC_ARG_GRAPH)
        return number_nodes(ctx, arg->graph, f);
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            SC_TRY(number_bodies(ctx, &arg->items[i], f));
    return SC_OK;
}

// Positions, and who writes first. Recursion is as deep as bodies nest.
static sc_status number_nodes(sc_ctx *ctx, sc_graph *graph, finder *f) {
    for (sc_node *node = graph->first; node; node = node->next) {
        node->mark = f->position++;
        if (sc_op_has(node->op, SC_MUTATES)) {
            const sc_value *root = possible_root(node->args[0].value);
            if (f->first_write[root->mark] > node->mark)
                f->first_write[root->mark] = node->mark;
        }
        if (sc_op_has(node->op, SC_HIGHER_ORDER))
            for (uint32_t i = 0; i < node->arg_count; i++)
                SC_TRY(number_bodies(ctx, &node->args[i], f));
    }
    graph->ret->mark = f->position++;
    return SC_OK;
}

static void walk(finder *f, sc_graph *graph);

static void walk_bodies(finder *f, const sc_arg *arg) {
    if (arg->kind == SC_ARG_GRAPH)
        walk(f, arg->graph);
    else if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            walk_bodies(f, &arg->items[i]);
}

static void walk(finder *f, sc_graph *graph) {
    for (sc_node *node = graph->first; node; node = node->next) {
        try_node(f, node);
        if (sc_op_has(node->op, SC_HIGHER_ORDER))
            for (uint32_t i = 0; i < node->arg_count; i++)
                walk_bodies(f, &node->args[i]);
    }
}

sc_status sc_views_find(sc_ctx *ctx, sc_method *method, uint32_t value_count,
                        sc_views_options options, sc_view *views) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    finder f = {.ctx = ctx, .method = method, .options = options, .views = views};
    f.first_write = sc_new_array(ctx->scratch, uint32_t, (size_t)value_count + 1);
    for (uint32_t i = 0; i < value_count; i++) {
        f.first_write[i] = NEVER;
        views[i] = (sc_view){0};
    }
    sc_status status = number_nodes(ctx, method->graph, &f);
    if (status == SC_OK)
        walk(&f, method->graph);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
