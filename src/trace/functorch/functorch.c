// Levels: where they open and close, which values have a batch or a tangent there, and the calls
// between, written out by the tables. In place, the innermost levels of a graph first, so that
// every other level finds no calls but those that it would find without them.
#include "trace/functorch/levels.h"

#include "trace/expand.h"

enum { LEVELS_MAX = 16 };

static sc_status corrupt(sc_ctx *ctx, const sc_node *node, const char *what) {
    sc_where_set_node(ctx, node);
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "%s %s", node->op->name, what);
}

// How deep levels go in a graph that begins at `base`; they must close as they were opened.
static sc_status survey(sc_ctx *ctx, const sc_graph *graph, uint32_t base, uint32_t *deepest) {
    uint8_t kinds[LEVELS_MAX + 1];
    uint32_t at = base;
    const sc_node *opened = NULL;
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (sc_functorch_level_opens(node->op) != SC_LEVEL_NONE) {
            sc_where_set_node(ctx, node);
            if (at >= LEVELS_MAX)
                return sc_fail(ctx, SC_ERR_LIMIT, NULL, "vmap and jvp are nested more than %d deep",
                               LEVELS_MAX);
            opened = node;
            kinds[at++] = sc_functorch_level_opens(node->op);
        } else if (sc_functorch_level_closes(node->op) != SC_LEVEL_NONE) {
            if (at == base || kinds[--at] != sc_functorch_level_closes(node->op))
                return corrupt(ctx, node, "closes what was not opened");
        }
        if (at > *deepest) *deepest = at;
    }
    if (at == base) return SC_OK;
    return corrupt(ctx, opened, "opens a level that is never closed");
}

// --- Levels -------------------------------------------------------------------------------------

static void open_level(sc_writer *w, sc_node *node) {
    w->is_open = true;
    w->regions++;
    w->kind = sc_functorch_level_opens(node->op);
    if (w->kind == SC_LEVEL_VMAP) sc_functorch_level_open_vmap(w, node);
    sc_functorch_level_finish(w, node);
}

// Refuses a node outside of the level that uses a value from inside.
static void check_outside(sc_writer *w, const sc_node *node) {
    if (sc_functorch_level_knows_any(w, node))
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      "a value is used outside of the vmap or jvp that it belongs to");
}

// In how many levels of a jvp around the one that is written out: they want tangents, too.
static void count_jvps(sc_writer *w, const sc_op *op) {
    if (sc_functorch_level_opens(op) == SC_LEVEL_JVP && w->at + 1 < w->depth) w->trace.jvps++;
    if (sc_functorch_level_closes(op) == SC_LEVEL_JVP && w->at < w->depth) w->trace.jvps--;
}

// New nodes go where their operands are: a batch is computed in place of the node, tangents after
// it.
static void write_node(sc_writer *w, sc_node *node, sc_node *next) {
    const bool enters = sc_functorch_level_opens(node->op) != SC_LEVEL_NONE,
               leaves = sc_functorch_level_closes(node->op) != SC_LEVEL_NONE;
    w->trace.before = w->is_open && w->kind == SC_LEVEL_JVP ? next : node;
    w->trace.source = node;
    w->trace.meta = node->meta;
    w->level.node = node;
    count_jvps(w, node->op);
    if (enters && ++w->at == w->depth) {
        open_level(w, node);
    } else if (leaves && w->at-- == w->depth) {
        w->is_open = false;
        sc_functorch_level_finish(w, node);
    } else if (!w->is_open) {
        check_outside(w, node);
    } else if (w->kind == SC_LEVEL_VMAP) {
        sc_functorch_level_write_vmap(w, node);
    } else {
        sc_functorch_level_write_jvp(w, node);
    }
}

// Sizes can be read off what stays.
static void note_value(sc_writer *w, sc_value *value) {
    if (value->type == SC_VALUE_TENSOR) sc_trace_note_sizes(&w->trace, value);
    if (value->type == SC_VALUE_INT && value->has_dim)
        sc_trace_note_symbol(&w->trace, value->dim, value);
}

static void note(sc_writer *w, const sc_node *node) {
    if (w->done.count > 0 && sc_vec_last(&w->done) == node) return;
    for (uint32_t i = 0; i < node->out_count; i++) note_value(w, node->outs[i]);
}

// Nodes that were written out; each tensor with a tangent is the one that it was made of.
static sc_status sweep(sc_writer *w) {
    for (uint32_t i = w->done.count; i-- > 0;) {
        sc_node *node = w->done.data[i];
        const uint64_t *found =
            node->out_count ? sc_imap_find(&w->values, SC_PTR_KEY(node->outs[0])) : NULL;
        const sc_known *k = found ? (const sc_known *)(uintptr_t)*found : NULL;
        if (k && k->lifted.tangent) sc_functorch_level_become(w, node, 0, k->lifted.x);
        for (uint32_t o = 0; o < node->out_count; o++)
            if (node->outs[o]->use_count)
                return corrupt(w->ctx, node, "gives a value that leaves its vmap");
        sc_node_erase(node);
    }
    return SC_OK;
}

static sc_x dispatch(sc_trace *t, const sc_op *op, sc_x *args) {
    if (op->id == SC_OP_detach) return sc_trace_record(t, op, args, op->schema->param_count);
    return ((sc_writer *)t)->dispatch(t, op, args);
}

static sc_graph *no_body(sc_trace *t, const sc_graph *body) {
    (void)body;
    sc_trace_fail(t, SC_ERR_INTERNAL, NULL, "a body cannot be traced here");
    return NULL;
}

// A trace of calls that are written out in place.
static void begin(sc_writer *w, sc_arena *arena) {
    sc_graph *graph = w->graph;
    static const sc_trace_hooks hooks = {.dispatch = dispatch, .body = no_body};
    sc_arena_init(arena);
    sc_trace_begin(&w->trace, w->ctx, arena, graph, &hooks);
    w->trace.plain = 1;
    w->trace.strides_differ = true;
    for (uint32_t i = 0; i < graph->inputs.count; i++) note_value(w, graph->inputs.data[i]);
}

static sc_status write_depth(const sc_functorch_env *env, sc_graph *graph, uint32_t base,
                             uint32_t depth) {
    sc_ctx *ctx = env->ctx;
    sc_arena arena;
    uint32_t repeated = 0;
    sc_writer w = {.ctx = ctx,
                   .dispatch = env->dispatch,
                   .graph = graph,
                   .depth = depth,
                   .at = base,
                   .kind = SC_LEVEL_NONE};
    begin(&w, &arena);
    sc_imap_init(&w.values, &arena);
    w.level.t = &w.trace;
    w.level.repeated = &repeated;
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

// --- Calls that waited for a tangent -------------------------------------------------------------

static bool waited(const sc_node *node) {
    return !node->is_kept && sc_jvp_has_row(node->op) && sc_op_expansion(node->op);
}

static void take_apart(sc_writer *w, sc_node *node) {
    sc_x *args = sc_new_array(w->trace.arena, sc_x, node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++)
        args[i] = sc_functorch_level_lift(w, &node->args[i]).x;
    w->trace.before = node;
    w->trace.source = node;
    w->trace.meta = node->meta;
    sc_functorch_level_become(w, node, 0,
                              sc_trace_call(&w->trace, node->op, args, node->arg_count));
    if (w->trace.status == SC_OK) sc_node_erase(node);
}

static sc_status take_waiting_apart(const sc_functorch_env *env, sc_graph *graph) {
    sc_ctx *ctx = env->ctx;
    sc_arena arena;
    sc_writer w = {.ctx = ctx, .dispatch = env->dispatch, .graph = graph};
    begin(&w, &arena);
    sc_imap_init(&w.values, &arena);
    for (sc_node *node = graph->first, *next; node && w.trace.status == SC_OK; node = next) {
        next = node->next;
        sc_where_set_node(ctx, node);
        if (waited(node))
            take_apart(&w, node);
        else
            note(&w, node);
    }
    sc_arena_deinit(&arena);
    return w.trace.status;
}

// --- Graphs -------------------------------------------------------------------------------------

static sc_status write_graph(const sc_functorch_env *env, sc_graph *graph, uint32_t base);

// Bodies that stand in a level see none of its batches and tangents.
static sc_status write_bodies(const sc_functorch_env *env, sc_graph *graph, uint32_t base) {
    uint32_t at = base;
    for (sc_node *node = graph->first; node && graph->has_bodies; node = node->next) {
        at += sc_functorch_level_opens(node->op) != SC_LEVEL_NONE;
        at -= sc_functorch_level_closes(node->op) != SC_LEVEL_NONE;
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                SC_TRY(write_graph(env, node->args[i].graph, at));
    }
    return SC_OK;
}

static bool is_used(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->use_count) return true;
    return sc_node_has_effect(node);
}

// Erases nodes that expansions of waiting calls left unused, so that they get no tangents.
static void drop_unused(sc_graph *graph) {
    for (sc_node *node = graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (!is_used(node)) sc_node_erase(node);
    }
}

// In bodies torch.export drops the calls that open and close levels, as they have no results.
static sc_status refuse_alone(sc_ctx *ctx, const sc_graph *graph, const sc_node *node) {
    if (!graph->parent)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                       "%s outside of torch.vmap and torch.func.jvp is not supported",
                       node->op->name);
    return sc_fail(ctx, SC_ERR_UNSUPPORTED_OP,
                   "Call torch.vmap and torch.func.jvp outside of the body, or write what it "
                   "computes without them.",
                   "%s: torch.vmap and torch.func.jvp that begin in a body of control flow are "
                   "not supported, as torch.export does not save where they begin",
                   node->op->name);
}

// Erases the bookkeeping of levels that are written out: cuts between tensors and tangents, first
// uses of vmap, and unused nodes.
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
            return refuse_alone(ctx, graph, node);
        }
    }
    return SC_OK;
}

// Bodies nest as deep as importer and parser let them.
static sc_status write_graph(const sc_functorch_env *env, sc_graph *graph, uint32_t base) {
    uint32_t deepest = base;
    SC_TRY(survey(env->ctx, graph, base, &deepest));
    SC_TRY(write_bodies(env, graph, base));
    for (uint32_t depth = deepest; depth > base; depth--) {
        SC_TRY(write_depth(env, graph, base, depth));
        drop_unused(graph);
    }
    SC_TRY(take_waiting_apart(env, graph));
    return clear(env->ctx, graph);
}

static sc_status find_book(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (sc_op_has(node->op, SC_FUNCTORCH)) *(bool *)user = true;
    return SC_OK;
}

sc_status sc_functorch(const sc_functorch_env *env, sc_method *method) {
    sc_ctx *ctx = env->ctx;
    bool found = false;
    SC_TRY(sc_graphs_visit(ctx, method->graph, find_book, &found));
    if (!found) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = write_graph(env, method->graph, 0);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
