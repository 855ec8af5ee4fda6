// Options as JSON text into plain variables, by a table per call. A key that no row knows is an
// error: a misspelt option that is silently ignored is a wrong result with no trace.
#include "api/job.h"

static sc_status unknown_option(sc_ctx *ctx, sc_str key, const sc_option *options, uint32_t count) {
    sc_sb known;
    sc_sb_init(&known, ctx->scratch);
    for (uint32_t i = 0; i < count; i++) sc_sb_addf(&known, "%s%s", i ? ", " : "", options[i].name);
    return sc_fail(ctx, SC_ERR_OPTION, NULL, "unknown option '" SC_STR_FMT "'; known are %s",
                   SC_STR_ARG(key), sc_sb_terminate(&known));
}

static bool read_value(const sc_option *option, const sc_json *value, sc_arena *arena) {
    switch (option->kind) {
    case SC_OPTION_BOOL: return sc_json_bool(value, option->target);
    case SC_OPTION_INT: return sc_json_i64(value, option->target);
    case SC_OPTION_STR:
        if (value->kind != SC_JSON_STRING) return false;
        *(sc_str *)option->target = sc_json_str(arena, value);
        return true;
    }
    return false;
}

sc_status sc_options_read(sc_ctx *ctx, sc_str json, const sc_option *options, uint32_t count) {
    static const char *const KINDS[] = {"true or false", "an integer", "a string"};
    const sc_json *object = NULL;
    if (json.size == 0) return SC_OK;
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, json), &object));
    if (object->kind != SC_JSON_OBJECT)
        return sc_fail(ctx, SC_ERR_OPTION, NULL, "options must be a JSON object");
    const sc_json *key = sc_json_first(object);
    for (uint32_t n = object->size; n--; key = sc_json_next(key + 1)) {
        sc_str name = sc_json_str(ctx->arena, key);
        const sc_option *option = NULL;
        for (uint32_t i = 0; i < count && !option; i++)
            if (sc_str_is(name, options[i].name)) option = &options[i];
        if (!option) return unknown_option(ctx, name, options, count);
        if (!read_value(option, key + 1, ctx->arena))
            return sc_fail(ctx, SC_ERR_OPTION, NULL, "option '%s' must be %s", option->name,
                           KINDS[option->kind]);
    }
    return SC_OK;
}
