// Largest sizes that the caller gives to dynamic dimensions whose export left them open. The
// symbols that they name get a maximum, as if the file contained it.
#include "api/compile/dynamic_shapes.h"

#include "api/compiling.h"

enum { LISTED_MAX = 24 };

// The meaning of a name in one method: the size scale * symbol + offset.
typedef struct meaning {
    sc_dim size;
    sc_symbol *symbol;
    int64_t scale, offset;
} meaning;

// The symbols of one method with their new maxima, by index.
typedef struct narrowed {
    sc_method *method;
    uint32_t count;
    const sc_bound **by;  // NULL: unchanged
    int64_t *max;
    bool any;
} narrowed;

// --- Symbols of the methods ----------------------------------------------------------------------

typedef struct listing {
    sc_sb *text;
    const sc_symbol *symbol;
    bool is_there;
} listing;

static void note_symbol(void *user, sc_symbol *symbol) {
    listing *list = user;
    list->is_there = list->is_there || symbol == list->symbol;
}

// " (tokens.1, mask.3)": the dimensions of inputs that depend on the symbol.
static void list_dimensions(sc_sb *text, const sc_method *method, const sc_symbol *symbol) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < method->graph->inputs.count; i++) {
        const sc_value *input = method->graph->inputs.data[i];
        uint32_t rank = input->type == SC_VALUE_TENSOR ? input->spec.rank : 0;
        for (uint32_t d = 0; d < rank && count < LISTED_MAX; d++) {
            listing list = {.symbol = symbol};
            sc_dim_visit_symbols(input->spec.sizes[d], note_symbol, &list);
            if (!list.is_there) continue;
            sc_sb_addf(text, "%s%s.%u", count++ ? ", " : " (", input->name->text, d);
        }
    }
    if (count) sc_sb_add_char(text, ')');
}

// "Use one of: s77 (tokens.1), u0."
static const char *known_names(sc_ctx *ctx, const sc_program *program) {
    sc_sb text;
    uint32_t count = 0;
    sc_sb_init(&text, ctx->scratch);
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < sc_exprs_symbol_count(method->exprs); i++) {
            const sc_symbol *symbol = sc_exprs_symbol_at(method->exprs, i);
            if (symbol->is_fresh || count++ >= LISTED_MAX) continue;
            sc_sb_add_text(&text, count > 1 ? ", " : "Use one of: ");
            if (program->methods.count > 1)
                sc_sb_addf(&text, SC_STR_FMT ":", SC_STR_ARG(sc_name_str(method->name)));
            sc_sb_add(&text, sc_name_str(symbol->name));
            list_dimensions(&text, method, symbol);
        }
    }
    if (count == 0) return "Leave it out: all sizes of this program are fixed.";
    if (count > LISTED_MAX) sc_sb_addf(&text, " and %u more", count - LISTED_MAX);
    sc_sb_add_char(&text, '.');
    return sc_sb_terminate(&text);
}

// --- Meaning of a name ---------------------------------------------------------------------------

static sc_symbol *symbol_named(const sc_method *method, sc_str name) {
    for (uint32_t i = 0; i < sc_exprs_symbol_count(method->exprs); i++) {
        sc_symbol *symbol = sc_exprs_symbol_at(method->exprs, i);
        if (sc_str_equal(sc_name_str(symbol->name), name)) return symbol;
    }
    return NULL;
}

static const sc_value *input_named(const sc_method *method, sc_str name) {
    for (uint32_t i = 0; i < method->graph->inputs.count; i++) {
        const sc_value *input = method->graph->inputs.data[i];
        if (sc_str_equal(sc_name_str(input->name), name)) return input;
    }
    return NULL;
}

// The size of the dimension "tokens.1"; false if no input has it.
static bool size_named(const sc_method *method, sc_str name, sc_dim *out) {
    ptrdiff_t dot = sc_str_find_last(name, '.');
    if (dot < 0) return false;
    sc_str digits = sc_str_slice(name, (size_t)dot + 1, name.size);
    const sc_value *input = input_named(method, sc_str_slice(name, 0, (size_t)dot));
    if (!input || input->type != SC_VALUE_TENSOR) return false;
    if (digits.size == 0 || (digits.size > 1 && digits.data[0] == '0')) return false;
    uint32_t dim = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || dim >= SC_RANK_MAX) return false;
        dim = dim * 10 + (uint32_t)(digits.data[i] - '0');
    }
    if (dim >= input->spec.rank) return false;
    *out = input->spec.sizes[dim];
    return true;
}

static bool find_size(const sc_method *method, sc_str name, sc_dim *out) {
    sc_symbol *symbol = symbol_named(method, name);
    if (!symbol) return size_named(method, name, out);
    *out = sc_dim_from_symbol(method->exprs, symbol);
    return true;
}

// The name to look for in that method: "METHOD:NAME" is NAME of that method.
static sc_str name_in(const sc_method *method, sc_str name) {
    sc_str own = sc_name_str(method->name);
    bool is_own = name.size > own.size && name.data[own.size] == ':' &&
                  sc_str_equal(sc_str_slice(name, 0, own.size), own);
    return is_own ? sc_str_slice(name, own.size + 1, name.size) : name;
}

// --- Bounding ------------------------------------------------------------------------------------

static sc_status refuse(sc_ctx *ctx, const sc_bound *bound, const meaning *meant, const char *why,
                        int64_t limit) {
    sc_sb size;
    sc_sb_init(&size, ctx->scratch);
    sc_dim_print(&size, meant->size);
    return sc_fail(ctx, SC_ERR_OPTION,
                   "Give a value within the limits of the file, and not below the example. "
                   "METHOD:NAME sets it for one method only.",
                   "the largest value %lld of '" SC_STR_FMT "' (size %s) %s %lld",
                   (long long)bound->max, SC_STR_ARG(bound->name), sc_sb_terminate(&size), why,
                   (long long)limit);
}

static sc_status solve(sc_ctx *ctx, const sc_bound *bound, sc_dim size, meaning *out) {
    sc_sb text;
    *out = (meaning){.size = size};
    if (sc_dim_linear(size, &out->symbol, &out->scale, &out->offset) && out->scale > 0)
        return SC_OK;
    sc_sb_init(&text, ctx->scratch);
    sc_dim_print(&text, size);
    return sc_fail(ctx, SC_ERR_OPTION, "Give a largest value for each symbol in it.",
                   "'" SC_STR_FMT "' is %s, and one largest value cannot bound it",
                   SC_STR_ARG(bound->name), sc_sb_terminate(&text));
}

static sc_status narrow(sc_ctx *ctx, narrowed *to, const sc_bound *bound, const meaning *meant) {
    sc_range range = sc_dim_range(meant->size);
    uint32_t index = sc_symbol_index(meant->symbol);
    int64_t hint = 0;
    sc_dim rest = sc_dim_sub(NULL, sc_dim_int(bound->max), sc_dim_int(meant->offset));
    int64_t max = sc_dim_floordiv(NULL, rest, sc_dim_int(meant->scale)).value;
    if (bound->max < range.min || max < meant->symbol->range.min)
        return refuse(ctx, bound, meant, "is below the smallest that the file allows,", range.min);
    if (bound->max > range.max)
        return refuse(ctx, bound, meant, "is above the largest that the file allows,", range.max);
    if (sc_dim_hint(meant->size, &hint) && bound->max < hint)
        return refuse(ctx, bound, meant, "is below the size of the example input,", hint);
    if (to->by[index] && to->max[index] != max)
        return sc_fail(ctx, SC_ERR_OPTION, "Give one largest value for each symbol.",
                       "'" SC_STR_FMT "' = %lld and '" SC_STR_FMT "' = %lld contradict each other: "
                       "both bound the symbol %s",
                       SC_STR_ARG(to->by[index]->name), (long long)to->by[index]->max,
                       SC_STR_ARG(bound->name), (long long)bound->max, meant->symbol->name->text);
    to->by[index] = bound;
    to->max[index] = max;
    to->any = true;
    return SC_OK;
}

// Gives the method symbols of its own. They are made in the order of the old ones, so that their
// indices stay.
static sc_status replace_method(sc_program *program, uint32_t index, const narrowed *to) {
    sc_exprs *exprs = sc_exprs_new(program->ctx->arena, program->ctx->names);
    for (uint32_t i = 0; i < to->count; i++) {
        const sc_symbol *old = sc_exprs_symbol_at(to->method->exprs, i);
        sc_symbol *symbol = sc_exprs_symbol(exprs, sc_name_str(old->name));
        *symbol = *old;
        if (to->by[i]) symbol->range.max = to->max[i];
    }
    return sc_method_clone(to->method, exprs, &program->methods.data[index]);
}

static bool goes_by_hints(const sc_shape_eval *sizes, const sc_method *method) {
    sc_str how = sizes->all;
    for (uint32_t i = 0; i < sizes->count; i++)
        if (sc_str_equal(sizes->methods[i].method, sc_name_str(method->name)))
            how = sizes->methods[i].how;
    return sc_str_is(how, "hint");
}

// The example becomes the bound of each symbol that has an example and no other bound. It stays
// within the range, whatever the file says.
static void narrow_to_hints(narrowed *to) {
    static const sc_bound example = {{"hint", 4}, 0};
    for (uint32_t i = 0; i < to->count; i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(to->method->exprs, i);
        if (to->by[i] || !symbol->has_hint || symbol->hint >= symbol->range.max) continue;
        to->by[i] = &example;
        to->max[i] = sc_max_i64(symbol->hint, symbol->range.min);
        to->any = true;
    }
}

// `found` has an item for each bound.
static sc_status bound_method(sc_ctx *ctx, sc_program *program, uint32_t index,
                              const sc_shape_eval *sizes, bool *found) {
    const sc_bounds *bounds = &sizes->bounds;
    sc_method *method = program->methods.data[index];
    narrowed to = {.method = method, .count = sc_exprs_symbol_count(method->exprs)};
    to.by = sc_new_array(ctx->scratch, const sc_bound *, (size_t)to.count + 1);
    to.max = sc_new_array(ctx->scratch, int64_t, (size_t)to.count + 1);
    sc_where_set_method(ctx, method);
    for (uint32_t i = 0; i < bounds->count; i++) {
        const sc_bound *bound = &bounds->items[i];
        sc_dim size;
        meaning meant;
        if (!find_size(method, name_in(method, bound->name), &size)) continue;
        // A fixed size needs no bound, because other methods may have a dynamic one there.
        if (sc_dim_is_int(size)) continue;
        SC_TRY(solve(ctx, bound, size, &meant));
        SC_TRY(narrow(ctx, &to, bound, &meant));
        found[i] = true;
    }
    if (goes_by_hints(sizes, method)) narrow_to_hints(&to);
    return to.any ? replace_method(program, index, &to) : SC_OK;
}

static sc_status bound_methods(sc_ctx *ctx, sc_program *program, const sc_shape_eval *sizes) {
    const sc_bounds *bounds = &sizes->bounds;
    bool *found = sc_new_array(ctx->scratch, bool, (size_t)bounds->count + 1);
    for (uint32_t m = 0; m < program->methods.count; m++)
        SC_TRY(bound_method(ctx, program, m, sizes, found));
    ctx->where = (sc_where){.instruction = -1};
    for (uint32_t i = 0; i < bounds->count; i++)
        if (!found[i])
            return sc_fail(ctx, SC_ERR_NOT_FOUND, known_names(ctx, program),
                           "there is no dynamic size '" SC_STR_FMT "'",
                           SC_STR_ARG(bounds->items[i].name));
    return SC_OK;
}

static sc_status check_methods(sc_ctx *ctx, const sc_program *program, const sc_shape_eval *sizes) {
    for (uint32_t i = 0; i < sizes->count; i++)
        if (!sc_program_method(program, sizes->methods[i].method))
            return sc_fail(ctx, SC_ERR_NOT_FOUND,
                           "Name a method of the program, or give {\"max\": N} for a size.",
                           "there is no method '" SC_STR_FMT "' whose sizes could be planned",
                           SC_STR_ARG(sizes->methods[i].method));
    return SC_OK;
}

sc_status sc_eval_sizes(sc_ctx *ctx, sc_program *program, const sc_shape_eval *sizes) {
    SC_TRY(check_methods(ctx, program, sizes));
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = bound_methods(ctx, program, sizes);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_bound_sizes(sc_ctx *ctx, sc_program *program, const sc_bounds *bounds) {
    const sc_shape_eval sizes = {.bounds = *bounds};
    return bounds->count ? sc_eval_sizes(ctx, program, &sizes) : SC_OK;
}
