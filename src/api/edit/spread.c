// Consequences of a change: types propagate downstream, and operands must stand before their uses.
#include "api/edit/edit.h"
#include "trace/kept.h"

// --- Inference goes on downstream ----------------------------------------------------------------

static bool is_composite(const sc_op *op) { return !op->infer && !sc_op_has(op, SC_HIGHER_ORDER); }

static bool same_value(const sc_value *value, const sc_value *before) {
    if (value->type != before->type || value->has_dim != before->has_dim) return false;
    if (value->has_dim && !sc_dim_equal(value->dim, before->dim)) return false;
    return value->type != SC_VALUE_TENSOR || sc_spec_equal(&value->spec, &before->spec);
}

static sc_status infer(sc_node *node) {
    return is_composite(node->op) ? sc_kept_infer(node) : sc_node_infer(node);
}

typedef struct spreading {
    sc_ctx *ctx;
    sc_arena arena;   // arena of the map, which grows while inference uses the scratch memory
    sc_imap changed;  // nodes with an operand whose type has changed
    uint32_t left;    // the number of them that have not been inferred again
    bool is_lenient;  // a node that inference refuses keeps its results, unless it has bodies
    sc_edit *edit;
    sc_json_writer *w;  // receives changed nodes; NULL: the caller does not need them
} spreading;

static void note_node(spreading *s, const sc_node *node) {
    if (node->op) s->left += sc_imap_add(&s->changed, SC_PTR_KEY(node), 1);
}

static void note_users(spreading *s, const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use) note_node(s, use->user);
}

// A copy of the node's results, on scratch memory.
static sc_value *results_of(const spreading *s, const sc_node *node) {
    sc_value *results = sc_new_array(s->ctx->scratch, sc_value, node->out_count + 1);
    for (uint32_t i = 0; i < node->out_count; i++) results[i] = *node->outs[i];
    return results;
}

// Infers a node again, and returns whether the type of a result has changed.
static sc_status infer_again(spreading *s, sc_node *node) {
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) {
        s->edit->is_broken = true;
        sc_where_set_node(s->ctx, node);
        return sc_fail(s->ctx, SC_ERR_UNSUPPORTED,
                       "Keep the dtypes and sizes of its operands; change its bodies instead.",
                       "an operand of %s (%s) would have another type", node->name->text,
                       node->op->name);
    }
    const sc_value *before = results_of(s, node);
    SC_TRY(infer(node));
    for (uint32_t i = 0; i < node->out_count; i++)
        if (!same_value(node->outs[i], &before[i])) note_users(s, node->outs[i]);
    return SC_OK;
}

static sc_status infer_or_keep(spreading *s, sc_node *node) {
    const sc_diag_mark mark = sc_diags_mark(s->ctx);
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return infer_again(s, node);
    sc_value *before = results_of(s, node);
    if (infer_again(s, node) == SC_OK) return SC_OK;
    sc_diags_rewind(s->ctx, mark);
    for (uint32_t i = 0; i < node->out_count; i++) {
        node->outs[i]->type = before[i].type;
        node->outs[i]->spec = before[i].spec;
        node->outs[i]->has_dim = before[i].has_dim;
        node->outs[i]->dim = before[i].dim;
    }
    return SC_OK;
}

// Users come after their operands, so one walk reaches all of them.
static sc_status spread(spreading *s, sc_node *from) {
    sc_status status = SC_OK;
    for (sc_node *node = from; node && s->left && status == SC_OK; node = node->next) {
        if (!sc_imap_find(&s->changed, SC_PTR_KEY(node))) continue;
        s->left--;
        sc_mark mark = sc_arena_mark(s->ctx->scratch);
        status = s->is_lenient ? infer_or_keep(s, node) : infer_again(s, node);
        sc_arena_rewind(s->ctx->scratch, mark);
        if (status == SC_OK && s->w) sc_edit_add_node(s->edit, s->w, node);
    }
    sc_arena_deinit(&s->arena);
    return status;
}

static void begin_spreading(spreading *s, sc_edit *edit, sc_json_writer *w) {
    *s = (spreading){.ctx = &edit->job->ctx, .edit = edit, .w = w};
    sc_arena_init(&s->arena);
    sc_imap_init(&s->changed, &s->arena);
    if (w) sc_json_put_array(w, "nodes");
}

// --- Order ---------------------------------------------------------------------------------------

sc_status sc_edit_check_order(sc_edit *edit, const sc_value *value, const sc_node *node) {
    if (sc_edit_comes_before(edit, value, node)) return SC_OK;
    return sc_fail(&edit->job->ctx, SC_ERR_ARGUMENT,
                   "Use values that the same graph makes before that node.",
                   "'%s' is not defined where '%s' would use it", value->name->text,
                   node->op ? node->name->text : "output");
}

sc_status sc_edit_check_arg_order(sc_edit *edit, const sc_arg *arg, const sc_node *node) {
    if (arg->kind == SC_ARG_VALUE) return sc_edit_check_order(edit, arg->value, node);
    for (uint32_t i = 0; arg->kind == SC_ARG_LIST && i < arg->count; i++)
        SC_TRY(sc_edit_check_arg_order(edit, &arg->items[i], node));
    return SC_OK;
}

// --- Changes that types follow ------------------------------------------------------------------

sc_status sc_edit_spread(sc_edit *edit, sc_node *user, sc_json_writer *w) {
    spreading s;
    begin_spreading(&s, edit, w);
    note_node(&s, user);
    SC_TRY(spread(&s, user));
    sc_json_end_array(w);
    if (!user->op) sc_edit_put_outputs(edit, w, user->graph);
    return SC_OK;
}

sc_status sc_edit_spread_uses(sc_edit *edit, sc_value *value, sc_json_writer *w) {
    spreading s;
    begin_spreading(&s, edit, w);
    s.is_lenient = true;
    note_users(&s, value);
    SC_TRY(spread(&s, value->graph->first));
    sc_json_end_array(w);
    return SC_OK;
}

sc_status sc_edit_redirect(sc_edit *edit, sc_value *from, sc_value *to, sc_json_writer *w) {
    spreading s;
    SC_VEC(sc_arg *) slots = {0};
    sc_ctx *ctx = &edit->job->ctx;
    for (sc_arg *use = from->first_use; use; use = use->next_use) {
        if (use->user == to->node) continue;
        SC_TRY(sc_edit_check_order(edit, to, use->user));
        sc_vec_push(ctx->scratch, &slots, use);
    }
    begin_spreading(&s, edit, w);
    const bool is_same = same_value(to, from);
    bool is_output = false;
    sc_node *first = NULL;  // position of the users
    for (uint32_t i = 0; i < slots.count; i++) {
        sc_node *user = slots.data[i]->user;
        sc_arg_set(slots.data[i], sc_arg_value(to));
        is_output = is_output || !user->op;
        if (!is_same) note_node(&s, user);
        if (is_same && user->op && w) sc_edit_add_node(edit, w, user);
        if (user->op && (!first || sc_edit_is_ahead(edit, user, first))) first = user;
    }
    SC_TRY(spread(&s, first));
    if (!w) return SC_OK;
    sc_json_end_array(w);
    if (is_output) sc_edit_put_outputs(edit, w, from->graph);
    return SC_OK;
}

// --- Calls ---------------------------------------------------------------------------------------

sc_status sc_edit_make_node(sc_graph *graph, sc_node *position, const sc_op *op, const sc_arg *args,
                            const sc_meta *meta, sc_node **out) {
    const uint32_t count = op->schema->param_count;
    return is_composite(op) ? sc_kept_build(graph, position, op, args, count, meta, out)
                            : sc_build(graph, position, op, args, count, meta, out);
}
