// Parses PyTorch's operator notation: "aten::add.Tensor(Tensor self, ..., *, Scalar alpha=1) ->
// Tensor". One left-to-right scan without recursion. Our own extension is the parameter type Graph.
// Knows the notation only, no operator.
#include "ops/op.h"

enum { PARAM_MAX = 64, RETURN_MAX = 16 };

typedef struct scanner {
    sc_ctx *ctx;
    sc_str text;
    size_t at;
} scanner;

static sc_status bad(scanner *s, const char *wanted) {
    return sc_fail(s->ctx, SC_ERR_FORMAT, "Write the operator's schema in PyTorch's notation.",
                   "operator schema: expected %s at byte %zu", wanted, s->at);
}

static void skip_spaces(scanner *s) {
    while (s->at < s->text.size && s->text.data[s->at] == ' ') s->at++;
}

static char peek(scanner *s) {
    skip_spaces(s);
    return s->at < s->text.size ? s->text.data[s->at] : '\0';
}

static bool take(scanner *s, const char *token) {
    skip_spaces(s);
    if (!sc_str_starts_with(sc_str_slice(s->text, s->at, s->text.size), token)) return false;
    s->at += strlen(token);
    return true;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static sc_str word(scanner *s) {
    skip_spaces(s);
    size_t begin = s->at;
    while (s->at < s->text.size && is_word(s->text.data[s->at])) s->at++;
    return sc_str_slice(s->text, begin, s->at);
}

// --- Types ---------------------------------------------------------------------------------------

static const struct {
    const char *name;
    sc_param_type type;
    bool symbolic;
} types[] = {
    {"Tensor", SC_PARAM_TENSOR, false},       {"int", SC_PARAM_INT, false},
    {"SymInt", SC_PARAM_INT, true},           {"float", SC_PARAM_FLOAT, false},
    {"SymFloat", SC_PARAM_FLOAT, true},       {"bool", SC_PARAM_BOOL, false},
    {"SymBool", SC_PARAM_BOOL, true},         {"Scalar", SC_PARAM_SCALAR, false},
    {"number", SC_PARAM_SCALAR, false},       {"str", SC_PARAM_STR, false},
    {"ScalarType", SC_PARAM_DTYPE, false},    {"Layout", SC_PARAM_LAYOUT, false},
    {"Device", SC_PARAM_DEVICE, false},       {"MemoryFormat", SC_PARAM_MEMORY_FORMAT, false},
    {"Generator", SC_PARAM_GENERATOR, false}, {"Graph", SC_PARAM_GRAPH, false},
    {"Part", SC_PARAM_PART, false},
};

// "(a)", "(a!)", "(a -> *)"; an empty text is fine too.
static sc_status alias_mark(scanner *s, sc_param *param) {
    if (peek(s) != '(') return SC_OK;
    s->at++;
    param->is_aliased = true;
    while (s->at < s->text.size && s->text.data[s->at] != ')') {
        if (s->text.data[s->at] == '!') param->is_written = true;
        s->at++;
    }
    param->is_aliased = !param->is_written;
    return take(s, ")") ? SC_OK : bad(s, "')' after an alias mark");
}

static sc_status list_mark(scanner *s, sc_param *param) {
    if (!take(s, "[")) return SC_OK;
    param->is_list = true;
    sc_str size = word(s);
    int64_t count = 0;
    if (size.size && (!sc_parse_i64(size, &count) || count < 0 || count > PARAM_MAX))
        return bad(s, "a list size");
    param->list_size = (int32_t)count;
    if (!take(s, "]")) return bad(s, "']'");
    // The mark of a list may also follow the brackets: Tensor(a!)[] and Tensor[](a!).
    return alias_mark(s, param);
}

static sc_status parse_type(scanner *s, sc_param *param) {
    sc_str name = word(s);
    size_t i = 0;
    while (i < SC_COUNT_OF(types) && !sc_str_is(name, types[i].name)) i++;
    if (i == SC_COUNT_OF(types)) return bad(s, "a type");
    param->type = types[i].type;
    param->is_symbolic = types[i].symbolic;
    SC_TRY(alias_mark(s, param));
    bool optional = take(s, "?");
    SC_TRY(list_mark(s, param));
    if (param->is_list) param->item_is_optional = optional;
    param->is_optional = take(s, "?") || (optional && !param->is_list);
    return SC_OK;
}

// --- Defaults ------------------------------------------------------------------------------------

static sc_status default_list(scanner *s, sc_param *param) {
    param->default_kind = SC_DEFAULT_INTS;
    if (take(s, "]")) return SC_OK;
    do {
        bool minus = take(s, "-");
        int64_t value;
        if (param->default_ints_count == SC_COUNT_OF(param->default_ints) ||
            !sc_parse_i64(word(s), &value))
            return bad(s, "at most four integers");
        param->default_ints[param->default_ints_count++] = minus ? -value : value;
    } while (take(s, ","));
    return take(s, "]") ? SC_OK : bad(s, "']'");
}

static sc_status default_string(scanner *s, sc_param *param, char quote) {
    size_t begin = ++s->at;
    while (s->at < s->text.size && s->text.data[s->at] != quote) s->at++;
    param->default_kind = SC_DEFAULT_STR;
    param->default_str = sc_str_slice(s->text, begin, s->at);
    return take(s, quote == '"' ? "\"" : "'") ? SC_OK : bad(s, "a closing quote");
}

static sc_status set_number(scanner *s, sc_param *param, sc_str text) {
    if (sc_parse_i64(text, &param->default_int)) {
        param->default_kind = SC_DEFAULT_INT;
        if (param->type == SC_PARAM_FLOAT) {
            param->default_kind = SC_DEFAULT_FLOAT;
            param->default_float = (double)param->default_int;
        }
        if (param->type == SC_PARAM_MEMORY_FORMAT) param->default_kind = SC_DEFAULT_MEMORY_FORMAT;
    } else if (sc_parse_f64(text, &param->default_float)) {
        param->default_kind = SC_DEFAULT_FLOAT;
    } else {
        return bad(s, "a default value");
    }
    return SC_OK;
}

static sc_status default_number(scanner *s, sc_param *param) {
    skip_spaces(s);
    size_t begin = s->at;
    while (s->at < s->text.size && s->text.data[s->at] != ',' && s->text.data[s->at] != ')')
        s->at++;
    sc_str text = sc_str_slice(s->text, begin, s->at);
    // PyTorch writes 2. for 2.0.
    if (text.size && text.data[text.size - 1] == '.') text.size--;
    SC_TRY(set_number(s, param, text));
    if (param->is_list && param->list_size > 0 && param->default_kind == SC_DEFAULT_INT) {
        if ((size_t)param->list_size > SC_COUNT_OF(param->default_ints))
            return bad(s, "a list default");
        param->default_kind = SC_DEFAULT_INTS;
        param->default_ints_count = (uint32_t)param->list_size;
        for (int32_t i = 0; i < param->list_size; i++) param->default_ints[i] = param->default_int;
    }
    return SC_OK;
}

static sc_status parse_default(scanner *s, sc_param *param) {
    static const struct {
        const char *text;
        sc_default_kind kind;
        int64_t value;
    } words[] = {{"None", SC_DEFAULT_NONE, 0},
                 {"True", SC_DEFAULT_BOOL, 1},
                 {"False", SC_DEFAULT_BOOL, 0},
                 {"Mean", SC_DEFAULT_INT, 1},  // at::Reduction::Mean
                 {"contiguous_format", SC_DEFAULT_MEMORY_FORMAT, SC_MEMORY_FORMAT_CONTIGUOUS},
                 {"preserve_format", SC_DEFAULT_MEMORY_FORMAT, SC_MEMORY_FORMAT_PRESERVE},
                 {"long", SC_DEFAULT_INT, SC_DTYPE_I64}};
    char c = peek(s);
    if (c == '[') {
        s->at++;
        return default_list(s, param);
    }
    if (c == '"' || c == '\'') return default_string(s, param, c);
    size_t begin = s->at;
    sc_str name = word(s);
    for (size_t i = 0; i < SC_COUNT_OF(words); i++) {
        if (sc_str_is(name, words[i].text)) {
            param->default_kind = words[i].kind;
            param->default_int = words[i].value;
            return SC_OK;
        }
    }
    s->at = begin;
    return default_number(s, param);
}

// --- The whole -----------------------------------------------------------------------------------

static sc_status parse_params(scanner *s, sc_param *params, uint32_t *count) {
    bool keyword_only = false;
    while (!take(s, ")")) {
        if (*count && !take(s, ",")) return bad(s, "',' or ')'");
        if (!keyword_only && take(s, "*")) {
            keyword_only = true;
            if (*count == 0 && !take(s, ",")) return bad(s, "',' after '*'");
            if (*count) continue;
        }
        if (*count == PARAM_MAX) return bad(s, "at most 64 parameters");
        sc_param *param = &params[*count];
        *param = (sc_param){.keyword_only = keyword_only};
        SC_TRY(parse_type(s, param));
        param->name = word(s);
        if (!param->name.size) return bad(s, "a parameter name");
        if (take(s, "=")) SC_TRY(parse_default(s, param));
        (*count)++;
    }
    return SC_OK;
}

static sc_status parse_return(scanner *s, sc_return *out) {
    sc_param param = {0};
    SC_TRY(parse_type(s, &param));
    word(s);  // results may be named
    *out = (sc_return){.type = param.type,
                       .is_list = param.is_list,
                       .is_optional = param.is_optional || param.item_is_optional,
                       .is_marked = param.is_written || param.is_aliased};
    return SC_OK;
}

static sc_status parse_returns(scanner *s, sc_return *returns, uint32_t *count) {
    if (!take(s, "->")) return bad(s, "'->'");
    if (!take(s, "(")) {
        *count = 1;
        return parse_return(s, &returns[0]);
    }
    while (!take(s, ")")) {
        if (*count && !take(s, ",")) return bad(s, "',' or ')'");
        if (*count == RETURN_MAX) return bad(s, "at most 16 results");
        SC_TRY(parse_return(s, &returns[(*count)++]));
    }
    return SC_OK;
}

sc_status sc_schema_parse(sc_ctx *ctx, sc_arena *arena, sc_str text, sc_schema *out) {
    scanner s = {.ctx = ctx, .text = text};
    sc_param params[PARAM_MAX];
    sc_return returns[RETURN_MAX];
    *out = (sc_schema){0};
    ptrdiff_t open = sc_str_find(text, '(');
    if (open <= 0) return bad(&s, "a name and '('");
    out->name = sc_str_slice(text, 0, (size_t)open);
    s.at = (size_t)open + 1;
    SC_TRY(parse_params(&s, params, &out->param_count));
    SC_TRY(parse_returns(&s, returns, &out->return_count));
    if (peek(&s) != '\0' || s.at != text.size) return bad(&s, "the end");
    out->params = sc_new_array(arena, sc_param, out->param_count);
    out->returns = sc_new_array(arena, sc_return, out->return_count);
    if (out->param_count) memcpy(out->params, params, out->param_count * sizeof *params);
    if (out->return_count) memcpy(out->returns, returns, out->return_count * sizeof *returns);
    return SC_OK;
}
