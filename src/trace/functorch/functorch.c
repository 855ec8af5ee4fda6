// Levels: where they open and close, which values have a batch or a tangent there, and the calls
// between, written out by the tables. In place, the innermost levels of a graph first, so that
// every other level finds no calls but those that it would find without them.
#include "trace/functorch/functorch.h"

#include "trace/expand.h"

enum { LEVELS_MAX = 16, VMAP = 0, JVP = 1, NEITHER = 2 };

typedef enum chance { CHANCE_ERROR, CHANCE_SAME, CHANCE_DIFFERENT } chance;

// A level of a graph that is being written out.
typedef struct writer {
    sc_trace trace;  // first: the dispatch gets it
    sc_ctx *ctx;
    sc_graph *graph;
    sc_level level;
    uint32_t depth;    // of the levels that are written out
    uint32_t at;       // how many are open where we are
    uint32_t regions;  // at `depth`, so far: each has values of its own
    uint8_t kind;      // of the one that is open
    uint8_t chance;
    bool is_open;
    sc_imap values;  // of the graph -> a known *
    SC_VEC(sc_node *) done;
} writer;

typedef struct known {
    sc_lifted lifted;
    uint32_t region;
} known;

// --- The calls that keep book -------------------------------------------------------------------

static uint8_t opens(const sc_op *op) {
    if (op->id == SC_OP_functorch_vmap_open) return VMAP;
    return op->id == SC_OP_functorch_jvp_open ? JVP : NEITHER;
}

static uint8_t closes(const sc_op *op) {
    if (op->id == SC_OP_functorch_vmap_close) return VMAP;
    return op->id == SC_OP_functorch_jvp_close ? JVP : NEITHER;
}

static sc_status corrupt(sc_ctx *ctx, const sc_node *node, const char *what) {
    sc_where_set_node(ctx, node);
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "%s %s", node->op->name, what);
}

// How deep levels go in a graph that begins at `base`; they must close as they were opened.
static sc_status survey(sc_ctx *ctx, const sc_graph *graph, uint32_t base, uint32_t *deepest) {
    uint8_t kinds[LEVELS_MAX + 1];
    uint32_t at = base;
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (opens(node->op) != NEITHER) {
            if (at >= LEVELS_MAX)
                return sc_fail(ctx, SC_ERR_LIMIT, NULL, "vmap and jvp are nested more than %d deep",
                               LEVELS_MAX);
            kinds[at++] = opens(node->op);
        } else if (closes(node->op) != NEITHER) {
            if (at == base || kinds[--at] != closes(node->op))
                return corrupt(ctx, node, "closes what was not opened");
        }
        if (at > *deepest) *deepest = at;
    }
    if (at == base) return SC_OK;
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "a level of vmap or jvp is never closed");
}

// --- Values -------------------------------------------------------------------------------------

// What has a tangent is the tensor itself to whoever stands elsewhere.
static const known *known_of(const writer *w, const sc_value *value) {
    const uint64_t *found = sc_imap_find(&w->values, SC_PTR_KEY(value));
    const known *k = found ? (const known *)(uintptr_t)*found : NULL;
    const bool is_here = k && w->is_open && k->region == w->regions;
    return is_here || (k && k->lifted.batched) ? k : NULL;
}

static void know(writer *w, const sc_value *value, sc_lifted lifted) {
    known *k = sc_new(w->trace.arena, known);
    *k = (known){.lifted = lifted, .region = w->regions};
    sc_imap_set(&w->values, SC_PTR_KEY(value), (uint64_t)(uintptr_t)k);
}

static sc_lifted lift_value(writer *w, sc_value *value) {
    const known *k = known_of(w, value);
    if (!k) return (sc_lifted){.x = sc_trace_plain(&w->trace, value)};
    if (!w->is_open || k->region != w->regions)
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      "'%s' is used outside of the vmap or jvp that it belongs to",
                      value->name->text);
    return k->lifted;
}

static sc_x plain(sc_trace *t, sc_value *value) { return lift_value((writer *)t, value).x; }

static sc_lifted lift(writer *w, const sc_arg *arg) {
    sc_trace *t = &w->trace;
    if (arg->kind == SC_ARG_VALUE) return lift_value(w, arg->value);
    if (arg->kind != SC_ARG_LIST) return (sc_lifted){.x = sc_trace_cell(t, arg, plain)};
    sc_lifted *items = sc_new_array(t->arena, sc_lifted, arg->count + 1);
    sc_x *cells = sc_new_array(t->arena, sc_x, arg->count + 1);
    for (uint32_t i = 0; i < arg->count; i++) {
        items[i] = lift(w, &arg->items[i]);
        cells[i] = items[i].x;
    }
    return (sc_lifted){.x = sc_x_list_of(t, cells, arg->count), .items = items};
}

static const sc_lifted *lift_args(writer *w, const sc_node *node) {
    sc_lifted *args = sc_new_array(w->trace.arena, sc_lifted, node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = lift(w, &node->args[i]);
    return args;
}

static bool is_plain(void *user, sc_arg *arg) { return known_of(user, arg->value) == NULL; }

static bool knows_any(writer *w, const sc_node *node) {
    return !sc_node_visit_values(node, is_plain, w);
}

static void finish(writer *w, sc_node *node) { sc_vec_push(w->trace.arena, &w->done, node); }

// What stands for the node's result from here on belongs to no level.
static void become(writer *w, sc_node *node, uint32_t index, sc_x x) {
    if (w->trace.status == SC_OK && x->kind == SC_X_TENSOR)
        sc_replace_uses(node->outs[index], x->tensor->value);
}

// --- Batches -------------------------------------------------------------------------------------

static bool is_level(writer *w, sc_x level) {
    if (sc_x_number(level, -1) == w->depth) return true;
    sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL, "%s names a level that is not the innermost",
                  w->level.node->op->name);
    return false;
}

static void check_size(writer *w, sc_dim size) {
    if (sc_dim_known_equal(size, w->level.size) == SC_TRI_FALSE)
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL, "%s is not of the size of the batch",
                      w->level.node->op->name);
}

// (self, batch_dim, level)
static void add_batch(writer *w, sc_node *node, const sc_lifted *a) {
    sc_trace *t = &w->trace;
    const uint32_t dim = sc_x_wrap(t, a[1].x, sc_x_rank(a[0].x));
    if (!is_level(w, a[2].x)) return;
    if (a[0].batched) {
        sc_trace_fail(t, SC_ERR_CORRUPT, NULL, "a tensor gets a second batch at the same level");
        return;
    }
    check_size(w, sc_x_size(a[0].x, dim));
    know(w, node->outs[0], (sc_lifted){.x = sc_v_move(t, a[0].x, dim, 0), .batched = true});
    finish(w, node);
}

// (self, level, batch_size, out_dim)
static void remove_batch(writer *w, sc_node *node, const sc_lifted *a) {
    sc_trace *t = &w->trace;
    if (!is_level(w, a[1].x)) return;
    if (a[2].x->kind == SC_X_INT) check_size(w, a[2].x->dim);
    const uint32_t dim = sc_x_wrap(t, a[3].x, sc_v_rank(&a[0]) + 1);
    sc_x x = sc_f_contiguous(t, sc_v_move(t, sc_v_front(&w->level, &a[0]), 0, dim));
    become(w, node, 0, x);
    finish(w, node);
}

// Sizes of samples are sizes of the batch, but for the first.
static void take_number(writer *w, sc_node *node) {
    sc_trace *t = &w->trace;
    const sc_value *out = node->out_count ? node->outs[0] : NULL;
    if (!out || out->type != SC_VALUE_INT || !out->has_dim || !out->dim.expr) {
        sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                      "torch.vmap of %s is not supported", node->op->name);
        return;
    }
    const sc_arg number = sc_trace_arg(t, sc_x_dim(t, out->dim));
    if (t->status == SC_OK) sc_replace_uses(node->outs[0], number.value);
    finish(w, node);
}

static bool fits(sc_x x, const sc_value *sample) {
    return x->kind == SC_X_TENSOR && sc_x_rank(x) == sample->spec.rank + 1u &&
           sc_x_dtype_of(x) == (sc_dtype)sample->spec.dtype;
}

static void bind_batch(writer *w, sc_node *node, sc_x result) {
    sc_trace *t = &w->trace;
    for (uint32_t i = 0; i < node->out_count && t->status == SC_OK; i++) {
        sc_x x = result->kind == SC_X_LIST ? sc_x_at(t, result, i) : result;
        if (t->status == SC_OK && !fits(x, node->outs[i]))
            sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                          "torch.vmap of this call of %s is not supported", node->op->name);
        know(w, node->outs[i], (sc_lifted){.x = x, .batched = true});
    }
    finish(w, node);
}

// Random numbers are the same for all samples, or each has its own: more of them at once.
static void draw(writer *w, sc_node *node, const sc_lifted *a, bool has_batch) {
    sc_trace *t = &w->trace;
    const int32_t size = sc_op_param_index(node->op, "size");
    const bool by_size = !has_batch && w->chance == CHANCE_DIFFERENT && size >= 0;
    const bool is_like =
        has_batch && w->chance == CHANCE_DIFFERENT && a[0].batched && !sc_v_others(&w->level, a, 1);
    if (!has_batch && w->chance == CHANCE_SAME) return;
    if (!by_size && !is_like) {
        sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP,
                      "Draw the numbers before torch.vmap, and pass them to it.",
                      "%s in torch.vmap is not supported", node->op->name);
        return;
    }
    sc_x *args = sc_v_args(&w->level, a);
    if (by_size) {
        const uint32_t count = args[size]->kind == SC_X_LIST ? args[size]->count : 0;
        sc_x *sizes = sc_new_array(t->arena, sc_x, count + 1);
        sizes[0] = sc_x_dim(t, w->level.size);
        for (uint32_t i = 0; i < count; i++) sizes[i + 1] = args[size]->items[i];
        args[size] = sc_x_list_of(t, sizes, count + 1);
    }
    bind_batch(w, node, sc_v_call(&w->level, args));
}

static void write_vmap(writer *w, sc_node *node) {
    const bool has_batch = knows_any(w, node);
    const sc_op_id id = (sc_op_id)node->op->id;
    const bool keeps_book =
        id == SC_OP_functorch_add_batch_dim || id == SC_OP_functorch_remove_batch_dim;
    if (!has_batch && !keeps_book && !sc_op_has(node->op, SC_RANDOM)) return;
    const sc_lifted *a = lift_args(w, node);
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
        finish(w, node);  // was checked when the graph was derived
    else
        bind_batch(w, node, sc_vmap_call(&w->level, a));
}

// --- Tangents ------------------------------------------------------------------------------------

// (tensor, tangent)
static void make_dual(writer *w, sc_node *node, const sc_lifted *a) {
    const sc_spec *x = sc_x_spec(a[0].x), *d = sc_x_spec(a[1].x);
    const bool alike = x->dtype == d->dtype && sc_spec_same_sizes(x, d);
    if (!alike || a[0].tangent || a[1].tangent)
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      alike ? "a tensor gets a second tangent at the same level"
                            : "a tangent is not of the sizes and the dtype of its tensor");
    know(w, node->outs[0], (sc_lifted){.x = a[0].x, .tangent = a[1].x});
    finish(w, node);
}

static void bind_tangents(writer *w, const sc_node *node, sc_x d) {
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_x one = d->kind == SC_X_LIST ? (i < d->count ? d->items[i] : NULL) : i ? NULL : d;
        if (!one) continue;
        sc_x x = sc_trace_plain(&w->trace, node->outs[i]);
        know(w, node->outs[i], (sc_lifted){.x = x, .tangent = one});
    }
}

// Numbers that are read off a tensor have no tangent.
static void write_tangent(writer *w, sc_node *node, const sc_lifted *a) {
    const bool opaque = sc_op_has(node->op, SC_HIGHER_ORDER | SC_FOREIGN | SC_MUTATES);
    if (opaque)
        sc_trace_fail(&w->trace, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                      "torch.func.jvp of %s is not supported", node->op->name);
    if (opaque || !node->out_count || node->outs[0]->type != SC_VALUE_TENSOR) return;
    sc_x d = sc_jvp_call(&w->level, a);
    if (d && w->trace.status == SC_OK) bind_tangents(w, node, d);
}

static void write_jvp(writer *w, sc_node *node) {
    sc_trace *t = &w->trace;
    const sc_op_id id = (sc_op_id)node->op->id;
    const bool unpacks = id == SC_OP_functorch_unpack_dual || id == SC_OP__unpack_dual;
    if (!knows_any(w, node) && !sc_op_has(node->op, SC_FUNCTORCH)) return;
    const sc_lifted *a = lift_args(w, node);
    if (t->status != SC_OK || node->out_count == 0) return;
    if (id == SC_OP_functorch_make_dual || id == SC_OP__make_dual) {
        make_dual(w, node, a);
    } else if (unpacks) {
        become(w, node, 0, a[0].x);
        become(w, node, 1,
               a[0].tangent ? sc_f_contiguous(t, a[0].tangent) : sc_jvp_zeros(t, a[0].x));
        finish(w, node);
    } else if (id == SC_OP_functorch_unwrap_for_grad) {
        if (!is_level(w, a[1].x)) return;
        become(w, node, 0, a[0].x);
        finish(w, node);
    } else if (sc_op_has(node->op, SC_FUNCTORCH)) {
        sc_trace_fail(t, SC_ERR_CORRUPT, NULL, "%s stands in a jvp", node->op->name);
    } else {
        write_tangent(w, node, a);
    }
}

// --- Levels -------------------------------------------------------------------------------------

// (batch_size, randomness)
static void open_vmap(writer *w, const sc_node *node) {
    sc_trace *t = &w->trace;
    sc_x size = lift(w, &node->args[0]).x, how = lift(w, &node->args[1]).x;
    if (t->status != SC_OK) return;
    if (size->kind != SC_X_INT || (!size->dim.expr && size->dim.value < 0))
        sc_trace_fail(t, SC_ERR_CORRUPT, NULL, "a batch has no size");
    w->level.size = size->dim;
    w->chance = how->kind != SC_X_STR              ? CHANCE_ERROR
                : sc_str_is(how->str, "same")      ? CHANCE_SAME
                : sc_str_is(how->str, "different") ? CHANCE_DIFFERENT
                                                   : CHANCE_ERROR;
}

static void open_level(writer *w, sc_node *node) {
    w->is_open = true;
    w->regions++;
    w->kind = opens(node->op);
    if (w->kind == VMAP) open_vmap(w, node);
    finish(w, node);
}

// What a level leaves behind is seen by nobody else.
static void check_outside(writer *w, const sc_node *node) {
    if (knows_any(w, node))
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      "a value is used outside of the vmap or jvp that it belongs to");
}

// New nodes go where their operands are: a batch is computed in place of the node, tangents after
// it.
static void write_node(writer *w, sc_node *node, sc_node *next) {
    const bool enters = opens(node->op) != NEITHER, leaves = closes(node->op) != NEITHER;
    w->trace.before = w->is_open && w->kind == JVP ? next : node;
    w->trace.source = node;
    w->trace.meta = node->meta;
    w->level.node = node;
    if (enters && ++w->at == w->depth) {
        open_level(w, node);
    } else if (leaves && w->at-- == w->depth) {
        w->is_open = false;
        finish(w, node);
    } else if (!w->is_open) {
        check_outside(w, node);
    } else if (w->kind == VMAP) {
        write_vmap(w, node);
    } else {
        write_jvp(w, node);
    }
}

// Sizes can be read off what stays.
static void note(writer *w, const sc_node *node) {
    if (w->done.count > 0 && sc_vec_last(&w->done) == node) return;
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_value *value = node->outs[i];
        if (value->type == SC_VALUE_TENSOR) sc_trace_note_sizes(&w->trace, value);
        if (value->type == SC_VALUE_INT && value->has_dim)
            sc_trace_note_symbol(&w->trace, value->dim, value);
    }
}

static void note_inputs(writer *w) {
    for (uint32_t i = 0; i < w->graph->inputs.count; i++) {
        sc_value *value = w->graph->inputs.data[i];
        if (value->type == SC_VALUE_TENSOR) sc_trace_note_sizes(&w->trace, value);
        if (value->type == SC_VALUE_INT && value->has_dim)
            sc_trace_note_symbol(&w->trace, value->dim, value);
    }
}

// Nodes that were written out; each tensor with a tangent is the one that it was made of.
static sc_status sweep(writer *w) {
    for (uint32_t i = w->done.count; i-- > 0;) {
        sc_node *node = w->done.data[i];
        const uint64_t *found =
            node->out_count ? sc_imap_find(&w->values, SC_PTR_KEY(node->outs[0])) : NULL;
        const known *k = found ? (const known *)(uintptr_t)*found : NULL;
        if (k && k->lifted.tangent) become(w, node, 0, k->lifted.x);
        for (uint32_t o = 0; o < node->out_count; o++)
            if (node->outs[o]->use_count)
                return corrupt(w->ctx, node, "gives a value that leaves its vmap");
        sc_node_erase(node);
    }
    return SC_OK;
}

static sc_x dispatch(sc_trace *t, const sc_op *op, sc_x *args) {
    if (op->id == SC_OP_detach) return sc_trace_record(t, op, args, op->schema->param_count);
    return sc_trace_dispatch(t, op, args);
}

static sc_graph *no_body(sc_trace *t, const sc_graph *body) {
    (void)body;
    sc_trace_fail(t, SC_ERR_INTERNAL, NULL, "a body cannot be traced here");
    return NULL;
}

static sc_status write_depth(sc_ctx *ctx, sc_graph *graph, uint32_t base, uint32_t depth) {
    static const sc_trace_hooks hooks = {.dispatch = dispatch, .body = no_body};
    sc_arena arena;
    sc_arena_init(&arena);
    writer w = {.ctx = ctx, .graph = graph, .depth = depth, .at = base, .kind = NEITHER};
    sc_trace_begin(&w.trace, ctx, &arena, graph, &hooks);
    sc_imap_init(&w.values, &arena);
    w.trace.plain = 1;
    w.trace.strides_differ = true;
    w.level.t = &w.trace;
    note_inputs(&w);
    for (sc_node *node = graph->first, *next; node && w.trace.status == SC_OK; node = next) {
        next = node->next;
        sc_where_set_node(ctx, node);
        write_node(&w, node, next);
        note(&w, node);
    }
    if (w.trace.status == SC_OK) check_outside(&w, graph->ret);
    sc_status status = w.trace.status == SC_OK ? sweep(&w) : w.trace.status;
    sc_arena_deinit(&arena);
    return status;
}

// --- Graphs -------------------------------------------------------------------------------------

static sc_status write_graph(sc_ctx *ctx, sc_graph *graph, uint32_t base);

// Bodies that stand in a level see none of its batches and tangents.
static sc_status write_bodies(sc_ctx *ctx, sc_graph *graph, uint32_t base) {
    uint32_t at = base;
    for (sc_node *node = graph->first; node && graph->has_bodies; node = node->next) {
        at += opens(node->op) != NEITHER;
        at -= closes(node->op) != NEITHER;
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                SC_TRY(write_graph(ctx, node->args[i].graph, at));
    }
    return SC_OK;
}

static bool is_used(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->use_count) return true;
    return sc_node_has_effect(node);
}

// What is left where no level is: which tensors were cut off from their tangents, when vmap was
// first used, and what nobody needs any more.
static sc_status clear(sc_ctx *ctx, sc_graph *graph) {
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        const bool keeps_book = sc_op_has(node->op, SC_FUNCTORCH);
        if (node->op->id == SC_OP_detach && node->args[0].kind == SC_ARG_VALUE) {
            sc_node_replace(node, node->args[0].value);
        } else if ((keeps_book && node->out_count == 0) || !is_used(node)) {
            sc_node_erase(node);
        } else if (keeps_book) {
            sc_where_set_node(ctx, node);
            return sc_fail(ctx, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                           "%s outside of torch.vmap and torch.func.jvp is not supported",
                           node->op->name);
        }
    }
    return SC_OK;
}

// Bodies nest as deep as importer and parser let them.
static sc_status write_graph(sc_ctx *ctx, sc_graph *graph, uint32_t base) {
    uint32_t deepest = base;
    SC_TRY(survey(ctx, graph, base, &deepest));
    SC_TRY(write_bodies(ctx, graph, base));
    for (uint32_t depth = deepest; depth > base; depth--)
        SC_TRY(write_depth(ctx, graph, base, depth));
    return clear(ctx, graph);
}

static sc_status find_book(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (sc_op_has(node->op, SC_FUNCTORCH)) *(bool *)user = true;
    return SC_OK;
}

sc_status sc_functorch(sc_ctx *ctx, sc_method *method) {
    bool found = false;
    SC_TRY(sc_graphs_visit(ctx, method->graph, find_book, &found));
    if (!found) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = write_graph(ctx, method->graph, 0);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
