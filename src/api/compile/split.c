// One exported method as several, each for its own largest size: a language model that reads a
// prompt in chunks and then a token at a time. Backends plan memory and kernels for the largest
// size, so a method for single tokens is smaller and faster. The methods share weights and state.
#include "api/compile/split.h"

#include "api/compiling.h"

typedef struct sizes {
    sc_symbol *symbol;
    bool is_one;  // of all dims of inputs there is one symbol, and it is the size itself
} sizes;

static void note_symbol(void *user, sc_symbol *symbol) {
    sizes *s = user;
    if (s->symbol && s->symbol != symbol) s->is_one = false;
    s->symbol = symbol;
}

// The only dynamic size of the inputs; NULL if there is none, or not only one.
static sc_symbol *only_size(const sc_method *method) {
    sizes s = {.is_one = true};
    for (uint32_t i = 0; i < method->graph->inputs.count; i++) {
        const sc_value *input = method->graph->inputs.data[i];
        const uint32_t rank = input->type == SC_VALUE_TENSOR ? input->spec.rank : 0;
        for (uint32_t d = 0; d < rank; d++) {
            sc_symbol *symbol;
            int64_t scale, offset;
            const sc_dim size = input->spec.sizes[d];
            sc_dim_visit_symbols(size, note_symbol, &s);
            if (!sc_dim_is_int(size) &&
                (!sc_dim_linear(size, &symbol, &scale, &offset) || scale != 1 || offset != 0))
                s.is_one = false;
        }
    }
    return s.is_one ? s.symbol : NULL;
}

static sc_status check_size(sc_ctx *ctx, const sc_symbol *symbol, const sc_bound *bound) {
    if (bound->max >= symbol->range.min && bound->max <= symbol->range.max) return SC_OK;
    return sc_fail(ctx, SC_ERR_OPTION, "Give a size within the limits of the file.",
                   "the size %lld of method '" SC_STR_FMT
                   "' is not within those of the file, %lld to %lld",
                   (long long)bound->max, SC_STR_ARG(bound->name), (long long)symbol->range.min,
                   (long long)symbol->range.max);
}

// Gives the method symbols of its own, in the order of the old ones. Examples that are too large
// for it are left out.
static sc_status add_method(sc_program *program, const sc_method *from, const sc_symbol *size,
                            const sc_bound *bound) {
    sc_exprs *exprs = sc_exprs_new(program->ctx->arena, program->ctx->names);
    bool fits = true;
    for (uint32_t i = 0; i < sc_exprs_symbol_count(from->exprs); i++) {
        const sc_symbol *old = sc_exprs_symbol_at(from->exprs, i);
        sc_symbol *symbol = sc_exprs_symbol(exprs, sc_name_str(old->name));
        *symbol = *old;
        if (old != size) continue;
        symbol->range.max = bound->max;
        fits = !symbol->has_hint || symbol->hint <= bound->max;
        if (!fits) symbol->hint = bound->max;
    }
    sc_method *method;
    SC_TRY(sc_program_clone_method(program, from, bound->name, exprs, &method));
    if (!fits) method->examples = (sc_extent){0};
    return SC_OK;
}

sc_status sc_split_program(sc_ctx *ctx, sc_program *program, const sc_bounds *methods) {
    if (methods->count == 0) return SC_OK;
    if (program->methods.count != 1)
        return sc_fail(ctx, SC_ERR_OPTION, "Lower each program on its own, or leave split out.",
                       "only a program of one method can be split, and this one has %u",
                       program->methods.count);
    const sc_method *from = program->methods.data[0];
    const sc_symbol *size = only_size(from);
    sc_where_set_method(ctx, from);
    if (!size)
        return sc_fail(ctx, SC_ERR_OPTION,
                       "Export the program with one dynamic size, such as the number of tokens.",
                       "method '%s' does not have one dynamic size among its inputs, so it cannot "
                       "be split by sizes",
                       from->name->text);
    program->methods.count = 0;
    program->is_split = true;
    for (uint32_t i = 0; i < methods->count; i++) {
        SC_TRY(check_size(ctx, size, &methods->items[i]));
        SC_TRY(add_method(program, from, size, &methods->items[i]));
    }
    return SC_OK;
}
