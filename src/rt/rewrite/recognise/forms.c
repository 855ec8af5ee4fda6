// The search for expansions: it looks at every instruction that an expansion can end with. Files
// are not trusted. Instructions that do not match the form exactly run as they are written.
#include "rt/rewrite/recognise/recognise.h"

#include "rt/rewrite/rewrites.h"

enum {
    WORK_MAX = 1 << 20,    // values that the search may visit, in addition to eight for each
                           // instruction
    WAITS_MAX = 16 << 20,  // instructions between the writes of values and their reads
};

static uint64_t scratch_of(const sc_rt_method *m) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->code_count; i++)
        most = sc_max_u64(most, m->code[i].call.scratch_bytes);
    return most;
}

static sc_status grow_scratch(sc_rt_search *s, uint64_t had) {
    sc_rt_method *m = s->o->m;
    if (s->scratch <= had) return SC_OK;
    uint8_t *memory = sc_try_alloc(s->scratch);
    if (!memory)
        return sc_fail(s->o->ctx, SC_ERR_MEMORY, NULL, "no memory for %llu bytes of scratch space",
                       (unsigned long long)s->scratch);
    sc_free(m->scratch);
    m->scratch = memory;
    for (uint32_t i = 0; i < m->code_count; i++) m->code[i].call.scratch = memory;
    return SC_OK;
}

// The searches, one after the other.
enum { EARLY, LATE, LAST };

// Expansions that are no formula, by the operator that they end with: for any result, or for
// integers only. Sizes may change from run to run if they may be of any size.
static const struct form {
    sc_op_id root;
    bool is_whole, is_any_size;
    uint8_t turn;
    bool (*find)(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
} forms[] = {
    {.root = SC_OP_where_self, .find = sc_rt_is_product},
    {.root = SC_OP_cat, .find = sc_rt_is_scan},
    {.root = SC_OP_cat, .find = sc_rt_is_fft},
    {.root = SC_OP_where_self, .find = sc_rt_is_grouped},
    {.root = SC_OP_scatter_src, .find = sc_rt_is_extreme},
    {.root = SC_OP_add_Tensor, .is_whole = true, .find = sc_rt_is_gcd},
    {.root = SC_OP_native_group_norm, .find = sc_rt_is_centred},
    {.root = SC_OP__native_batch_norm_legit_no_stats, .find = sc_rt_is_centred},
    {.root = SC_OP_permute_copy, .is_any_size = true, .find = sc_rt_is_attention},
    {.root = SC_OP_mm, .is_any_size = true, .find = sc_rt_is_product_with_table},
    {.root = SC_OP_addmm, .is_any_size = true, .find = sc_rt_is_product_with_table},
    // Later, because the first search may take its permutation in, too.
    {.root = SC_OP_bmm, .is_any_size = true, .turn = LATE, .find = sc_rt_is_attention},
    // Last, because attention contains it.
    {.root = SC_OP_where_self, .is_any_size = true, .turn = LAST, .find = sc_rt_is_masked_rows},
};

static bool is_whole(const sc_kernel_call *call) {
    const sc_evalue *out = call->arg_count ? call->args[call->arg_count - 1] : NULL;
    return out && out->tag == SC_EVALUE_TENSOR &&
           sc_dtype_is_integral((sc_dtype)out->tensor->dtype, false);
}

// Formulas come first, because the other expansions contain formulas.
static bool find(sc_rt_search *s, const sc_rt_instruction *root, uint8_t turn, sc_rt_found *found) {
    const sc_kernel_call *call = &root->call;
    if (!root->is_dynamic && turn != LAST && sc_rt_is_formula(s, call, turn == LATE, found))
        return true;
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) {
        const struct form *form = &forms[i];
        if (form->root != call->op->id || form->turn != turn ||
            (form->is_whole && !is_whole(call)) || (root->is_dynamic && !form->is_any_size))
            continue;
        s->parts.count = 0;
        s->takes_any_size = form->is_any_size;
        const bool is_found = form->find(s, call, found);
        s->takes_any_size = false;
        if (is_found) return true;
    }
    return false;
}

static sc_status look_at(sc_rt_search *s, uint32_t at, uint8_t turn) {
    const sc_rt_instruction *in = &s->o->m->code[at];
    sc_rt_found found = {.arg_count = 0};
    bool done = false;
    if (in->kind != SC_RT_KERNEL || !s->roots[turn][in->call.op->id] || !sc_rt_runs_once(s->o, at))
        return SC_OK;
    if (!s->bases) sc_rt_find_bases(s);
    s->root = at;
    s->is_second = false;
    do {
        if (!find(s, in, turn, &found)) return SC_OK;
        SC_TRY(sc_rt_put(s, &found, &done));
        s->is_second = true;
    } while (!done && found.is_one_of_two);
    s->o->is_stale |= done;
    return SC_OK;
}

sc_status sc_rt_recognise(sc_rt_optimizer *o) {
    sc_rt_search s = {
        .o = o, .work = WORK_MAX + 8 * (uint64_t)o->m->code_count, .waits = WAITS_MAX};
    const uint64_t had = scratch_of(o->m);
    sc_rt_formula_roots(false, s.roots[EARLY]);
    sc_rt_formula_roots(true, s.roots[LATE]);
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) s.roots[forms[i].turn][forms[i].root] = true;
    for (uint8_t turn = EARLY; turn <= LAST; turn++)
        for (uint32_t i = 0; i < o->m->code_count; i++) SC_TRY(look_at(&s, i, turn));
    return grow_scratch(&s, had);
}
