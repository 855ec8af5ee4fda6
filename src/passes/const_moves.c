// Permutations of constants happen when the file is written, not at every run. The constant's bytes
// become a source that gathers them in the new order. All uses of the constant must be the same
// permutation, so that no bytes are stored twice.
#include "ir/layout.h"
#include "ir/weights.h"
#include "passes/passes.h"

// The permutation that all users agree on; false if a user does something else.
static bool common_permutation(const sc_value *value, uint32_t *order) {
    uint32_t other[SC_RANK_MAX];
    const sc_graph *graph = value->graph;
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        uint32_t *into = use == value->first_use ? order : other;
        if (use->user == graph->ret || use != &use->user->args[0] ||
            !sc_node_permutation(use->user, into) || sc_value_is_returned(use->user->outs[0]))
            return false;
        if (into == other && memcmp(order, other, value->spec.rank * sizeof(*order)) != 0)
            return false;
    }
    return value->first_use != NULL;
}

static sc_constant *permuted(sc_ctx *ctx, sc_exprs *exprs, const sc_constant *old,
                             const uint32_t *order) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    sc_constant *constant = sc_new(ctx->arena, sc_constant);
    *constant = *old;
    constant->spec = sc_spec_new(ctx->arena, (sc_dtype)old->spec.dtype, old->spec.rank);
    constant->spec.requires_grad = old->spec.requires_grad;
    for (uint32_t i = 0; i < old->spec.rank; i++) {
        constant->spec.sizes[i] = old->spec.sizes[order[i]];
        sizes[i] = old->spec.sizes[order[i]].value;
        strides[i] = old->spec.strides[order[i]].value;
    }
    sc_spec_set_contiguous(exprs, &constant->spec);
    if (old->data.size > 0)
        constant->data =
            sc_extent_strided(ctx->arena, old->data, sc_dtype_bytes((sc_dtype)old->spec.dtype),
                              old->spec.rank, sizes, strides, 0);
    return constant;
}

// Buffers may be written, so only values that are certainly constant are moved. Weights in files of
// their own have their own names and layouts, because other programs read them.
static bool is_candidate(const sc_options *options, const sc_method *method,
                         const sc_input_sig *sig, const sc_value *value) {
    if (!sig->constant || sig->constant->lifted_scalar || sig->is_trained) return false;
    if (value->use_count == 0 || sc_constant_file(options, sig->constant).size) return false;
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->op && sc_op_has(use->user->op, SC_MUTATES)) return false;
    return sc_spec_is_contiguous(method->exprs, &sig->constant->spec);
}

static void absorb_users(sc_ctx *ctx, sc_value *value) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    SC_VEC(sc_node *) users = {0};
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        sc_vec_push(ctx->scratch, &users, use->user);
    for (uint32_t i = 0; i < users.count; i++) sc_node_replace(users.data[i], value);
    sc_arena_rewind(ctx->scratch, mark);
}

typedef struct plan {
    bool moves;
    uint32_t order[SC_RANK_MAX];
} plan;

// Tied weights are several constants with the same bytes. They move together or not at all, or the
// bytes would be stored in both orders.
static void keep_ties(sc_ctx *ctx, const sc_method *method, plan *plans) {
    sc_map first;
    uint64_t(*keys)[2] =
        sc_arena_alloc_array(ctx->scratch, sizeof(*keys), (size_t)method->inputs.count + 1);
    sc_map_init(&first, ctx->scratch);
    for (int round = 0; round < 2; round++) {  // the second round carries a veto back to the first
                                               // constant
        for (uint32_t i = 0; i < method->inputs.count; i++) {
            const sc_constant *constant = method->inputs.data[i].constant;
            if (!constant || constant->data.size == 0) continue;
            keys[i][0] = SC_PTR_KEY(constant->data.source);
            keys[i][1] = constant->data.offset;
            sc_str key = {(const char *)keys[i], sizeof(keys[i])};
            plan *other = sc_map_get(&first, key);
            if (!other) {
                sc_map_add(&first, key, &plans[i]);
                continue;
            }
            bool same = other->moves && plans[i].moves &&
                        memcmp(other->order, plans[i].order, sizeof(other->order)) == 0;
            other->moves = plans[i].moves = same;
        }
    }
}

sc_status sc_pass_const_moves(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    plan *plans = sc_new_array(ctx->scratch, plan, (size_t)method->inputs.count + 1);
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_value *value = method->graph->inputs.data[i];
        plans[i].moves = is_candidate(env->options, method, &method->inputs.data[i], value) &&
                         common_permutation(value, plans[i].order);
    }
    keep_ties(ctx, method, plans);
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_input_sig *sig = &method->inputs.data[i];
        sc_value *value = method->graph->inputs.data[i];
        if (!plans[i].moves) continue;
        sig->constant = permuted(ctx, method->exprs, sig->constant, plans[i].order);
        sig->target = sig->constant->name;
        value->spec = sig->constant->spec;
        absorb_users(ctx, value);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
