// Functionalization: in-place operators become ordinary ones. A write is queued on the storage that
// its aliases share. The next reader of an alias applies the queue to the base, through the views
// in reverse, and derives the alias again. The nodes have the order that PyTorch gives them: a
// writer synchronises at once, and a view that is made after a write is derived again on its first
// use.
#include "trace/trace.h"

#define VIEWS_MAX 256

static sc_x plain_tensor(sc_trace *t, sc_value *value) {
    sc_traced *tensor = sc_new(t->arena, sc_traced);
    tensor->value = value;
    return sc_x_new(t, (sc_x_data){.kind = SC_X_TENSOR, .tensor = tensor});
}

sc_x sc_trace_fresh(sc_trace *t, sc_value *value) {
    sc_alias *storage = sc_new(t->arena, sc_alias);
    storage->base = value;
    sc_x x = plain_tensor(t, value);
    x->tensor->storage = storage;
    return x;
}

static sc_value *value_of(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return x->tensor->value;
    sc_trace_fail(t, SC_ERR_INTERNAL, NULL, "a tensor was expected");
    return t->poison.value;
}

// The view call applied to another value of the base; always below functionalization.
static sc_value *view_forward(sc_trace *t, const sc_view *view, sc_value *of) {
    sc_x *args = sc_new_array(t->arena, sc_x, view->arg_count);
    memcpy(args, view->args, view->arg_count * sizeof *args);
    args[0] = plain_tensor(t, of);
    sc_x result = sc_trace_call(t, view->op, args, view->arg_count);
    return value_of(t, result->kind == SC_X_LIST ? sc_x_at(t, result, view->index) : result);
}

// --- Views in reverse: the base after `written` was put back into its place ---------------------

static sc_x unsqueeze_where(sc_trace *t, sc_x base, sc_x x, const bool *squeezed) {
    uint32_t rank = sc_x_rank(base);
    for (uint32_t d = 0; d < rank; d++)
        if (squeezed[d] && sc_dim_is(sc_x_size(base, d), 1))
            x = CALL(t, unsqueeze, x, sc_x_int(t, d));
    return x;
}

static sc_x reverse_squeeze(sc_trace *t, const sc_view *view, sc_x base, sc_x written) {
    bool squeezed[SC_RANK_MAX] = {false};
    uint32_t rank = sc_x_rank(base);
    if (view->arg_count < 2) {
        memset(squeezed, true, sizeof squeezed);
    } else if (view->args[1]->kind == SC_X_LIST) {
        for (uint32_t i = 0; i < view->args[1]->count; i++)
            squeezed[sc_x_wrap(t, view->args[1]->items[i], rank) % SC_RANK_MAX] = true;
    } else {
        squeezed[sc_x_wrap(t, view->args[1], rank) % SC_RANK_MAX] = true;
    }
    return unsqueeze_where(t, base, written, squeezed);
}

static sc_x reverse_permute(sc_trace *t, const sc_view *view, sc_x written) {
    int64_t dims[SC_RANK_MAX], inverse[SC_RANK_MAX] = {0};
    uint32_t rank = sc_x_int_list(t, view->args[1], dims, SC_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++)
        inverse[sc_x_wrap(t, sc_x_int(t, dims[i]), rank) % SC_RANK_MAX] = i;
    return CALL(t, permute, written, sc_x_ints(t, inverse, rank));
}

static sc_x scatter_slice(sc_trace *t, sc_x base, sc_x written, sc_x dim, sc_dim start,
                          sc_dim end) {
    return CALL(t, slice_scatter, base, written, dim, sc_x_dim(t, start), sc_x_dim(t, end),
                sc_x_int(t, 1));
}

static sc_x reverse_split(sc_trace *t, const sc_view *view, sc_x base, sc_x written) {
    sc_x dim = view->args[2];
    sc_dim start = sc_dim_int(0), end = sc_dim_int(0);
    if (view->args[1]->kind == SC_X_LIST) {
        for (uint32_t i = 0; i <= view->index && i < view->args[1]->count; i++) {
            start = end;
            end = sc_trace_add(t, end, view->args[1]->items[i]->dim);
        }
    } else {
        sc_dim size = view->args[1]->dim;
        start = sc_trace_mul(t, size, sc_dim_int(view->index));
        end = sc_dim_min(t->exprs, sc_dim_add(t->exprs, start, size),
                         sc_x_size(base, sc_x_number(dim, 0)));
    }
    return scatter_slice(t, base, written, dim, start, end);
}

#define WRITE_HINT "Write to the tensor itself, as x[0, :2] = y does, or to view.clone()."

// An expand that repeats nothing has the elements of its base.
static sc_x reverse_expand(sc_trace *t, sc_x base, sc_x written) {
    if (sc_dim_known_equal(sc_x_numel(t, base), sc_x_numel(t, written)) != SC_TRI_TRUE)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, WRITE_HINT,
                             "writing to elements that an expand repeats is not supported");
    if (sc_x_rank(base) == sc_x_rank(written)) return written;
    return CALL(t, view, written, sc_x_sizes(t, base, 0, sc_x_rank(base)));
}

static sc_x view_reverse(sc_trace *t, const sc_view *view, sc_x base, sc_x written) {
    const sc_x *a = view->args;
    switch ((sc_op_id)view->op->id) {
    case SC_OP_view:
    case SC_OP__unsafe_view:
    case SC_OP__reshape_alias:
        return CALL(t, view, written, sc_x_sizes(t, base, 0, sc_x_rank(base)));
    case SC_OP_permute: return reverse_permute(t, view, written);
    case SC_OP_transpose_int: return CALL(t, transpose_int, written, a[1], a[2]);
    case SC_OP_t: return CALL(t, t, written);
    case SC_OP_select_int: return CALL(t, select_scatter, base, written, a[1], a[2]);
    case SC_OP_slice_Tensor: return CALL(t, slice_scatter, base, written, a[1], a[2], a[3], a[4]);
    case SC_OP_unsqueeze: return CALL(t, squeeze_dim, written, a[1]);
    case SC_OP_squeeze:
    case SC_OP_squeeze_dim:
    case SC_OP_squeeze_dims: return reverse_squeeze(t, view, base, written);
    case SC_OP_diagonal: return CALL(t, diagonal_scatter, base, written, a[1], a[2], a[3]);
    case SC_OP_split_Tensor:
    case SC_OP_split_with_sizes: return reverse_split(t, view, base, written);
    case SC_OP_unbind_int:
        return CALL(t, select_scatter, base, written, a[1], sc_x_int(t, view->index));
    case SC_OP_expand: return reverse_expand(t, base, written);
    case SC_OP_alias:
    case SC_OP_detach: return written;
    case SC_OP__conj: return CALL(t, _conj, written);
    case SC_OP__neg_view: return CALL(t, neg, written);
    case SC_OP_view_as_real: return CALL(t, view_as_complex, written);
    case SC_OP_view_as_complex: return CALL(t, view_as_real, written);
    case SC_OP_functorch_add_batch_dim:
        return CALL(t, functorch_remove_batch_dim, written, a[2],
                    sc_x_dim(t, sc_x_size(base, sc_x_number(a[1], 0))), a[1]);
    default:
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, WRITE_HINT,
                             "writing through %s is not supported", view->op->name);
    }
}

// The views of a chain, outermost first. Their number is bounded when a view is made.
static uint32_t list_views(const sc_view *view, const sc_view **out) {
    uint32_t count = view ? view->depth : 0;
    for (uint32_t i = count; i-- > 0; view = view->parent) out[i] = view;
    return count;
}

static sc_value *apply_update(sc_trace *t, sc_value *base, sc_update update) {
    const sc_view *views[VIEWS_MAX];
    sc_value *bases[VIEWS_MAX];
    uint32_t count = list_views(update.view, views);
    if (count == 0) return update.value;
    bases[0] = base;
    for (uint32_t i = 0; i + 1 < count; i++) bases[i + 1] = view_forward(t, views[i], bases[i]);
    sc_value *written = update.value;
    for (uint32_t i = count; i-- > 0;) {
        sc_x of = plain_tensor(t, bases[i]);
        written = value_of(t, view_reverse(t, views[i], of, plain_tensor(t, written)));
    }
    return written;
}

// A failed update is dropped and leaves the values that were there: refused once, not by every
// later reader.
void sc_trace_sync(sc_trace *t, sc_traced *tensor) {
    sc_alias *storage = tensor->storage;
    if (!storage || tensor->generation == storage->generation) return;
    t->plain++;
    for (uint32_t i = 0; i < storage->pending.count && t->status == SC_OK; i++) {
        sc_value *base = apply_update(t, storage->base, storage->pending.data[i]);
        if (t->status == SC_OK) storage->base = base;
    }
    storage->pending.count = 0;
    const sc_view *views[VIEWS_MAX];
    uint32_t count = list_views(tensor->view, views);
    sc_value *value = storage->base;
    for (uint32_t i = 0; i < count && t->status == SC_OK; i++)
        value = view_forward(t, views[i], value);
    t->plain--;
    if (t->status == SC_OK) tensor->value = value;
    tensor->generation = storage->generation;
}

// --- Calls --------------------------------------------------------------------------------------

static void sync_arg(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) sc_trace_sync(t, x->tensor);
    for (uint32_t i = 0; x->kind == SC_X_LIST && i < x->count; i++) sync_arg(t, x->items[i]);
}

// Arguments as plain values.
static sc_x plain_arg(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return plain_tensor(t, x->tensor->value);
    if (x->kind != SC_X_LIST) return x;
    bool tensors = false;
    for (uint32_t i = 0; i < x->count && !tensors; i++) tensors = x->items[i]->kind == SC_X_TENSOR;
    if (!tensors) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count);
    for (uint32_t i = 0; i < x->count; i++) items[i] = plain_arg(t, x->items[i]);
    return sc_x_list_of(t, items, x->count);
}

static sc_x own_result(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return sc_trace_fresh(t, x->tensor->value);
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = own_result(t, x->items[i]);
    return sc_x_list_of(t, items, x->count);
}

static sc_x alias_result(sc_trace *t, sc_x x, const sc_traced *of, sc_view view) {
    if (x->kind == SC_X_TENSOR) {
        sc_view *kept = sc_new(t->arena, sc_view);
        *kept = view;
        sc_x result = plain_tensor(t, x->tensor->value);
        result->tensor->storage = of->storage;
        result->tensor->view = kept;
        return result;
    }
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) {
        view.index = i;
        items[i] = alias_result(t, x->items[i], of, view);
    }
    return sc_x_list_of(t, items, x->count);
}

// A call below functionalization, with values that are up to date. The cells that the call made on
// the trace's arena are dead once its result is one tensor: the value belongs to the graph, and
// gets a new cell.
static sc_x call_plain(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) sync_arg(t, args[i]);
    if (t->status != SC_OK) return sc_trace_fail(t, t->status, NULL, "unreachable");
    sc_mark mark = sc_arena_mark(t->arena);
    sc_x *plain = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++) plain[i] = plain_arg(t, args[i]);
    t->plain++;
    sc_x result = sc_trace_call(t, op, plain, count);
    t->plain--;
    if (t->status != SC_OK || result->kind != SC_X_TENSOR) return result;
    sc_value *value = result->tensor->value;
    sc_arena_rewind(t->arena, mark);
    return plain_tensor(t, value);
}

// Does a view of the storage behind a tensor hold the tensor's own elements only, dense and in
// row-major order?
static bool stays_inside(sc_trace *t, const sc_spec *of, const sc_spec *view) {
    sc_dim end = sc_dim_add(t->exprs, view->offset, sc_dim_int(1));
    for (uint32_t d = 0; d < view->rank; d++) {
        if (sc_dim_is(view->sizes[d], 0)) return true;
        sc_dim steps = sc_dim_sub(t->exprs, view->sizes[d], sc_dim_int(1));
        end = sc_dim_add(t->exprs, end, sc_dim_mul(t->exprs, steps, view->strides[d]));
    }
    return sc_dim_is(of->offset, 0) && sc_spec_is_contiguous(t->exprs, of) &&
           sc_dim_known_le(end, sc_spec_numel(t->exprs, of)) != SC_TRI_FALSE;
}

static sc_x call_view(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    sc_traced *of = args[0]->tensor;
    sc_x result = call_plain(t, op, args, count);
    if (sc_op_has(op, SC_SEES_STORAGE) && t->status == SC_OK &&
        !stays_inside(t, &of->value->spec, sc_x_spec(result)))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Index or slice the whole tensor instead.",
                             "%s sees more than the elements of its tensor, in their order",
                             op->name);
    uint32_t depth = of->view ? of->view->depth + 1 : 1;
    if (depth > VIEWS_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, "Copy the tensor in between.",
                             "there are more than %d views of views", VIEWS_MAX);
    sc_x *kept = sc_new_array(t->arena, sc_x, count);
    memcpy(kept, args, count * sizeof *kept);
    return alias_result(
        t, result, of,
        (sc_view){.parent = of->view, .op = op, .args = kept, .arg_count = count, .depth = depth});
}

// The value in the dtype of the tensor that it overwrites.
static sc_value *as_dtype_of(sc_trace *t, sc_value *value, const sc_value *like) {
    if (value->spec.dtype == like->spec.dtype) return value;
    sc_x x = plain_tensor(t, value);
    return value_of(t, CALL(t, _to_copy, x, sc_x_dtype(t, (sc_dtype)like->spec.dtype), X_STRIDED));
}

static bool may_have_sizes_of(const sc_spec *a, const sc_spec *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (sc_dim_known_equal(a->sizes[i], b->sizes[i]) == SC_TRI_FALSE) return false;
    return true;
}

static void write(sc_trace *t, sc_traced *target, sc_value *value) {
    if (!may_have_sizes_of(&value->spec, &target->value->spec)) {
        sc_trace_fail(t, SC_ERR_SHAPE, NULL, "what is written to a tensor does not have its sizes");
        return;
    }
    t->plain++;
    value = as_dtype_of(t, value, target->value);
    t->plain--;
    target->value = value;
    sc_update update = {.value = value, .view = target->view};
    sc_vec_push(t->arena, &target->storage->pending, update);
    target->storage->generation++;
    sc_trace_sync(t, target);
}

void sc_trace_assign(sc_trace *t, sc_x target, sc_x value) {
    if (target->kind != SC_X_TENSOR || value->kind != SC_X_TENSOR || t->status != SC_OK) return;
    sc_trace_sync(t, value->tensor);
    if (target->tensor->storage)
        write(t, target->tensor, value->tensor->value);
    else
        target->tensor->value = value->tensor->value;
}

static const char *inplace_hint(const sc_op *op) {
    const char *advice = sc_op_advice(op);
    return advice ? advice : "Go on with a new tensor: y = x.name(...) instead of x.name_(...).";
}

static sc_x call_inplace(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    const sc_op *plain_op = op->functional;
    if (!plain_op || args[0]->kind != SC_X_TENSOR || !args[0]->tensor->storage)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, inplace_hint(op),
                             "%s cannot be written as a new tensor", op->name);
    if (sc_op_has(plain_op, SC_COMPOSITE) || sc_op_has(plain_op, SC_VIEW)) {
        sc_x result = sc_trace_call(t, plain_op, args, count);
        if (t->status != SC_OK || result->kind != SC_X_TENSOR) return args[0];
        if (result->tensor->storage == args[0]->tensor->storage)
            *args[0]->tensor = *result->tensor;  // transpose_: another view of the same elements
        else
            sc_trace_assign(t, args[0], result);
        return args[0];
    }
    sc_x result = call_plain(t, plain_op, args, count);
    if (t->status == SC_OK) write(t, args[0]->tensor, value_of(t, result));
    return args[0];
}

sc_x sc_trace_functional(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count) {
    if (sc_op_has(op, SC_INPLACE) || sc_op_has(op, SC_MUTATES))
        return call_inplace(t, op, args, count);
    if (sc_op_has(op, SC_VIEW) && count > 0 && args[0]->kind == SC_X_TENSOR &&
        args[0]->tensor->storage)
        return call_view(t, op, args, count);
    return own_result(t, call_plain(t, op, args, count));
}
