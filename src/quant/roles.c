// Roles of operators and values in quantization.
#include "quant/plan.h"

typedef enum shares { NOT, ONLY, EITHER } shares;

typedef struct role_row {
    uint8_t role, shares;
} role_row;

static const role_row ROWS[SC_OP_COUNT] = {
#define ROLE(op, role, shares) [SC_OP_##op] = {QUANT_##role, shares},
#include "quant/roles.def"
#undef ROLE
};

static const role_row *row_of(const sc_op *op) {
    const sc_op *base = op && sc_op_has(op, SC_INPLACE) ? op->functional : op;
    return base ? &ROWS[base->id] : &ROWS[SC_OP_FOREIGN];
}

quant_role sc_quant_role(const sc_op *op) { return (quant_role)row_of(op)->role; }

bool sc_quant_shares(const sc_op *op) {
    return row_of(op)->shares >= (sc_op_has(op, SC_INPLACE) ? EITHER : ONLY);
}

bool sc_quant_is_size(const sc_node *node) {
    return node->op && sc_op_has(node->op, SC_SYMBOLIC) && sc_op_has(node->op, SC_SHAPE_ONLY);
}

sc_node *sc_quant_only_user(const sc_value *value) {
    sc_node *user = value->first_use ? value->first_use->user : NULL;
    if (!user || !user->op) return NULL;
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user != user) return NULL;
    return user;
}

const sc_constant *sc_quant_constant(const sc_quant_plan *plan, const sc_value *value) {
    if (value->node || value->graph != plan->method->graph) return NULL;
    const sc_input_sig *sig = &plan->method->inputs.data[value->index];
    return sig->constant && !sc_map_find(&plan->written, sig->target) ? sig->constant : NULL;
}
