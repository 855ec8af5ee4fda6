// Options as JSON text, read and checked by the rows of core/options.def. A key that no row of the
// call knows is an error, because a misspelt option would otherwise be ignored without a trace.
#include "api/job/options.h"

#include <stddef.h>

#include "api/job/job.h"
#include "core/dim.h"

typedef struct row row;
struct row {
    sc_option_call call;
    const char *name;
    size_t offset;  // offset in sc_options
    bool (*read)(const row *option, const sc_json *value, sc_arena *arena, void *target);
    const char *accepts;  // the end of "must be"
    uint32_t power_max;   // POWER: of two
    const char *words;    // CHOICE, SIZES and PLANNER: separated by spaces
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

// ["name", ...]
static bool read_names(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    (void)option;
    if (value->kind != SC_JSON_ARRAY) return false;
    sc_str *items = sc_new_array(arena, sc_str, (size_t)value->size + 1);
    const sc_json *item = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, item = sc_json_next(item)) {
        if (item->kind != SC_JSON_STRING) return false;
        items[i] = sc_json_str(arena, item);
        if (!items[i].size) return false;
    }
    *(sc_option_names *)target = (sc_option_names){items, value->size};
    return true;
}

// "name": {"max": n}
static bool read_bound(const sc_json *key, sc_arena *arena, sc_bound *out) {
    const sc_json *max = sc_json_get(key + 1, "max");
    out->name = sc_json_str(arena, key);
    return max && key[1].size == 1 && sc_json_i64(max, &out->max) && out->max >= 1 &&
           out->max != SC_DIM_INF;
}

// {"name": {"max": n}, ...}
static bool read_bounds(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    (void)option;
    if (value->kind != SC_JSON_OBJECT) return false;
    sc_bound *items = sc_new_array(arena, sc_bound, (size_t)value->size + 1);
    const sc_json *key = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, key = sc_json_next(key + 1))
        if (!read_bound(key, arena, &items[i])) return false;
    *(sc_bounds *)target = (sc_bounds){items, value->size};
    return true;
}

static bool read_sizes(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    sc_shape_eval *sizes = target;
    if (value->kind != SC_JSON_OBJECT) return read_choice(option, value, arena, &sizes->all);
    sc_bound *bounds = sc_new_array(arena, sc_bound, (size_t)value->size + 1);
    sc_method_sizes *methods = sc_new_array(arena, sc_method_sizes, (size_t)value->size + 1);
    sizes->bounds.items = bounds;
    sizes->methods = methods;
    const sc_json *key = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, key = sc_json_next(key + 1)) {
        sc_method_sizes *method = &methods[sizes->count];
        if (key[1].kind != SC_JSON_STRING) {
            if (!read_bound(key, arena, &bounds[sizes->bounds.count++])) return false;
            continue;
        }
        method->method = sc_json_str(arena, key);
        if (!read_choice(option, key + 1, arena, &method->how)) return false;
        sizes->count++;
    }
    return true;
}

// ["pattern", "file" or null]
static bool read_file(const sc_json *pair, sc_arena *arena, sc_weight_file *out) {
    if (pair->kind != SC_JSON_ARRAY || pair->size != 2) return false;
    const sc_json *pattern = sc_json_first(pair), *file = sc_json_next(pattern);
    out->pattern = sc_json_str(arena, pattern);
    out->file = sc_json_str(arena, file);
    if (!out->pattern.size) return false;
    return file->kind == SC_JSON_NULL || (out->file.size && sc_str_is_file_name(out->file));
}

static bool read_files(const row *option, const sc_json *value, sc_arena *arena, void *target) {
    static const sc_weight_file ALL = {{"*", 1}, {SC_EXTERNAL_FILE, sizeof SC_EXTERNAL_FILE - 1}};
    (void)option;
    bool is_all = false;
    if (sc_json_bool(value, &is_all)) {
        *(sc_weight_files *)target = (sc_weight_files){&ALL, is_all ? 1 : 0};
        return true;
    }
    if (value->kind != SC_JSON_ARRAY) return false;
    sc_weight_file *rules = sc_new_array(arena, sc_weight_file, (size_t)value->size + 1);
    const sc_json *pair = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, pair = sc_json_next(pair))
        if (!read_file(pair, arena, &rules[i])) return false;
    *(sc_weight_files *)target = (sc_weight_files){rules, value->size};
    return true;
}

#define KIND_BOOL          read_bool, "true or false", 0, NULL
#define KIND_COUNT         read_count, "a positive whole number", 0, NULL
#define KIND_WHOLE         read_whole, "a whole number, 0 or more", 0, NULL
#define KIND_POWER(n)      read_power, "a power of two up to 2^" #n, n, NULL
#define KIND_CHOICE(words) read_choice, "one of: " words, 0, words
#define KIND_PLANNER(words) \
    read_planner, "one of: " words ", or a planner of the host, or these by method", 0, words
#define KIND_SIZES(words)                                                                       \
    read_sizes,                                                                                 \
        "one of: " words ", or these by method and largest values {\"NAME\": {\"max\": N}}", 0, \
        words
#define KIND_FILES  read_files, "true, false, or a list of [\"PATTERN\", \"FILE\" or null]", 0, NULL
#define KIND_NAMES  read_names, "a list of names", 0, NULL
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
