// Origins of nodes that were recorded before the first node of the source: sizes of inputs.
#include "trace/trace.h"

void sc_trace_claim_size(sc_trace *t, sc_dim dim) {
    const uint64_t *known = dim.expr ? sc_imap_find(&t->symbols, SC_PTR_KEY(dim.expr)) : NULL;
    const sc_value *value = known ? (const sc_value *)(uintptr_t)*known : NULL;
    if (value && value->node && !value->node->meta.origin) value->node->meta = t->meta;
}

static const sc_node *first_user(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        for (const sc_arg *use = node->outs[i]->first_use; use; use = use->next_use)
            if (use->user->op && use->user->meta.origin) return use->user;
    return NULL;
}

void sc_trace_adopt(sc_graph *graph) {
    for (sc_node *node = graph->last; node; node = node->prev) {
        const sc_node *user = node->meta.origin ? NULL : first_user(node);
        if (user) node->meta = user->meta;
    }
}
