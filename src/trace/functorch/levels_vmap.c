// Writing out a vmap: where batches begin and end, random numbers, and calls by the table.
#include "trace/functorch/levels.h"

// Fails if a size is not known to be that of the batch: it may differ when the program runs.
static void check_size(sc_writer *w, sc_dim size) {
    const sc_tri same = sc_dim_known_equal(size, w->level.size);
    if (same == SC_TRI_FALSE)
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      "%s takes a dimension that is not as long as the batch",
                      w->level.node->op->name);
    else if (same != SC_TRI_TRUE)
        sc_trace_fail(&w->trace, SC_ERR_SHAPE,
                      "Add a torch._check that this size equals the size of the batch.",
                      "%s takes a dimension that may not be as long as the batch",
                      w->level.node->op->name);
}

// (self, batch_dim, level)
static void add_batch(sc_writer *w, sc_node *node, const sc_lifted *a) {
    sc_trace *t = &w->trace;
    const uint32_t dim = sc_x_wrap(t, a[1].x, sc_x_rank(a[0].x));
    if (!sc_functorch_level_is_ours(w, a[2].x)) return;
    if (a[0].batched) {
        sc_trace_fail(t, SC_ERR_CORRUPT, NULL, "a tensor gets a second batch at the same level");
        return;
    }
    check_size(w, sc_x_size(a[0].x, dim));
    sc_functorch_level_know(
        w, node->outs[0], (sc_lifted){.x = sc_functorch_move(t, a[0].x, dim, 0), .batched = true});
    sc_functorch_level_finish(w, node);
}

// (self, level, batch_size, out_dim)
static void remove_batch(sc_writer *w, sc_node *node, const sc_lifted *a) {
    sc_trace *t = &w->trace;
    if (!sc_functorch_level_is_ours(w, a[1].x)) return;
    if (a[2].x->kind == SC_X_INT) check_size(w, a[2].x->dim);
    const uint32_t dim = sc_x_wrap(t, a[3].x, sc_functorch_rank(&a[0]) + 1);
    sc_x x = sc_f_contiguous(t, sc_functorch_move(t, sc_functorch_front(&w->level, &a[0]), 0, dim));
    sc_functorch_level_become(w, node, 0, x);
    sc_functorch_level_finish(w, node);
}

// Sizes of samples are sizes of the batch, but for the first.
static void take_number(sc_writer *w, sc_node *node) {
    sc_trace *t = &w->trace;
    const sc_value *out = node->out_count ? node->outs[0] : NULL;
    if (!out || out->type != SC_VALUE_INT || !out->has_dim || !out->dim.expr) {
        sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                      "torch.vmap of %s is not supported", node->op->name);
        return;
    }
    const sc_arg number = sc_trace_arg(t, sc_x_dim(t, out->dim));
    if (t->status == SC_OK) sc_replace_uses(node->outs[0], number.value);
    sc_functorch_level_finish(w, node);
}

static bool fits(sc_x x, const sc_value *sample) {
    return x->kind == SC_X_TENSOR && sc_x_rank(x) == sample->spec.rank + 1u &&
           sc_x_dtype_of(x) == (sc_dtype)sample->spec.dtype;
}

static void bind_batch(sc_writer *w, sc_node *node, sc_x result) {
    sc_trace *t = &w->trace;
    for (uint32_t i = 0; i < node->out_count && t->status == SC_OK; i++) {
        sc_x x = result->kind == SC_X_LIST ? sc_x_at(t, result, i) : result;
        if (t->status == SC_OK && !fits(x, node->outs[i]))
            sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                          "torch.vmap of this call of %s is not supported", node->op->name);
        sc_functorch_level_know(w, node->outs[i], (sc_lifted){.x = x, .batched = true});
    }
    sc_functorch_level_finish(w, node);
}

// Random numbers are the same for all samples, or each has its own: more of them at once.
static void draw(sc_writer *w, sc_node *node, const sc_lifted *a, bool has_batch) {
    sc_trace *t = &w->trace;
    const int32_t size = sc_op_param_index(node->op, "size");
    const bool by_size = !has_batch && w->randomness == SC_RANDOMNESS_DIFFERENT && size >= 0;
    const bool is_like = has_batch && w->randomness == SC_RANDOMNESS_DIFFERENT && a[0].batched &&
                         !sc_functorch_others(&w->level, a, 1);
    if (!has_batch && w->randomness == SC_RANDOMNESS_SAME) return;
    if (!by_size && !is_like) {
        sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP,
                      "Draw the numbers before torch.vmap, and pass them to it.",
                      "%s in torch.vmap is not supported", node->op->name);
        return;
    }
    sc_x *args = sc_functorch_args(&w->level, a);
    if (by_size) {
        const uint32_t count = args[size]->kind == SC_X_LIST ? args[size]->count : 0;
        sc_x *sizes = sc_new_array(t->arena, sc_x, count + 1);
        sizes[0] = sc_x_dim(t, w->level.size);
        for (uint32_t i = 0; i < count; i++) sizes[i + 1] = args[size]->items[i];
        args[size] = sc_x_list_of(t, sizes, count + 1);
    }
    bind_batch(w, node, sc_functorch_call(&w->level, args));
}

void sc_functorch_level_write_vmap(sc_writer *w, sc_node *node) {
    const bool has_batch = sc_functorch_level_knows_any(w, node);
    const sc_op_id id = (sc_op_id)node->op->id;
    const bool keeps_book =
        id == SC_OP_functorch_add_batch_dim || id == SC_OP_functorch_remove_batch_dim;
    if (!has_batch && !keeps_book && !sc_op_has(node->op, SC_RANDOM)) return;
    const sc_lifted *a = sc_functorch_level_lift_args(w, node);
    if (w->trace.status != SC_OK) return;
    if (id == SC_OP_functorch_add_batch_dim)
        add_batch(w, node, a);
    else if (id == SC_OP_functorch_remove_batch_dim)
        remove_batch(w, node, a);
    else if (sc_op_has(node->op, SC_RANDOM))
        draw(w, node, a, has_batch);
    else if (sc_op_has(node->op, SC_SYMBOLIC))
        take_number(w, node);
    else if (id == SC_OP__assert_tensor_metadata)
        sc_functorch_level_finish(w, node);  // was checked when the graph was derived
    else
        bind_batch(w, node, sc_vmap_call(&w->level, a));
}

// (batch_size, randomness)
void sc_functorch_level_open_vmap(sc_writer *w, const sc_node *node) {
    sc_trace *t = &w->trace;
    sc_x size = sc_functorch_level_lift(w, &node->args[0]).x,
         how = sc_functorch_level_lift(w, &node->args[1]).x;
    if (t->status != SC_OK) return;
    if (size->kind != SC_X_INT || (!size->dim.expr && size->dim.value < 0))
        sc_trace_fail(t, SC_ERR_CORRUPT, NULL, "a batch has no size");
    w->level.size = size->dim;
    w->randomness = how->kind != SC_X_STR              ? SC_RANDOMNESS_ERROR
                    : sc_str_is(how->str, "same")      ? SC_RANDOMNESS_SAME
                    : sc_str_is(how->str, "different") ? SC_RANDOMNESS_DIFFERENT
                                                       : SC_RANDOMNESS_ERROR;
}
