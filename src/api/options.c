// Options as JSON text, read and checked by the rows of core/options.def. A key that no row of the
// call knows is an error, because a misspelt option would otherwise be ignored without a trace.
#include "api/options.h"

#include <stddef.h>

#include "api/job.h"

typedef struct row row;
struct row {
    sc_option_call call;
    const char *name;
    size_t offset;  // offset in sc_options
    bool (*read)(const row *option, const sc_json *value, sc_arena *arena, void *target);
    const char *accepts;  // the end of "must be"
    uint32_t power_max;   // POWER: of two
    const char *words;    // CHOICE and PLANNER: separated by spaces
};

static bool read_bool(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    (void)option, (void)arena;
    return sc_json_bool(value, target);
}

static bool read_count(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    int64_t number = 0;
    (void)option, (void)arena;
    if (!sc_json_i64(value, &number) || number < 1) return false;
    *(uint64_t *)target = (uint64_t)number;
    return true;
}

static bool read_whole(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    int64_t number = 0;
    (void)option, (void)arena;
    if (!sc_json_i64(value, &number) || number < 0) return false;
    *(uint64_t *)target = (uint64_t)number;
    return true;
}

static bool read_power(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    uint64_t number = 0;
    if (!read_count(option, value, arena, &number)) return false;
    if (number > UINT64_C(1) << option->power_max || (number & (number - 1)) != 0) return false;
    *(uint32_t *)target = (uint32_t)number;
    return true;
}

static bool read_choice(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    if (value->kind != SC_JSON_STRING) return false;
    sc_str chosen = *(sc_str *)target = sc_json_str(arena, value);
    for (const char *word = option->words; *word; word += strspn(word, " ")) {
        size_t size = strcspn(word, " ");
        if (sc_str_equal(chosen, (sc_str){word, size})) return true;
        word += size;
    }
    return false;
}

static bool read_one_planner(const row *option, const sc_json *value, sc_arena *arena,
                             sc_planner *out) {
    int64_t number = 0;
    if (!sc_json_i64(value, &number)) return read_choice(option, value, arena, &out->name);
    *out = (sc_planner){.number = (uint32_t)number};
    return number >= 0 && number < UINT32_MAX;
}

static bool read_planner(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    sc_planners *planners = target;
    if (value->kind != SC_JSON_OBJECT)
        return read_one_planner(option, value, arena, &planners->all);
    sc_method_planner *methods = sc_new_array(arena, sc_method_planner, (size_t)value->size + 1);
    const sc_json *key = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, key = sc_json_next(key + 1)) {
        methods[i].method = sc_json_str(arena, key);
        if (!read_one_planner(option, key + 1, arena, &methods[i].planner)) return false;
    }
    planners->methods = methods;
    planners->count = value->size;
    return true;
}

// {"name": {"max": n}, ...}
static bool read_bounds(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    (void)option;
    if (value->kind != SC_JSON_OBJECT) return false;
    sc_bound *items = sc_new_array(arena, sc_bound, (size_t)value->size + 1);
    const sc_json *key = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, key = sc_json_next(key + 1)) {
        const sc_json *max = sc_json_get(key + 1, "max");
        items[i].name = sc_json_str(arena, key);
        if (!max || key[1].size != 1 || !sc_json_i64(max, &items[i].max)) return false;
        if (items[i].max < 1 || items[i].max == SC_DIM_INF) return false;
    }
    *(sc_bounds *)target = (sc_bounds){items, value->size};
    return true;
}

#define KIND_BOOL          read_bool, "true or false", 0, NULL
#define KIND_COUNT         read_count, "a positive whole number", 0, NULL
#define KIND_WHOLE         read_whole, "a whole number, 0 or more", 0, NULL
#define KIND_POWER(n)      read_power, "a power of two up to 2^" #n, n, NULL
#define KIND_CHOICE(words) read_choice, "one of: " words, 0, words
#define KIND_PLANNER(words) \
    read_planner, "one of: " words ", or a planner of the host, or these by method", 0, words
#define KIND_BOUNDS read_bounds, "positive whole numbers, {\"NAME\": {\"max\": N}}", 0, NULL

static const row OPTIONS[] = {
#define OPTION(call, name, kind, ...) \
    {SC_OPTIONS_##call, #name, offsetof(sc_options, name), KIND_##kind},
#include "core/options.def"
#undef OPTION
};

static const row *find(sc_option_call call, sc_str name) {
    for (size_t i = 0; i < SC_COUNT_OF(OPTIONS); i++)
        if (OPTIONS[i].call == call && sc_str_is(name, OPTIONS[i].name)) return &OPTIONS[i];
    return NULL;
}

static sc_status unknown_option(sc_ctx *ctx, sc_option_call call, sc_str key) {
    sc_sb known;
    sc_sb_init(&known, ctx->scratch);
    for (size_t i = 0; i < SC_COUNT_OF(OPTIONS); i++)
        if (OPTIONS[i].call == call)
            sc_sb_addf(&known, "%s%s", known.size ? ", " : "", OPTIONS[i].name);
    return sc_fail(ctx, SC_ERR_OPTION, NULL,
                   "unknown option '" SC_STR_FMT "'; the known ones are %s", SC_STR_ARG(key),
                   sc_sb_terminate(&known));
}

sc_options sc_options_here(void) {
    sc_options options = sc_options_default();
    options.target = SC_STR("sconce");
    return options;
}

sc_status sc_options_read(sc_ctx *ctx, sc_option_call call, sc_str json, sc_options *out) {
    const sc_json *object = NULL;
    *out = sc_options_default();
    if (json.size == 0) return SC_OK;
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, json), &object));
    if (object->kind != SC_JSON_OBJECT)
        return sc_fail(ctx, SC_ERR_OPTION, NULL, "options must be a JSON object");
    const sc_json *key = sc_json_first(object);
    for (uint32_t n = object->size; n--; key = sc_json_next(key + 1)) {
        sc_str name = sc_json_str(ctx->arena, key);
        const row *option = find(call, name);
        if (!option) return unknown_option(ctx, call, name);
        if (!option->read(option, key + 1, ctx->arena, (char *)out + option->offset))
            return sc_fail(ctx, SC_ERR_OPTION, NULL, "option '%s' must be %s", option->name,
                           option->accepts);
    }
    return SC_OK;
}
