// Products with a table of few bits as lowering writes them: a lookup of all rows of the table
// widens it (trace/pytorch/packed.c), a permutation transposes it, and a product reads it. One call
// multiplies with the integers as they are.
#include "kernels/product_table.h"
#include "rt/rewrite/recognise/recognise.h"

static const sc_product_table_form FORMS[] = {{.bits = 4}, {.bits = 8}};

typedef struct lookup {
    const sc_kernel_call *call;
    const sc_product_table_form *form;
} lookup;

// (weight, scales, zero_points, quant_min, quant_max, indices, out)
static bool find_lookup(sc_rt_search *s, const sc_evalue *value, lookup *l) {
    static const sc_op_id ops[] = {SC_OP_quantized_decomposed_embedding_4bit,
                                   SC_OP_quantized_decomposed_embedding_byte};
    for (size_t i = 0; i < SC_COUNT_OF(ops); i++) {
        *l = (lookup){sc_rt_made_by(s, value, ops[i]), &FORMS[i]};
        if (l->call) return true;
    }
    return false;
}

static bool is_constant(const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->is_constant;
}

// All rows, in their order.
static bool is_whole(sc_rt_search *s, const lookup *l) {
    sc_evalue *const *args = l->call->args;
    return is_constant(args[0]) && is_constant(args[1]) && args[0]->tensor->rank == 2 &&
           args[2]->tag == SC_EVALUE_NONE && args[5]->tag == SC_EVALUE_TENSOR &&
           sc_rt_counts_up(s, args[5], args[0]->tensor->sizes[0]);
}

// (self, dims, out): the two dims change places
static sc_evalue *transposed(sc_rt_search *s, const sc_evalue *value) {
    const sc_kernel_call *permute = sc_rt_made_by(s, value, SC_OP_permute_copy);
    if (!permute) return NULL;
    const sc_evalue *dims = permute->args[1];
    return dims->tag == SC_EVALUE_INT_LIST && dims->count == 2 &&
                   sc_rt_is_number(s, dims->ints[0], 1) && sc_rt_is_number(s, dims->ints[1], 0)
               ? permute->args[0]
               : NULL;
}

static bool fits(sc_rt_search *s, const sc_rt_found *found, sc_evalue *out) {
    sc_evalue *args[SC_RT_FOUND_ARGS + 1];
    const sc_kernel_call call = sc_rt_found_call(s, found, out, args);
    return sc_product_table_fits(&call);
}

// mm is (self, mat2), addmm is (self, mat1, mat2, beta, alpha). The new call is an addmm, which has
// parameters enough.
bool sc_rt_is_product_with_table(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    const bool adds = root->arg_count > 3;
    sc_evalue *const *args = root->args;
    sc_evalue *out = args[root->arg_count - 1];
    lookup l;
    if (adds && (!sc_rt_is_number(s, args[3], 1) || !sc_rt_is_number(s, args[4], 1))) return false;
    const sc_evalue *table = transposed(s, args[adds + 1]);
    if (!table || !find_lookup(s, table, &l) || !is_whole(s, &l)) return false;
    *found = (sc_rt_found){.op = SC_OP_addmm,
                           .kernel = &sc_k_product_table,
                           .args = {args[adds], l.call->args[0], l.call->args[1], args[0]},
                           .arg_count = adds ? 4 : 3,
                           .is_checked = true,
                           .form = l.form};
    return fits(s, found, out);
}
