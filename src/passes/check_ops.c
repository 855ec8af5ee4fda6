// Reports every operator that cannot be lowered, for the whole method at once: its name, the node
// of the source program, the user's own line, and what to do. It runs twice. After decomposition it
// finds operators that no table knows. Before emission it checks exactly the nodes that will run,
// and their dtypes. Operators of other libraries are no fault before emission: a pass, a backend or
// a kernel of the user's own may take them. Those that cannot be written are reported with others.
#include "base/hash.h"
#include "ops/infer.h"
#include "ops/library.h"
#include "passes/passes.h"
#include "trace/expand.h"

#define UNKNOWN     "is not supported"
#define PTE_ONLY    "is an instruction of .pte files, not an operator of programs"
#define NO_OPERATOR "cannot be executed: the runtime has no such operator"
#define NO_KERNEL \
    "cannot be executed: neither this runtime nor the official one has a kernel for it"

// Why a node cannot be lowered: SC_OK if it can. Texts live in the scratch arena.
typedef struct fault {
    sc_status status;
    const char *what;
    const char *hint;  // NULL: the operator, or the status, has a hint of its own
} fault;
typedef fault (*fault_fn)(sc_ctx *ctx, const sc_node *node);

static const char *foreign_lack(const sc_op *op) {
    if (sc_op_may_be_own(op)) return NULL;
    return sc_op_has(op, SC_REFUSED) ? ((const sc_refused_op *)op)->what : UNKNOWN;
}

// Control flow becomes jumps; every other operator needs a name that runtimes know and a kernel in
// one of them. Emission warns of operators that one of the two runtimes lacks.
static const char *lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_FOREIGN)) return foreign_lack(op);
    if (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE)) return NULL;
    if (!op->out_name) return NO_OPERATOR;
    return !sc_op_has(op, SC_RUNS) && sc_op_has(op, SC_UNOFFICIAL) ? NO_KERNEL : NULL;
}

// The same for a decomposed graph, where views are not copies yet. Operators that write or have an
// expansion, and are still here, were refused, and so were the marks of vmap and jvp.
static const char *core_lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_PTE_ONLY)) return PTE_ONLY;
    if (sc_op_has(op, SC_ASSERTION) || sc_op_has(op, SC_MUTATES) || sc_op_has(op, SC_FUNCTORCH) ||
        sc_op_expansion(op))
        return NULL;
    return lack_of(sc_op_called(op));
}

static fault of_operator(const char *what) {
    return (fault){.status = what ? SC_ERR_UNSUPPORTED_OP : SC_OK, .what = what};
}

static fault unknown(sc_ctx *ctx, const sc_node *node) {
    (void)ctx;
    return of_operator(sc_op_has(node->op, SC_FOREIGN) ? foreign_lack(node->op) : NULL);
}

static fault core_lack(sc_ctx *ctx, const sc_node *node) {
    (void)ctx;
    if (node->is_kept) return of_operator(NULL);
    if (!sc_op_has(node->op, SC_SYMBOLIC)) return of_operator(core_lack_of(node->op));
    return of_operator(sc_node_has_primitives(node) ? NULL : NO_OPERATOR);
}

// A kernel exists, but maybe not for these dtypes.
static fault of_dtypes(sc_ctx *ctx, const sc_node *node) {
    sc_arena *arena = ctx->scratch;
    fault c = {.status = SC_OK};
    sc_iarg *args = NULL;
    sc_infer call = {.ctx = ctx, .arena = arena, .op = node->op, .arg_count = node->arg_count};
    if (!node->op->takes || sc_node_infer_args(arena, node, &args) != SC_OK) return c;
    call.args = args;
    sc_iout *outs = sc_infer_outs(&call, node->out_count);
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type == SC_VALUE_TENSOR)
            outs[i] = (sc_iout){.kind = SC_IOUT_TENSOR, .spec = node->outs[i]->spec};
    const char *what;
    if (!sc_infer_lacks_kernel(&call, &what, &c.hint)) return c;
    c.status = SC_ERR_DTYPE;
    c.what = sc_str_format(arena, "cannot be executed: %s", what).data;
    return c;
}

static fault lack(sc_ctx *ctx, const sc_node *node) {
    const char *what = lack_of(node->op);
    return what ? of_operator(what) : of_dtypes(ctx, node);
}

// Operators with similar names do other things, so no other operator is suggested.
static const char *hint_for(const sc_op *op) {
    if (sc_op_has(op, SC_REFUSED)) return ((const sc_refused_op *)op)->hint;
    return sc_op_has(op, SC_FOREIGN) ? sc_op_foreign_hint(op) : sc_op_advice(op);
}

static void report(sc_ctx *ctx, const sc_node *node, fault c) {
    const char *hint = c.hint ? c.hint : hint_for(node->op);
    sc_where_set_node(ctx, node);
    if (node->meta.origin) ctx->where.node = sc_name_str(node->meta.origin);
    sc_report(ctx, SC_ERROR, c.status, hint, "%s %s", node->op->name, c.what);
}

// Does the method compute the node for more than an assertion, which is erased? Set as node->mark.
static bool is_needed(const sc_node *node) {
    if (sc_node_has_effect(node) && !sc_op_has(node->op, SC_ASSERTION)) return true;
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use)
            if (!use->user->op || use->user->mark) return true;
    return false;
}

enum { JUDGED = 256 };

typedef struct survey {
    fault_fn find;
    const sc_options *options;  // that may spare operators; NULL: they spare no operator
    sc_status status;           // of the first fault
    // Calls that were checked lately and found to be in order, by their keys. Most calls of a
    // program are alike.
    bool remembers;
    uint64_t fine[JUDGED];
} survey;

static uint64_t add_value(uint64_t key, const sc_value *value) {
    if (value->type != SC_VALUE_TENSOR) return key;
    const bool is_empty = sc_spec_is_empty(&value->spec);
    return sc_hash64_mix(key, value->spec.dtype + 1u + (is_empty ? 256 : 0));
}

// The key of calls that are judged alike: one operator, the same dtypes in the same places.
static uint64_t key_of(const sc_node *node) {
    uint64_t key = (uintptr_t)node->op;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const sc_arg *arg = &node->args[i];
        const bool is_list = arg->kind == SC_ARG_LIST;
        key = sc_hash64_mix(key, 1024 + i);
        for (uint32_t k = 0; k < (is_list ? arg->count : 1); k++) {
            const sc_arg *item = is_list ? &arg->items[k] : arg;
            if (item->kind == SC_ARG_VALUE) key = add_value(key, item->value);
            if (item->kind == SC_ARG_BOOL) key = sc_hash64_mix(key, item->b);
        }
    }
    for (uint32_t i = 0; i < node->out_count; i++) key = add_value(key, node->outs[i]);
    return key;
}

static bool is_spared(const sc_options *options, const sc_op *op) {
    return options && (!options->check_ir_validity ||
                       sc_option_names_have(&options->core_aten_ops_exception_list, op->name));
}

// Reports marked nodes, or only returns whether there are any.
static bool look(sc_ctx *ctx, survey *s, const sc_graph *graph, bool reports) {
    bool found = false;
    for (const sc_node *node = graph->first; node && (reports || !found); node = node->next) {
        const uint64_t key = s->remembers ? key_of(node) : 0;
        if (is_spared(s->options, node->op) || (reports && !node->mark) ||
            (key && s->fine[key % JUDGED] == key))
            continue;
        sc_mark mark = sc_arena_mark(ctx->scratch);
        fault c = s->find(ctx, node);
        if (c.status == SC_OK) s->fine[key % JUDGED] = key;
        found = found || c.status != SC_OK;
        if (reports && c.status != SC_OK) {
            if (s->status == SC_OK) s->status = c.status;
            report(ctx, node, c);
        }
        sc_arena_rewind(ctx->scratch, mark);
    }
    return found;
}

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *s = user;
    if (!look(ctx, s, graph, false)) return SC_OK;
    for (sc_node *node = graph->last; node; node = node->prev) node->mark = is_needed(node);
    look(ctx, s, graph, true);
    return SC_OK;
}

static sc_status check(sc_ctx *ctx, sc_graph *graph, fault_fn find, const sc_options *options) {
    survey s = {.find = find, .options = options, .status = SC_OK, .remembers = find == lack};
    SC_TRY(sc_graphs_visit(ctx, graph, check_graph, &s));
    return s.status;
}

// --- Before the edge dialect ---------------------------------------------------------------------

// Calls that cannot enter the edge dialect.
typedef struct obstacles {
    fault_fn find;
    const sc_options *options;
    bool is_any;
} obstacles;

static sc_status find_obstacle(sc_ctx *ctx, sc_graph *graph, void *user) {
    obstacles *o = user;
    for (const sc_node *node = graph->first; node && !o->is_any; node = node->next) {
        const sc_mark mark = sc_arena_mark(ctx->scratch);
        o->is_any = !sc_op_is_elsewhere(node->op) && !is_spared(o->options, node->op) &&
                    o->find(ctx, node).status != SC_OK;
        sc_arena_rewind(ctx->scratch, mark);
    }
    return SC_OK;
}

// If the program fails, operators of other libraries are reported, too.
static sc_status check_early(sc_ctx *ctx, sc_graph *graph, fault_fn find,
                             const sc_options *options) {
    obstacles o = {.find = find, .options = options};
    SC_TRY(sc_graphs_visit(ctx, graph, find_obstacle, &o));
    return o.is_any || ctx->error_count ? check(ctx, graph, find, options) : SC_OK;
}

sc_status sc_check_known_ops(sc_ctx *ctx, sc_graph *graph, const sc_options *options) {
    return check_early(ctx, graph, unknown, options);
}

sc_status sc_check_core_ops(sc_ctx *ctx, sc_graph *graph, const sc_options *options) {
    return check_early(ctx, graph, core_lack, options);
}

// --- Before emission -----------------------------------------------------------------------------

sc_status sc_pass_check_kernels(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method->graph, lack, NULL);
}
