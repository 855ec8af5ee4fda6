// Values that are written in place. A probe stands right after the value that it observes, and
// readers of the value read a dequantized copy from then on. That is right only if they need not
// see a later write, and if no other reader has to see a write to the copy. PT2E does not check
// this.
#include "quant/plan.h"

static sc_value *first_operand(const sc_node *node) {
    const sc_arg *arg = node->arg_count ? &node->args[0] : NULL;
    return arg && arg->kind == SC_ARG_VALUE ? arg->value : NULL;
}

bool sc_quant_may_alias(const sc_op *op) {
    if (sc_op_has(op, SC_VIEW | SC_HANDS_ON | SC_RESHAPES | SC_MUTATES | SC_FOREIGN)) return true;
    if (sc_op_may_return_alias(op)) return true;
    return sc_quant_shares(op) && !sc_op_has(op, SC_POINTWISE);
}

static bool others_are_done(const sc_value *value, const sc_node *node) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        const sc_node *user = use->user;
        if (user == node) continue;
        if (!user->op || user->mark > node->mark || sc_quant_may_alias(user->op)) return false;
    }
    return true;
}

// Called in the order of the graph: a chain of writes is as good as its first value. State that is
// written stays the original, which is not observed there.
static bool may_write(const sc_node *node) {
    const sc_value *value = first_operand(node);
    if (!value) return false;
    if (!value->node) return value->graph->method->inputs.data[value->index].constant != NULL;
    if (!others_are_done(value, node)) return false;
    if (sc_op_has(value->node->op, SC_MUTATES)) return !(value->mark & QUANT_SHOWN);
    return !sc_quant_may_alias(value->node->op);
}

// Keeps the writer on the original, so that the original is written.
static void keep_original(const sc_node *writer) {
    sc_value *value = first_operand(writer);
    while (value && !(value->mark & QUANT_KEPT)) {
        value->mark |= QUANT_KEPT;
        const sc_node *node = value->node;
        value = node && sc_quant_may_alias(node->op) ? first_operand(node) : NULL;
    }
}

// The tensor that a value shows, and the position of the last write to it.
typedef struct storages {
    sc_imap root;   // value -> value
    sc_imap write;  // root -> position
} storages;

static const sc_value *root_of(const storages *s, const sc_value *value) {
    const uint64_t *root = sc_imap_find(&s->root, SC_PTR_KEY(value));
    return root ? (const sc_value *)(uintptr_t)*root : value;
}

typedef struct reading {
    const storages *s;
    bool is_stale;
} reading;

static bool look(void *user, sc_arg *arg) {
    reading *r = user;
    const uint64_t *write = sc_imap_find(&r->s->write, SC_PTR_KEY(root_of(r->s, arg->value)));
    const uint32_t made = arg->value->node ? arg->value->node->mark : 0;
    if (write && *write > made) r->is_stale = true;
    return true;
}

static void mark_node(storages *s, sc_node *node) {
    const sc_value *x = first_operand(node);
    reading r = {.s = s};
    (void)sc_node_visit_values(node, look, &r);
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (r.is_stale) node->outs[i]->mark |= QUANT_STALE;
        if (x && sc_quant_may_alias(node->op))
            sc_imap_set(&s->root, SC_PTR_KEY(node->outs[i]), SC_PTR_KEY(root_of(s, x)));
    }
    if (!x || !sc_op_has(node->op, SC_MUTATES)) return;
    sc_imap_set(&s->write, SC_PTR_KEY(root_of(s, x)), node->mark);
    const bool is_safe = may_write(node);
    for (uint32_t i = 0; i < node->out_count && (!is_safe || !x->node); i++)
        node->outs[i]->mark |= QUANT_SHOWN;
    if (!is_safe) keep_original(node);
}

void sc_quant_mark_writes(sc_quant_plan *plan) {
    const sc_mark mark = sc_arena_mark(plan->ctx->scratch);
    storages s;
    sc_imap_init(&s.root, plan->ctx->scratch);
    sc_imap_init(&s.write, plan->ctx->scratch);
    for (sc_node *node = plan->method->graph->first; node; node = node->next) mark_node(&s, node);
    sc_arena_rewind(plan->ctx->scratch, mark);
}

bool sc_quant_refuse_write(sc_quant_plan *plan, const sc_node *node) {
    const bool writes = sc_op_has(node->op, SC_MUTATES);
    const sc_value *x = writes ? first_operand(node) : NULL;
    const char *why = NULL;
    if (writes && (node->outs[0]->mark & QUANT_SHOWN) && !(x && !x->node && may_write(node)))
        why = "it writes in place to a value that other nodes read";
    else if (node->outs[0]->mark & QUANT_KEPT)
        why = "its result is written in place";
    else if (node->outs[0]->mark & QUANT_STALE)
        why = "it reads a value that was written in place since it was made";
    if (why) sc_quant_why_not(plan, node, "%s", why);
    return why != NULL;
}
