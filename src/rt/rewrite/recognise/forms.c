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

// Expansions that are no formula, by the operator that they end with: for any result, or for
// integers only.
static const struct form {
    sc_op_id root;
    bool is_whole;
    bool (*find)(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
} forms[] = {
    {SC_OP_where_self, false, sc_rt_is_product},
    {SC_OP_cat, false, sc_rt_is_scan},
    {SC_OP_cat, false, sc_rt_is_fft},
    {SC_OP_where_self, false, sc_rt_is_grouped},
    {SC_OP_scatter_src, false, sc_rt_is_extreme},
    {SC_OP_add_Tensor, true, sc_rt_is_gcd},
    {SC_OP_native_group_norm, false, sc_rt_is_centred},
    {SC_OP__native_batch_norm_legit_no_stats, false, sc_rt_is_centred},
};

static bool is_whole(const sc_kernel_call *call) {
    const sc_evalue *out = call->arg_count ? call->args[call->arg_count - 1] : NULL;
    return out && out->tag == SC_EVALUE_TENSOR &&
           sc_dtype_is_integral((sc_dtype)out->tensor->dtype, false);
}

// Formulas come first, because the other expansions contain formulas.
static bool find(sc_rt_search *s, const sc_kernel_call *root, bool is_late, sc_rt_found *found) {
    if (sc_rt_is_formula(s, root, is_late, found)) return true;
    for (size_t i = 0; i < SC_COUNT_OF(forms) && !is_late; i++) {
        if (forms[i].root != root->op->id || (forms[i].is_whole && !is_whole(root))) continue;
        s->parts.count = 0;
        if (forms[i].find(s, root, found)) return true;
    }
    return false;
}

static sc_status look_at(sc_rt_search *s, uint32_t at, bool is_late) {
    const sc_rt_instruction *in = &s->o->m->code[at];
    sc_rt_found found = {.arg_count = 0};
    bool done = false;
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || !s->roots[is_late][in->call.op->id] ||
        !sc_rt_runs_once(s->o, at))
        return SC_OK;
    if (!s->bases) sc_rt_find_bases(s);
    s->root = at;
    if (!find(s, &in->call, is_late, &found)) return SC_OK;
    SC_TRY(sc_rt_put(s, &found, &done));
    s->o->is_stale |= done;
    return SC_OK;
}

sc_status sc_rt_recognise(sc_rt_optimizer *o) {
    sc_rt_search s = {
        .o = o, .work = WORK_MAX + 8 * (uint64_t)o->m->code_count, .waits = WAITS_MAX};
    const uint64_t had = scratch_of(o->m);
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) s.roots[false][forms[i].root] = true;
    for (int is_late = 0; is_late < 2; is_late++) sc_rt_formula_roots(is_late, s.roots[is_late]);
    for (uint32_t i = 0; i < o->m->code_count; i++) SC_TRY(look_at(&s, i, false));
    for (uint32_t i = 0; i < o->m->code_count; i++) SC_TRY(look_at(&s, i, true));
    return grow_scratch(&s, had);
}
