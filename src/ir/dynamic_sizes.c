#include "ir/dynamic_sizes.h"

static bool contains(const sc_open_symbols *all, const sc_symbol *symbol) {
    for (uint32_t i = 0; i < all->list.count; i++)
        if (all->list.data[i] == symbol) return true;
    return false;
}

static void add_open(void *user, sc_symbol *symbol) {
    sc_open_symbols *open = user;
    if ((symbol->range.max != SC_DIM_INF) != open->bounded) return;
    open->is_ours = open->is_ours || symbol->is_fresh;
    open->is_bottomless = open->is_bottomless || symbol->range.min == SC_DIM_NEG_INF;
    if (contains(open, symbol)) return;
    sc_vec_push(open->arena, &open->list, symbol);
}

void sc_open_add_dim(sc_open_symbols *open, sc_dim dim) {
    sc_dim_visit_symbols(dim, add_open, open);
}

void sc_open_add_sizes(sc_open_symbols *open, const sc_value *value) {
    for (uint32_t d = 0; d < value->spec.rank; d++) sc_open_add_dim(open, value->spec.sizes[d]);
}

bool sc_open_is_difference(const sc_open_symbols *open) {
    return open->list.count > 1 && open->is_bottomless;
}

// --- Advice --------------------------------------------------------------------------------------

// The input, and the dim, whose size is exactly the symbol.
static const sc_value *input_of(const sc_method *method, const sc_symbol *symbol, uint32_t *dim) {
    const uint32_t count = method ? method->graph->inputs.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const sc_value *input = method->graph->inputs.data[i];
        if (input->type != SC_VALUE_TENSOR) continue;
        for (*dim = 0; *dim < input->spec.rank; ++*dim)
            if (sc_dim_symbol(input->spec.sizes[*dim]) == symbol) return input;
    }
    return NULL;
}

static void add_name(sc_sb *hint, const sc_symbol *symbol, const sc_method *method,
                     const char *quote) {
    uint32_t dim;
    const sc_value *input = input_of(method, symbol, &dim);
    if (input)
        sc_sb_addf(hint, "%s%s.%u%s", quote, input->name->text, dim, quote);
    else
        sc_sb_add(hint, sc_name_str(symbol->name));
}

void sc_bound_flags(sc_sb *hint, const sc_open_symbols *open, const sc_method *method) {
    for (uint32_t i = 0; i < open->list.count; i++) {
        sc_sb_add_text(hint, " --max-size ");
        add_name(hint, open->list.data[i], method, "");
        sc_sb_add_text(hint, "=N");
    }
    sc_sb_add_text(hint, ", in JavaScript compileConfig: { dynamicShapes: { ");
    for (uint32_t i = 0; i < open->list.count; i++) {
        if (i) sc_sb_add_text(hint, ", ");
        add_name(hint, open->list.data[i], method, "\"");
        sc_sb_add_text(hint, ": { max: N }");
    }
    sc_sb_add_text(hint, " } }");
}

const char *sc_bound_hint(sc_ctx *ctx, const sc_open_symbols *open, const sc_method *method,
                          const char *otherwise) {
    if (!open->list.count || open->is_ours) return otherwise;
    sc_sb hint;
    sc_sb_init(&hint, ctx->scratch);
    sc_sb_add_text(&hint, "Give smaller largest values:");
    sc_bound_flags(&hint, open, method);
    sc_sb_add_char(&hint, '.');
    return sc_sb_terminate(&hint);
}
