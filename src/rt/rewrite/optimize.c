// Runs the rewritings in the order of rewrites.def, on methods whose tensors never move.
//
// Only instructions that run exactly once are rewritten. Code that jumps repeat or leave out stays
// as it is and counts as one step of the code around it (uses.c).
#include "rt/rewrite/optimize.h"

#include "rt/rewrite/rewrites.h"

static bool is_number(const sc_evalue *value) {
    return value->tag == SC_EVALUE_INT || value->tag == SC_EVALUE_DOUBLE ||
           value->tag == SC_EVALUE_BOOL || value->tag == SC_EVALUE_NONE;
}

// Does a view made at run time lie where the file says?
static bool lies_there(const sc_rt_method *m, const sc_rt_instruction *in) {
    sc_rt_operands views = sc_rt_operands_of(m, in, SC_RT_REPOINTS);
    while (sc_rt_operands_next(&views)) {
        const sc_rt_place *view = &m->places[sc_rt_value_index(m, views.value)];
        sc_rt_operands shown = sc_rt_operands_of(m, in, SC_RT_READS);
        while (sc_rt_operands_next(&shown)) {
            const sc_rt_place *of = &m->places[sc_rt_value_index(m, shown.value)];
            if (shown.tensor && of->memory_id &&
                (view->memory_id != of->memory_id || view->offset != of->offset))
                return false;
        }
    }
    return true;
}

// Are the places of all tensors known at load for the whole run? Then moves move numbers only.
static bool stays(const sc_rt_method *m) {
    for (uint32_t i = 0; i < m->code_count; i++) {
        const sc_rt_instruction *in = &m->code[i];
        if (in->kind == SC_RT_FREE || (in->kind == SC_RT_PRIM && !lies_there(m, in))) return false;
        if (in->kind == SC_RT_MOVE &&
            !(is_number(&m->values[in->from]) && is_number(&m->values[in->to])))
            return false;
    }
    return true;
}

typedef enum need { NO_USES, USES } need;
typedef enum when { ALWAYS, CHANNELS_LAST } when;

#define REWRITE(name, needs, when, why) {sc_rt_##name, needs, when},
static const struct rewrite {
    sc_status (*run)(sc_rt_optimizer *o);
    need needs;
    when when;
} rewrites[] = {
#include "rt/rewrite/rewrites.def"
};
#undef REWRITE

static bool is_wanted(const sc_rt_method *m, const struct rewrite *rewrite) {
    return rewrite->when == ALWAYS || m->program->options.channels_last != SC_RT_NEVER;
}

sc_status sc_rt_optimize(sc_ctx *ctx, sc_rt_method *m) {
    sc_rt_optimizer o = {.ctx = ctx, .m = m, .is_stale = true};
    if (!stays(m)) return SC_OK;
    for (size_t i = 0; i < SC_COUNT_OF(rewrites); i++) {
        const bool is_due = rewrites[i].needs == USES && o.is_stale;
        if (!is_wanted(m, &rewrites[i])) continue;
        if (is_due && !sc_rt_find_uses(&o)) return SC_OK;
        SC_TRY(rewrites[i].run(&o));
    }
    return SC_OK;
}
