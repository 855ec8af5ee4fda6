// The graphs of a record: their list, their nodes with the user's own lines, the relations between
// stages, and the nodes that went to backends.
#include <stdlib.h>

#include "api/inspect/inspector.h"
#include "api/inspect/signature.h"
#include "backend/node_json.h"
#include "ir/part.h"
#include "ir/print.h"

// --- Stages --------------------------------------------------------------------------------------

typedef struct counting {
    sc_map ops;
    uint64_t nodes;
} counting;

static sc_status count_nodes(sc_ctx *ctx, sc_graph *graph, void *user) {
    counting *c = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_str name = sc_str_from(node->op->name);
        const uintptr_t seen = (uintptr_t)sc_map_get(&c->ops, name);
        sc_map_set(&c->ops, name, (void *)(seen + 1));
        c->nodes++;
    }
    return SC_OK;
}

uint64_t sc_stage_count(const sc_etrecord_program *p) {
    sc_ctx *ctx = p->method->program->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    counting c = {.nodes = 0};
    sc_map_init(&c.ops, ctx->scratch);
    (void)sc_graphs_visit(ctx, p->method->graph, count_nodes, &c);
    sc_arena_rewind(ctx->scratch, mark);
    return c.nodes;
}

static void put_stage(sc_json_writer *w, const sc_etrecord_program *p) {
    sc_ctx *ctx = p->method->program->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    counting c = {.nodes = 0};
    sc_map_init(&c.ops, ctx->scratch);
    const bool is_whole = sc_graphs_visit(ctx, p->method->graph, count_nodes, &c) == SC_OK;
    sc_json_begin_object(w);
    sc_json_put_str(w, "stage", p->stage);
    sc_json_put_str(w, "method", p->method_name);
    sc_json_put_u64(w, "nodes", is_whole ? c.nodes : 0);
    sc_method_put_signature(w, ctx->scratch, p->method);
    sc_json_put_object(w, "ops");
    for (uint32_t i = 0; i < c.ops.count; i++) {
        sc_json_key_str(w, c.ops.entries[i].key);
        sc_json_add_u64(w, (uintptr_t)c.ops.entries[i].value);
    }
    sc_json_end_object(w);
    sc_json_put_bool(w, "hasWeights", p->has_weights);
    sc_json_end_object(w);
    sc_arena_rewind(ctx->scratch, mark);
}

void sc_inspector_put_stages(sc_json_writer *w, const sc_inspector *inspector) {
    const sc_etrecord_program *p;
    sc_json_put_array(w, "stages");
    for (uint32_t i = 0; (p = sc_inspector_program_at(inspector, i)); i++) put_stage(w, p);
    sc_json_end_array(w);
}

// --- Nodes ---------------------------------------------------------------------------------------

typedef SC_VEC(const sc_node *) node_list;

static sc_status list_nodes(sc_ctx *ctx, sc_graph *graph, void *user) {
    node_list *list = user;
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_vec_push(ctx->arena, list, node);
    return SC_OK;
}

static void put_node(sc_json_writer *w, sc_arena *scratch, const sc_node *node) {
    sc_json_begin_object(w);
    sc_node_put_json(w, scratch, node);
    sc_json_put_str(w, "stackTrace", node->meta.stack_trace);
    sc_json_end_object(w);
}

typedef struct putting {
    sc_json_writer *w;
    sc_stage_put_node put;
} putting;

static sc_status put_graph_nodes(sc_ctx *ctx, sc_graph *graph, void *user) {
    const putting *p = user;
    for (const sc_node *node = graph->first; node; node = node->next)
        p->put(p->w, ctx->scratch, node);
    return SC_OK;
}

sc_status sc_stage_put_nodes(const sc_etrecord_program *p, sc_json_writer *w,
                             sc_stage_put_node put) {
    putting all = {w, put};
    sc_json_begin_array(w);
    SC_TRY(sc_graphs_visit(p->method->program->ctx, p->method->graph, put_graph_nodes, &all));
    sc_json_end_array(w);
    return SC_OK;
}

void sc_stage_put_text(const sc_etrecord_program *p, sc_sb *out) {
    sc_graph_print(out, p->method->graph, (sc_print_options){.signature = true});
}

sc_status sc_inspector_put_nodes(sc_ctx *ctx, const sc_inspector *inspector,
                                 const sc_inspector_query_args *args, sc_json_writer *w) {
    const sc_etrecord_program *p;
    SC_TRY(sc_inspector_stage(ctx, inspector, args->stage, args->method, &p));
    return sc_stage_put_nodes(p, w, put_node);
}

sc_status sc_inspector_put_text(sc_ctx *ctx, const sc_inspector *inspector,
                                const sc_inspector_query_args *args, sc_sb *out) {
    const sc_etrecord_program *p;
    SC_TRY(sc_inspector_stage(ctx, inspector, args->stage, args->method, &p));
    sc_stage_put_text(p, out);
    return SC_OK;
}

// --- Differences ---------------------------------------------------------------------------------

// Names the node of the exported program: names stay if the operator was not decomposed.
static sc_str origin_of(const sc_node *node) {
    return sc_name_str(node->meta.origin ? node->meta.origin : node->name);
}

// A run of nodes with one origin. Both stages have such a run.
typedef struct origin_group {
    node_list sides[2];
} origin_group;

typedef struct diffing {
    sc_ctx *ctx;
    sc_map groups;
    uint64_t counts[4];
} diffing;

static const char *const KINDS[] = {"same", "changed", "removed", "added"};

static origin_group *group_of(diffing *d, const sc_node *node) {
    const sc_str origin = origin_of(node);
    origin_group *group = sc_map_get(&d->groups, origin);
    if (group) return group;
    group = sc_new(d->ctx->arena, origin_group);
    sc_map_set(&d->groups, origin, group);
    return group;
}

static bool same_operands(const sc_node *a, const sc_node *b) {
    if (a->op != b->op || a->arg_count != b->arg_count) return false;
    for (uint32_t i = 0; i < a->arg_count; i++) {
        const sc_arg *x = &a->args[i], *y = &b->args[i];
        if (x->kind != y->kind) return false;
        const bool refers = x->kind == SC_ARG_VALUE || x->kind == SC_ARG_LIST ||
                            x->kind == SC_ARG_GRAPH || x->kind == SC_ARG_PART;
        if (!refers && !sc_arg_equal(x, y)) return false;
    }
    return true;
}

static void put_row(diffing *d, sc_json_writer *w, const sc_node *a, const sc_node *b) {
    const uint32_t kind = !b ? 2 : !a ? 3 : same_operands(a, b) ? 0 : 1;
    const sc_node *const sides[] = {a, b};
    static const char *const KEYS[] = {"a", "b"};
    d->counts[kind]++;
    sc_json_begin_object(w);
    sc_json_put_text(w, "kind", KINDS[kind]);
    for (uint32_t i = 0; i < 2; i++) {
        sc_json_key(w, KEYS[i]);
        if (sides[i])
            put_node(w, d->ctx->scratch, sides[i]);
        else
            sc_json_add_null(w);
    }
    sc_json_end_object(w);
}

// A node that kept its operator is paired with the node of that operator. The others are paired in
// order.
static void put_group(diffing *d, sc_json_writer *w, const origin_group *g) {
    const node_list *a = &g->sides[0], *b = &g->sides[1];
    uint32_t next = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t at = next;
        while (at < b->count && b->data[at]->op != a->data[i]->op) at++;
        const bool is_kept = at < b->count;
        const bool is_last_pair = i + 1 == a->count && next < b->count;
        if (is_kept)
            while (next < at) put_row(d, w, NULL, b->data[next++]);
        else if (is_last_pair)
            at = next;
        put_row(d, w, a->data[i], is_kept || is_last_pair ? b->data[at] : NULL);
        if (is_kept || is_last_pair) next = at + 1;
    }
    while (next < b->count) put_row(d, w, NULL, b->data[next++]);
}

sc_status sc_inspector_put_diff(sc_ctx *ctx, const sc_inspector *inspector,
                                const sc_inspector_query_args *args, sc_json_writer *w) {
    const sc_etrecord_program *stages[2];
    diffing d = {.ctx = ctx};
    sc_map_init(&d.groups, ctx->arena);
    SC_TRY(sc_inspector_stage(ctx, inspector, args->from, args->method, &stages[0]));
    SC_TRY(sc_inspector_stage(ctx, inspector, args->to,
                              args->method.size ? args->method : (sc_str){0}, &stages[1]));
    for (uint32_t side = 0; side < 2; side++) {
        node_list list = {0};
        SC_TRY(sc_graphs_visit(ctx, stages[side]->method->graph, list_nodes, &list));
        for (uint32_t i = 0; i < list.count; i++)
            sc_vec_push(ctx->arena, &group_of(&d, list.data[i])->sides[side], list.data[i]);
    }
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", stages[1]->method_name);
    sc_json_put_str(w, "from", args->from);
    sc_json_put_str(w, "to", args->to);
    sc_json_put_array(w, "rows");
    for (uint32_t i = 0; i < d.groups.count; i++) put_group(&d, w, d.groups.entries[i].value);
    sc_json_end_array(w);
    for (uint32_t i = 0; i < SC_COUNT_OF(KINDS); i++) sc_json_put_u64(w, KINDS[i], d.counts[i]);
    sc_json_end_object(w);
    return SC_OK;
}

// --- Delegation ----------------------------------------------------------------------------------

typedef struct op_count {
    sc_str op;
    uint64_t delegated, others;
} op_count;

static int by_op(const void *a, const void *b) {
    return sc_str_compare(((const op_count *)a)->op, ((const op_count *)b)->op);
}

static void put_delegates(sc_json_writer *w, const sc_inspect_method *m, sc_imap *delegated) {
    sc_json_put_array(w, "delegates");
    for (uint32_t i = 0; i < m->instruction_count; i++) {
        const sc_inspect_instruction *at = &m->instructions[i];
        if (!at->is_delegate) continue;
        sc_json_begin_object(w);
        sc_json_put_u64(w, "instruction", (uint64_t)at->index);
        sc_json_put_str(w, "backend", at->backend);
        sc_inspect_put_handles(w, "handles", at->handles);
        sc_json_put_array(w, "nodes");
        for (uint32_t h = 0; h < at->handles.count; h++) {
            const sc_inspect_node *n = NULL;
            sc_imap_set(delegated, (uint64_t)at->handles.data[h], 1);
            while ((n = sc_inspect_node_of(m, at->handles.data[h], n))) sc_json_add_str(w, n->name);
        }
        sc_json_end_array(w);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void put_counts(sc_ctx *ctx, sc_json_writer *w, const sc_inspect_method *m,
                       const sc_imap *delegated) {
    op_count *rows = sc_new_array(ctx->scratch, op_count, (size_t)m->node_count + 1);
    uint64_t inside = 0;
    uint32_t count = 0;
    sc_map known;
    sc_map_init(&known, ctx->scratch);
    for (uint32_t i = 0; i < m->node_count; i++) {
        const sc_inspect_node *n = &m->nodes[i];
        op_count *row = sc_map_get(&known, n->op);
        if (!row) {
            row = &rows[count++];
            row->op = n->op;
            sc_map_set(&known, n->op, row);
        }
        const bool is_inside = sc_imap_find(delegated, (uint64_t)n->handle);
        inside += is_inside;
        *(is_inside ? &row->delegated : &row->others) += 1;
    }
    if (count) qsort(rows, count, sizeof *rows, by_op);
    sc_json_put_u64(w, "delegatedNodes", inside);
    sc_json_put_u64(w, "nonDelegatedNodes", m->node_count - inside);
    sc_json_put_array(w, "rows");
    for (uint32_t i = 0; i < count; i++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "op", rows[i].op);
        sc_json_put_u64(w, "delegated", rows[i].delegated);
        sc_json_put_u64(w, "nonDelegated", rows[i].others);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static uint64_t count_delegates(const sc_inspect_method *m) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < m->instruction_count; i++) count += m->instructions[i].is_delegate;
    return count;
}

sc_status sc_inspector_put_delegation(sc_ctx *ctx, const sc_inspector *inspector,
                                      sc_json_writer *w) {
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < inspector->method_count; i++) {
        const sc_inspect_method *m = &inspector->methods[i];
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_imap delegated;
        sc_imap_init(&delegated, ctx->scratch);
        sc_json_begin_object(w);
        sc_json_put_str(w, "method", m->name);
        sc_json_put_u64(w, "delegatedSubgraphs", count_delegates(m));
        put_delegates(w, m, &delegated);
        put_counts(ctx, w, m, &delegated);
        sc_json_end_object(w);
        sc_arena_rewind(ctx->scratch, mark);
    }
    sc_json_end_array(w);
    return SC_OK;
}
