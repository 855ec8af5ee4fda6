// Consequences of a change: types propagate downstream, and operands must stand before their uses.
#include "api/edit/edit.h"

// --- Inference goes on downstream ----------------------------------------------------------------

static bool same_value(const sc_value *value, const sc_value *before) {
    if (value->type != before->type || value->has_dim != before->has_dim) return false;
    if (value->has_dim && !sc_dim_equal(value->dim, before->dim)) return false;
    return value->type != SC_VALUE_TENSOR || sc_spec_equal(&value->spec, &before->spec);
}

typedef struct propagation {
    sc_ctx *ctx;
    sc_arena arena;   // arena of the map, which grows while inference uses the scratch memory
    sc_imap changed;  // nodes with an operand whose type has changed
    uint32_t left;    // the number of them that have not been inferred again
    bool is_lenient;  // a node that inference refuses keeps its results, unless it has bodies
    bool is_undoing;  // operands become what they were, so that nodes with bodies agree again
    sc_edit *edit;
    sc_json_writer *w;  // receives changed nodes; NULL: the caller does not need them
} propagation;

static void note_node(propagation *s, const sc_node *node) {
    if (node->op) s->left += sc_imap_add(&s->changed, SC_PTR_KEY(node), 1);
}

static void note_users(propagation *s, const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use) note_node(s, use->user);
}

// A copy of the node's results, on scratch memory.
static sc_value *results_of(const propagation *s, const sc_node *node) {
    sc_value *results = sc_new_array(s->ctx->scratch, sc_value, node->out_count + 1);
    for (uint32_t i = 0; i < node->out_count; i++) results[i] = *node->outs[i];
    return results;
}

// Infers a node again, and returns whether the type of a result has changed.
static sc_status infer_again(propagation *s, sc_node *node) {
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) {
        if (s->is_undoing) return SC_OK;
        sc_where_set_node(s->ctx, node);
        const char *hint = sc_node_part(node)
                               ? "Run the pass before delegation."
                               : "Keep the dtypes and sizes of its operands; change its bodies "
                                 "instead.";
        return sc_fail(s->ctx, SC_ERR_UNSUPPORTED, hint,
                       "an operand of %s (%s) would have another type", node->name->text,
                       node->op->name);
    }
    const sc_value *before = results_of(s, node);
    SC_TRY(sc_edit_infer(node));
    for (uint32_t i = 0; i < node->out_count; i++)
        if (!same_value(node->outs[i], &before[i])) note_users(s, node->outs[i]);
    return SC_OK;
}

static sc_status infer_or_keep(propagation *s, sc_node *node) {
    const sc_diag_mark mark = sc_diags_mark(s->ctx);
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return infer_again(s, node);
    sc_value *before = results_of(s, node);
    if (infer_again(s, node) == SC_OK) return SC_OK;
    sc_diags_rewind(s->ctx, mark);
    sc_vec_push(&s->edit->arena, &s->edit->doubtful, sc_edit_node_number(s->edit, node));
    for (uint32_t i = 0; i < node->out_count; i++) {
        node->outs[i]->type = before[i].type;
        node->outs[i]->spec = before[i].spec;
        node->outs[i]->has_dim = before[i].has_dim;
        node->outs[i]->dim = before[i].dim;
    }
    return SC_OK;
}

// Users come after their operands, so one walk reaches all of them.
static sc_status propagate(propagation *s, sc_node *from) {
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

static void begin_propagation(propagation *s, sc_edit *edit, sc_json_writer *w) {
    *s = (propagation){.ctx = &edit->job->ctx, .edit = edit, .w = w};
    sc_arena_init(&s->arena);
    sc_imap_init(&s->changed, &s->arena);
    if (w) sc_json_put_array(w, "nodes");
}

// --- Order ---------------------------------------------------------------------------------------

sc_status sc_edit_check_order(sc_edit *edit, const sc_value *value, const sc_node *node) {
    if (sc_edit_is_defined_before(edit, value, node)) return SC_OK;
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

// Would a node infer the same results from both?
static bool same_arg(const sc_arg *a, const sc_arg *b) {
    if (a->kind == SC_ARG_VALUE && b->kind == SC_ARG_VALUE) return same_value(a->value, b->value);
    if (a->kind != SC_ARG_LIST || b->kind != SC_ARG_LIST) return sc_arg_equal(a, b);
    bool is_same = a->count == b->count;
    for (uint32_t i = 0; is_same && i < a->count; i++)
        is_same = same_arg(&a->items[i], &b->items[i]);
    return is_same;
}

static sc_arg copy_of(sc_arena *arena, sc_arg arg) {
    if (arg.kind != SC_ARG_LIST) return arg;
    sc_arg *items = sc_new_array(arena, sc_arg, arg.count ? arg.count : 1);
    for (uint32_t i = 0; i < arg.count; i++) items[i] = arg.items[i];
    return sc_arg_list(items, arg.count);
}

// Gives arguments their former contents, and all nodes behind them the types that follow.
static void undo(sc_edit *edit, sc_arg *const *slots, const sc_arg *before, uint32_t count,
                 sc_node *first) {
    const sc_diag_mark mark = sc_diags_mark(&edit->job->ctx);
    const sc_where where = edit->job->ctx.where;
    propagation s;
    begin_propagation(&s, edit, NULL);
    s.is_undoing = true;
    for (uint32_t i = 0; i < count; i++) {
        sc_arg_set(slots[i], before[i]);
        note_node(&s, slots[i]->user);
    }
    edit->is_broken |= propagate(&s, first) != SC_OK;
    sc_diags_rewind(&edit->job->ctx, mark);
    edit->job->ctx.where = where;
}

sc_status sc_edit_exchange(sc_edit *edit, sc_arg *const *slots, uint32_t count, sc_arg to,
                           sc_json_writer *w) {
    propagation s;
    sc_node *first = NULL;  // position of the users
    const sc_graph *returns = NULL;
    sc_arg *before = sc_new_array(edit->job->ctx.scratch, sc_arg, count + 1);
    begin_propagation(&s, edit, w);
    for (uint32_t i = 0; i < count; i++) {
        sc_node *user = slots[i]->user;
        const bool is_same = same_arg(slots[i], &to);
        before[i] = copy_of(edit->job->ctx.scratch, *slots[i]);
        sc_arg_set(slots[i], to);
        if (!user->op) returns = user->graph;
        if (!is_same) note_node(&s, user);
        if (is_same && user->op && w) sc_edit_add_node(edit, w, user);
        if (user->op && (!first || sc_edit_precedes(edit, user, first))) first = user;
    }
    const sc_status status = propagate(&s, first);
    if (status != SC_OK) undo(edit, slots, before, count, first);
    SC_TRY(status);
    if (!w) return SC_OK;
    sc_json_end_array(w);
    if (returns) sc_edit_put_outputs(edit, w, returns);
    return SC_OK;
}

static sc_status set_dtype(sc_edit *edit, sc_value *value, uint8_t dtype, bool is_undoing,
                           sc_json_writer *w) {
    propagation s;
    value->spec.dtype = dtype;
    begin_propagation(&s, edit, w);
    s.is_lenient = true;
    s.is_undoing = is_undoing;
    note_users(&s, value);
    return propagate(&s, value->graph->first);
}

sc_status sc_edit_change_dtype(sc_edit *edit, sc_value *value, sc_dtype dtype, sc_json_writer *w) {
    sc_ctx *ctx = &edit->job->ctx;
    const uint8_t before = value->spec.dtype;
    const sc_status status = set_dtype(edit, value, (uint8_t)dtype, false, w);
    if (status == SC_OK) {
        sc_json_end_array(w);
        return SC_OK;
    }
    const sc_diag_mark mark = sc_diags_mark(ctx);
    const sc_where where = ctx->where;
    edit->is_broken |= set_dtype(edit, value, before, true, NULL) != SC_OK;
    sc_diags_rewind(ctx, mark);
    ctx->where = where;
    return status;
}

sc_status sc_edit_replace_uses(sc_edit *edit, sc_value *from, sc_value *to, sc_json_writer *w) {
    SC_VEC(sc_arg *) slots = {0};
    for (sc_arg *use = from->first_use; use; use = use->next_use) {
        if (use->user == to->node) continue;
        SC_TRY(sc_edit_check_order(edit, to, use->user));
        sc_vec_push(edit->job->ctx.scratch, &slots, use);
    }
    return sc_edit_exchange(edit, slots.data, slots.count, sc_arg_value(to), w);
}
