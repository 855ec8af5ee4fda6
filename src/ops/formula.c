// The parser of formulas: one scan from left to right. Names are resolved here, so that readers of
// the tree count and never compare text.
#include "ops/formula.h"

#include <math.h>

#include "base/print.h"
#include "ops/suggest.h"

typedef struct formula_parser {
    sc_arena *arena;
    sc_str text;
    size_t at;
    uint32_t depth;
    const char *mistake;
    size_t mistake_at;
    sc_str unknown;                  // the name of an operator that does not exist
    sc_str names[SC_FORMULA_NAMES];  // those in scope, newest last
    uint32_t indices[SC_FORMULA_NAMES];
    uint32_t in_scope;
    sc_formula *out;
} formula_parser;

typedef const sc_formula_node *node;

static const sc_formula_node absent = {.kind = SC_FORMULA_NONE};

static node parse_expr(formula_parser *p);
static node parse_block(formula_parser *p);

static node wrong(formula_parser *p, const char *mistake) {
    if (!p->mistake) {
        p->mistake = mistake;
        p->mistake_at = p->at;
    }
    return &absent;
}

static node made(formula_parser *p, sc_formula_node data) {
    sc_formula_node *copy = sc_new(p->arena, sc_formula_node);
    *copy = data;
    return copy;
}

static node made_of(formula_parser *p, sc_formula_node data, const node *items, uint32_t count) {
    node *copy = sc_new_array(p->arena, node, count + 1);
    if (count) memcpy(copy, items, count * sizeof *copy);
    data.items = copy;
    data.count = count;
    return made(p, data);
}

// --- Characters ----------------------------------------------------------------------------------

static char peek_at(const formula_parser *p, size_t at) {
    return at < p->text.size ? p->text.data[at] : '\0';
}

static char peek(formula_parser *p) {
    while (peek_at(p, p->at) == ' ' || peek_at(p, p->at) == '\n') p->at++;
    return peek_at(p, p->at);
}

static bool take(formula_parser *p, char c) {
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':';
}

static sc_str peek_word(formula_parser *p) {
    (void)peek(p);
    size_t end = p->at;
    while (is_word(peek_at(p, end))) end++;
    return sc_str_slice(p->text, p->at, end);
}

static sc_str take_word(formula_parser *p) {
    sc_str word = peek_word(p);
    p->at += word.size;
    return word;
}

static bool take_keyword(formula_parser *p, const char *keyword) {
    if (!sc_str_is(peek_word(p), keyword)) return false;
    p->at += strlen(keyword);
    return true;
}

// Does a word come next, and '=' behind it?
static bool starts_definition(formula_parser *p) {
    const size_t begin = p->at;
    const bool does = take_word(p).size > 0 && peek(p) == '=' && peek_at(p, p->at + 1) != '=';
    p->at = begin;
    return does;
}

// Does a word come next, and "is" behind it?
static bool starts_given(formula_parser *p) {
    const size_t begin = p->at;
    const bool does = take_word(p).size > 0 && sc_str_is(peek_word(p), "is");
    p->at = begin;
    return does;
}

// --- Names ---------------------------------------------------------------------------------------

static void bind(formula_parser *p, sc_str name, node definition) {
    if (p->out->name_count == SC_FORMULA_NAMES) {
        wrong(p, "too many names");
        return;
    }
    p->names[p->in_scope] = name;
    p->indices[p->in_scope++] = p->out->name_count;
    p->out->definitions[p->out->name_count++] = definition;
}

static bool find_name(const formula_parser *p, sc_str name, uint32_t *index) {
    for (uint32_t i = p->in_scope; i-- > 0;) {
        if (!sc_str_equal(p->names[i], name)) continue;
        *index = p->indices[i];
        return true;
    }
    return false;
}

// --- Calls ---------------------------------------------------------------------------------------

static const sc_op *find_op(formula_parser *p, sc_str name) {
    // Joined by hand: printing takes longer than all the rest of a call's parsing.
    char full[96] = "aten::";
    const sc_str given = name;
    if (sc_str_starts_with(name, "aten.")) name = sc_str_slice(name, strlen("aten."), name.size);
    const size_t before = sc_str_find(name, ':') >= 0 ? 0 : strlen(full);
    const bool fits = name.size <= sizeof full - before;
    if (fits) memcpy(full + before, name.data, name.size);
    const size_t size = before + name.size;
    const sc_op *op = fits ? sc_op_find((sc_str){full, size}) : NULL;
    // Most operators are meant by their overload of tensors.
    static const char TENSOR[] = ".Tensor";
    if (fits && !op && size + sizeof TENSOR <= sizeof full) {
        memcpy(full + size, TENSOR, sizeof TENSOR);
        op = sc_op_find((sc_str){full, size + sizeof TENSOR - 1});
    }
    if (!op && !p->mistake) {
        p->unknown = sc_str_copy(p->arena, fits ? (sc_str){full, size} : name);
        p->at = (size_t)(given.data - p->text.data);
        wrong(p, "there is no operator");
    }
    return op;
}

static int32_t param_of(const sc_op *op, sc_str name) {
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (sc_str_equal(op->schema->params[i].name, name)) return (int32_t)i;
    return -1;
}

static void parse_arg(formula_parser *p, const sc_op *op, node *args, uint32_t *count) {
    uint32_t index = *count;
    if (starts_definition(p)) {
        const int32_t param = param_of(op, take_word(p));
        take(p, '=');
        if (param < 0) {
            wrong(p, "a keyword is not a parameter");
            return;
        }
        index = (uint32_t)param;
    }
    if (index >= SC_FORMULA_ITEMS || index >= op->schema->param_count) {
        wrong(p, "too many arguments");
        return;
    }
    args[index] = parse_expr(p);
    if (index >= *count) *count = index + 1;
    if (peek(p) != ')' && !take(p, ',')) wrong(p, "an argument list does not end");
}

static node parse_call(formula_parser *p, sc_str name) {
    const sc_op *op = find_op(p, name);
    node args[SC_FORMULA_ITEMS] = {NULL};
    uint32_t count = 0;
    while (!p->mistake && !take(p, ')')) parse_arg(p, op, args, &count);
    return p->mistake
               ? &absent
               : made_of(p, (sc_formula_node){.kind = SC_FORMULA_CALL, .op = op}, args, count);
}

static const struct {
    const char *name;
    uint32_t items;
} words[] = {
#define WORD(id, items) {#id, items},
#include "ops/formula_words.def"
#undef WORD
};

static int word_of(sc_str name) {
    for (int i = 0; i < SC_WORD_COUNT; i++)
        if (sc_str_is(name, words[i].name)) return i;
    return -1;
}

static node parse_word_call(formula_parser *p, int word) {
    node items[SC_FORMULA_ITEMS];
    uint32_t count = 0;
    const bool is_block = word == SC_WORD_opmath || word == SC_WORD_real;
    while (!p->mistake && !take(p, ')')) {
        if (count == words[word].items) return wrong(p, "too many arguments");
        items[count++] = is_block ? parse_block(p) : parse_expr(p);
        if (peek(p) != ')' && !take(p, ',')) wrong(p, "an argument list does not end");
    }
    if (count < words[word].items) return wrong(p, "a word needs more arguments");
    return made_of(p, (sc_formula_node){.kind = SC_FORMULA_WORD, .code = (uint8_t)word}, items,
                   count);
}

// --- Expressions ---------------------------------------------------------------------------------

static node parse_list(formula_parser *p) {
    node items[SC_FORMULA_ITEMS];
    uint32_t count = 0;
    while (!p->mistake && !take(p, ']')) {
        if (count == SC_FORMULA_ITEMS) return wrong(p, "a list is too long");
        items[count++] = parse_expr(p);
        if (peek(p) != ']' && !take(p, ',')) return wrong(p, "a list does not end");
    }
    return made_of(p, (sc_formula_node){.kind = SC_FORMULA_LIST}, items, count);
}

static node number(formula_parser *p, double f) {
    return made(p, (sc_formula_node){.kind = SC_FORMULA_FLOAT, .f = f});
}

static node parse_number(formula_parser *p) {
    const size_t begin = p->at;
    int64_t i;
    double f;
    if (peek_at(p, p->at) == '-') p->at++;
    while (is_word(peek_at(p, p->at)) ||
           ((peek_at(p, p->at) == '-' || peek_at(p, p->at) == '+') && peek_at(p, p->at - 1) == 'e'))
        p->at++;
    const sc_str text = sc_str_slice(p->text, begin, p->at);
    if (sc_parse_i64(text, &i)) return made(p, (sc_formula_node){.kind = SC_FORMULA_INT, .i = i});
    return sc_parse_f64(text, &f) ? number(p, f) : wrong(p, "a number is malformed");
}

static node coded(formula_parser *p, sc_formula_kind kind, int code) {
    return made(p, (sc_formula_node){.kind = (uint8_t)kind, .code = (uint8_t)code});
}

static node constant(formula_parser *p, sc_str name) {
    const sc_dtype dtype = sc_dtype_from_short(name);
    if (sc_str_is(name, "None")) return &absent;
    if (sc_str_is(name, "True") || sc_str_is(name, "False"))
        return made(p, (sc_formula_node){.kind = SC_FORMULA_BOOL, .b = name.data[0] == 'T'});
    if (sc_str_is(name, "inf")) return number(p, INFINITY);
    if (sc_str_is(name, "nan")) return number(p, NAN);
    if (sc_str_is(name, "contiguous_format"))
        return coded(p, SC_FORMULA_FORMAT, SC_MEMORY_FORMAT_CONTIGUOUS);
    if (sc_str_is(name, "preserve_format"))
        return coded(p, SC_FORMULA_FORMAT, SC_MEMORY_FORMAT_PRESERVE);
    if (dtype == SC_DTYPE_NONE) return wrong(p, "a name is not known");
    return coded(p, SC_FORMULA_DTYPE, dtype);
}

static node parse_text(formula_parser *p) {
    const size_t begin = ++p->at;
    const char quote = p->text.data[begin - 1];
    while (p->at < p->text.size && p->text.data[p->at] != quote) p->at++;
    const sc_str text = sc_str_slice(p->text, begin, p->at);
    if (!take(p, quote)) return wrong(p, "a text does not end");
    return made(p, (sc_formula_node){.kind = SC_FORMULA_TEXT, .text = text});
}

static node parse_name(formula_parser *p) {
    const sc_str name = take_word(p);
    uint32_t index;
    if (name.size == 0) return wrong(p, "an expression is missing");
    if (take(p, '(')) {
        const int word = word_of(name);
        return word >= 0 ? parse_word_call(p, word) : parse_call(p, name);
    }
    if (find_name(p, name, &index))
        return made(p, (sc_formula_node){.kind = SC_FORMULA_NAME, .index = index});
    return constant(p, name);
}

static node parse_items(formula_parser *p) {
    node value = parse_name(p);
    while (!p->mistake && take(p, '[')) {
        (void)peek(p);
        const node index = parse_number(p);
        if (p->mistake || index->kind != SC_FORMULA_INT || index->i < 0 ||
            index->i > SC_FORMULA_ITEMS || !take(p, ']'))
            return wrong(p, "an index does not end");
        value = made_of(p, (sc_formula_node){.kind = SC_FORMULA_ITEM, .index = (uint32_t)index->i},
                        &value, 1);
    }
    return value;
}

static node parse_test(formula_parser *p) {
    node sides[2] = {parse_expr(p)};
    if (peek(p) != '=' || peek_at(p, p->at + 1) != '=') return sides[0];
    p->at += 2;
    sides[1] = parse_expr(p);
    return made_of(p, (sc_formula_node){.kind = SC_FORMULA_EQUAL}, sides, 2);
}

static bool is_test(node test) {
    return test->kind == SC_FORMULA_EQUAL ||
           (test->kind == SC_FORMULA_WORD && test->code >= SC_WORD_is_float);
}

static node parse_if(formula_parser *p) {
    node parts[3] = {parse_test(p)};
    if (!p->mistake && !is_test(parts[0])) return wrong(p, "a test is missing");
    if (!take_keyword(p, "then")) return wrong(p, "'then' is missing");
    parts[1] = parse_expr(p);
    if (!take_keyword(p, "else")) return wrong(p, "'else' is missing");
    parts[2] = parse_expr(p);
    return made_of(p, (sc_formula_node){.kind = SC_FORMULA_IF}, parts, 3);
}

static node parse_group(formula_parser *p) {
    const node value = parse_block(p);
    return take(p, ')') ? value : wrong(p, "a parenthesis does not end");
}

static node parse_any(formula_parser *p) {
    const char c = peek(p);
    if (take(p, '(')) return parse_group(p);
    if (take(p, '[')) return parse_list(p);
    if (c == '\'' || c == '"') return parse_text(p);
    if (c == '-' && peek_at(p, p->at + 1) == 'i') {
        p->at++;
        return take_keyword(p, "inf") ? number(p, -INFINITY) : wrong(p, "a number is malformed");
    }
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(p);
    return take_keyword(p, "if") ? parse_if(p) : parse_items(p);
}

static node parse_expr(formula_parser *p) {
    if (p->mistake) return &absent;
    if (p->depth == SC_FORMULA_DEPTH) return wrong(p, "too deep");
    p->depth++;
    const node value = parse_any(p);
    p->depth--;
    return value;
}

static node parse_definition(formula_parser *p) {
    const sc_str name = take_word(p);
    take(p, '=');
    const node value = parse_expr(p);
    bind(p, name, value);
    if (!take(p, ';')) return wrong(p, "a definition does not end");
    return made_of(
        p, (sc_formula_node){.kind = SC_FORMULA_DEFINITION, .index = p->out->name_count - 1},
        &value, 1);
}

// Names of definitions end with the block.
static node parse_block(formula_parser *p) {
    node items[SC_FORMULA_NAMES + 1];
    uint32_t count = 0;
    const uint32_t outer = p->in_scope;
    while (!p->mistake && starts_definition(p)) items[count++] = parse_definition(p);
    items[count] = parse_expr(p);
    p->in_scope = outer;
    if (count == 0) return items[0];
    return made_of(p, (sc_formula_node){.kind = SC_FORMULA_BLOCK}, items, count + 1);
}

static void parse_given(formula_parser *p) {
    uint32_t param;
    if (!find_name(p, take_word(p), &param) || p->out->given_count == SC_FORMULA_GIVEN) {
        wrong(p, "an argument is not one of the parameters");
        return;
    }
    take_keyword(p, "is");
    p->out->given[p->out->given_count].param = param;
    p->out->given[p->out->given_count++].is = parse_expr(p);
    if (!take(p, ';')) wrong(p, "an argument does not end");
}

// --- Formulas ------------------------------------------------------------------------------------

sc_formula_names sc_formula_names_of(const sc_op *op) {
    sc_formula_names names = {.count = op->schema->param_count};
    SC_ASSERT(names.count <= SC_FORMULA_NAMES);
    for (uint32_t i = 0; i < names.count; i++) names.items[i] = op->schema->params[i].name;
    return names;
}

sc_formula_names sc_formula_names_in(const char *list) {
    sc_formula_names names = {.count = 0};
    while (*list && names.count < SC_FORMULA_NAMES) {
        const size_t size = strcspn(list, ",");
        names.items[names.count++] = (sc_str){list, size};
        list += size;
        while (*list == ',' || *list == ' ') list++;
    }
    return names;
}

sc_status sc_formula_parse(sc_ctx *ctx, sc_arena *arena, sc_str text, const sc_formula_names *names,
                           sc_formula *out) {
    formula_parser p = {.arena = arena, .text = text, .out = out};
    *out = (sc_formula){.root = &absent, .param_count = names->count};
    for (uint32_t i = 0; i < names->count; i++) bind(&p, names->items[i], NULL);
    while (!p.mistake && starts_given(&p)) parse_given(&p);
    out->root = parse_block(&p);
    if (peek(&p) || p.at < p.text.size) wrong(&p, "text follows the expression");
    if (!p.mistake) return SC_OK;
    if (p.unknown.size)
        return sc_fail(ctx, SC_ERR_FORMAT, sc_op_suggest(arena, p.unknown),
                       "%s '" SC_STR_FMT "', at byte %zu", p.mistake, SC_STR_ARG(p.unknown),
                       p.mistake_at);
    return sc_fail(ctx, SC_ERR_FORMAT,
                   "Write calls of operators, such as \"mul(x, sigmoid(x))\", with overloads "
                   "where they need one.",
                   "%s, at byte %zu", p.mistake, p.mistake_at);
}

const sc_formula *sc_formula_make(const char *text, const sc_formula_names *names) {
    sc_arena scratch;
    sc_ctx ctx;
    sc_formula *formula = sc_new(sc_ops_arena(), sc_formula);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &scratch, &scratch);
    const sc_status status =
        sc_formula_parse(&ctx, sc_ops_arena(), sc_str_from(text), names, formula);
    if (status != SC_OK && !sc_ops_are_whole()) {
        formula = NULL;
    } else if (status != SC_OK) {
        char defect[256];
        sc_print(defect, sizeof defect, "%s of %s", sc_vec_last(&ctx.diags).message.data, text);
        sc_panic(__FILE__, __LINE__, defect);
    }
    sc_arena_deinit(&scratch);
    return formula;
}

const sc_formula_node *sc_formula_result(const sc_formula *formula) {
    node at = formula->root;
    for (uint32_t i = 0; i < 2 * SC_FORMULA_DEPTH; i++) {
        if (at->kind == SC_FORMULA_CALL) return at;
        if (at->kind == SC_FORMULA_BLOCK)
            at = at->items[at->count - 1];
        else if (at->kind == SC_FORMULA_NAME && formula->definitions[at->index])
            at = formula->definitions[at->index];
        else if (at->kind == SC_FORMULA_WORD && at->code == SC_WORD_final)
            at = at->items[0];
        else
            return NULL;
    }
    return NULL;
}
