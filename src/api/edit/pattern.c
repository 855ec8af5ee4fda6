// Replaces matches of one formula by another one. The pattern is read backwards from each node, and
// the replacement forwards where it matches. Names match any value or argument: the first use binds
// a name, and others must be the same. Matched nodes that other nodes use stay, so every
// replacement is correct.
#include <math.h>

#include "api/edit/edit.h"
#include "ops/formula.h"
#include "passes/promote.h"

typedef const sc_formula_node *node;

enum { SWAPS_MAX = 10, MATCHED_MAX = 64 };

typedef struct pattern {
    sc_edit *edit;
    sc_formula formula;
    uint32_t swap_count;  // calls whose operands may be swapped
    uint32_t swaps;       // the calls swapped in this attempt: a bit for each in order of visits
    uint32_t next_swap;
    sc_arg bound[SC_FORMULA_NAMES];
    bool is_bound[SC_FORMULA_NAMES];
    sc_node *matched[MATCHED_MAX];  // users before their operands
    uint32_t matched_count;
    sc_imap writes;  // of a source program: address of a node -> number of writes before it
} pattern;

static bool match_arg(pattern *p, const sc_arg *arg, node n);

// --- Names of a pattern --------------------------------------------------------------------------

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':';
}

static bool is_constant_word(sc_str word) {
    static const char *const WORDS[] = {"None", "True", "False", "inf",
                                        "nan",  "if",   "then",  "else"};
    for (uint32_t i = 0; i < SC_COUNT_OF(WORDS); i++)
        if (sc_str_is(word, WORDS[i])) return true;
    return sc_dtype_from_short(word) != SC_DTYPE_NONE || sc_str_is(word, "contiguous_format") ||
           sc_str_is(word, "preserve_format");
}

static void add_name(sc_formula_names *names, sc_str word) {
    for (uint32_t i = 0; i < names->count; i++)
        if (sc_str_equal(names->items[i], word)) return;
    if (names->count < SC_FORMULA_NAMES) names->items[names->count++] = word;
}

// Names that are neither called nor defined nor constants.
static sc_formula_names free_names(sc_str text) {
    sc_formula_names names = {.count = 0};
    for (size_t at = 0; at < text.size;) {
        const char c = text.data[at];
        if (c == '\'' || c == '"') {
            do at++;
            while (at < text.size && text.data[at] != c);
        }
        if (!is_name_char(c)) {
            at++;
            continue;
        }
        const size_t begin = at;
        while (at < text.size && is_name_char(text.data[at])) at++;
        const sc_str word = sc_str_slice(text, begin, at);
        while (at < text.size && text.data[at] == ' ') at++;
        const char next = at < text.size ? text.data[at] : '\0';
        const bool is_number = (c >= '0' && c <= '9') || c == '.';
        if (!is_number && next != '(' && next != '=' && !is_constant_word(word))
            add_name(&names, word);
    }
    return names;
}

// --- Parsing -------------------------------------------------------------------------------------

// A pattern and a replacement may contain only calls and their arguments.
static const char *unfit_part(node n, uint32_t *calls, uint32_t *commuting) {
    if (!n) return NULL;
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_WORD:
    case SC_FORMULA_IF:
    case SC_FORMULA_EQUAL: return "has a word that only expansions may use";
    case SC_FORMULA_CALL:
        if (sc_op_has(n->op, SC_HIGHER_ORDER)) return "has a call of control flow";
        if (sc_op_has(n->op, SC_MUTATES)) return "has a call that writes in place";
        *commuting += sc_op_has(n->op, SC_COMMUTES) && n->count == 2;
        if (++*calls > MATCHED_MAX)
            return "has more than 64 calls, which is the most that can be matched";
        break;
    case SC_FORMULA_BLOCK:
    case SC_FORMULA_DEFINITION:
    case SC_FORMULA_ITEM:
    case SC_FORMULA_LIST: break;
    default: return NULL;
    }
    for (uint32_t i = 0; i < n->count || (n->kind == SC_FORMULA_ITEM && i < 1); i++) {
        const char *why = unfit_part(n->items[i], calls, commuting);
        if (why) return why;
    }
    return NULL;
}

static sc_status parse(sc_ctx *ctx, const char *what, sc_str text, const sc_formula_names *names,
                       sc_formula *out, uint32_t *commuting) {
    *commuting = 0;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    if (sc_formula_parse(ctx, ctx->scratch, text, names, out) != SC_OK) {
        const sc_diag found = sc_vec_last(&ctx->diags);
        sc_diags_rewind(ctx, mark);
        return sc_fail(ctx, SC_ERR_ARGUMENT, sc_str_dup(ctx->arena, found.hint),
                       "the %s cannot be read: " SC_STR_FMT, what, SC_STR_ARG(found.message));
    }
    uint32_t calls = 0;
    const char *why =
        out->given_count ? "fixes an argument" : unfit_part(out->root, &calls, commuting);
    if (!why) return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Write calls, names, numbers and lists.", "the %s %s",
                   what, why);
}

static sc_status parse_pattern(pattern *p, sc_str text, const sc_formula_names *names) {
    sc_ctx *ctx = &p->edit->job->ctx;
    SC_TRY(parse(ctx, "pattern", text, names, &p->formula, &p->swap_count));
    if (!sc_formula_result(&p->formula) && p->formula.root->kind != SC_FORMULA_ITEM)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Begin with the call whose result is replaced.",
                       "the pattern is not a call");
    if (p->swap_count > SWAPS_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, "Use a smaller pattern.",
                       "the pattern has %u calls whose operands may be swapped, and %d is the most",
                       p->swap_count, SWAPS_MAX);
    return SC_OK;
}

// --- Matching ------------------------------------------------------------------------------------

static bool is_operator(const sc_op *found, const sc_op *wanted) {
    if (found == wanted || found == wanted->copy) return true;
    return !sc_op_has(found, SC_FOREIGN) && sc_op_are_overloads(found, wanted);
}

// Is the value a constant with that number?
static bool is_lifted(const pattern *p, const sc_value *value, double wanted) {
    const sc_method *method = p->edit->method;
    if (value->node || value->graph != method->graph) return false;
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_constant *c = method->inputs.data[i].constant;
        uint8_t found[16], bytes[16];
        if (method->graph->inputs.data[i] != value) continue;
        if (!c || !c->lifted_scalar || c->spec.rank || c->data.size > sizeof found) return false;
        const sc_dtype dtype = (sc_dtype)c->spec.dtype;
        if (sc_dtype_is_integral(dtype, true) && wanted != trunc(wanted)) return false;
        const sc_arg number = sc_arg_float(wanted);
        sc_number_encode(&number, dtype, bytes);
        const size_t size = (size_t)c->data.size;
        return sc_extent_read(&p->edit->job->ctx, c->data, 0, found, size) == SC_OK &&
               memcmp(found, bytes, size) == 0;
    }
    return false;
}

static bool match_number(const pattern *p, const sc_arg *arg, double wanted) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_INT: return (double)arg->i == wanted;
    case SC_ARG_FLOAT: return arg->f == wanted || (isnan(arg->f) && isnan(wanted));
    case SC_ARG_VALUE: return is_lifted(p, arg->value, wanted);
    default: return false;
    }
}

static bool match_list(pattern *p, const sc_arg *arg, node n) {
    if (arg->kind != SC_ARG_LIST || arg->count != n->count) return false;
    for (uint32_t i = 0; i < n->count; i++)
        if (!match_arg(p, &arg->items[i], n->items[i])) return false;
    return true;
}

// The item of the pattern for a parameter of the node. It is found by name, because overloads
// differ in positions.
static node item_for(node n, const sc_param *param, uint32_t at, bool is_swapped) {
    if (is_swapped && at < 2) return n->items[1 - at];
    for (uint32_t i = 0; i < n->count; i++)
        if (sc_str_equal(n->op->schema->params[i].name, param->name)) return n->items[i];
    return NULL;
}

static bool is_default(sc_arena *scratch, const sc_param *param, const sc_arg *arg) {
    if (param->default_kind == SC_DEFAULT_REQUIRED) return false;
    const sc_arg wanted = sc_arg_default(scratch, param);
    return sc_arg_equal(&wanted, arg);
}

static bool match_items(pattern *p, const sc_node *found, node n, bool is_swapped) {
    const sc_schema *schema = found->op->schema;
    uint32_t taken = 0, given = 0;
    for (uint32_t i = 0; i < n->count; i++) given += n->items[i] != NULL;
    for (uint32_t i = 0; i < found->arg_count && i < schema->param_count; i++) {
        const node item = item_for(n, &schema->params[i], i, is_swapped);
        taken += item != NULL;
        if (item ? !match_arg(p, &found->args[i], item)
                 : !is_default(p->edit->job->ctx.scratch, &schema->params[i], &found->args[i]))
            return false;
    }
    return taken == given;
}

static bool match_call(pattern *p, sc_node *found, node n) {
    if (!found || !found->op || sc_op_has(found->op, SC_FOREIGN) || !is_operator(found->op, n->op))
        return false;
    bool is_swapped = false;
    if (sc_op_has(n->op, SC_COMMUTES) && n->count == 2) is_swapped = p->swaps >> p->next_swap++ & 1;
    if (p->matched_count == MATCHED_MAX) return false;
    p->matched[p->matched_count++] = found;
    return match_items(p, found, n, is_swapped);
}

static bool match_name(pattern *p, const sc_arg *arg, uint32_t index) {
    if (p->is_bound[index]) return sc_arg_equal(&p->bound[index], arg);
    const node definition = p->formula.definitions[index];
    if (definition && !match_arg(p, arg, definition)) return false;
    p->bound[index] = *arg;
    return p->is_bound[index] = true;
}

static bool match_value(pattern *p, sc_value *value, node n) {
    if (n->kind == SC_FORMULA_CALL)
        return value->node && value->node->out_count == 1 && match_call(p, value->node, n);
    const node call = n->items[0];
    return value->node && n->index < value->node->out_count &&
           value->node->outs[n->index] == value && call->kind == SC_FORMULA_CALL &&
           match_call(p, value->node, call);
}

static bool match_arg(pattern *p, const sc_arg *arg, node n) {
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_CALL:
    case SC_FORMULA_ITEM: return arg->kind == SC_ARG_VALUE && match_value(p, arg->value, n);
    case SC_FORMULA_BLOCK: return match_arg(p, arg, n->items[n->count - 1]);
    case SC_FORMULA_NAME: return match_name(p, arg, n->index);
    case SC_FORMULA_LIST: return match_list(p, arg, n);
    case SC_FORMULA_INT: return match_number(p, arg, (double)n->i);
    case SC_FORMULA_FLOAT: return match_number(p, arg, n->f);
    case SC_FORMULA_BOOL: return arg->kind == SC_ARG_BOOL && arg->b == n->b;
    case SC_FORMULA_TEXT: return arg->kind == SC_ARG_STR && sc_str_equal(arg->str, n->text);
    case SC_FORMULA_DTYPE: return arg->kind == SC_ARG_DTYPE && arg->code == n->code;
    case SC_FORMULA_FORMAT: return arg->kind == SC_ARG_MEMORY_FORMAT && arg->code == n->code;
    case SC_FORMULA_NONE: return arg->kind == SC_ARG_NONE;
    default: return false;
    }
}

// --- Writes --------------------------------------------------------------------------------------

static sc_status count_writes(sc_ctx *ctx, sc_graph *graph, void *user) {
    pattern *p = user;
    uint64_t count = 0;
    (void)ctx;
    for (const sc_node *n = graph->first; n; n = n->next) {
        sc_imap_set(&p->writes, SC_PTR_KEY(n), count);
        count += sc_op_has(n->op, SC_MUTATES);
    }
    return SC_OK;
}

// Calls of a replacement are not counted. They stand before the call that they replace.
static uint64_t writes_before(const pattern *p, const sc_node *n) {
    const uint64_t *count;
    while (!(count = sc_imap_find(&p->writes, SC_PTR_KEY(n)))) n = n->next;
    return *count;
}

// A write between two matched calls may change what the second one reads.
static bool is_write_between(const pattern *p, const sc_value *root) {
    if (p->edit->is_edge) return false;
    const uint64_t before = writes_before(p, root->node);
    for (uint32_t i = 0; i < p->matched_count; i++)
        if (writes_before(p, p->matched[i]) != before) return true;
    return false;
}

// Tries every order of operands that may be swapped.
static bool match_root(pattern *p, sc_value *root) {
    const sc_arg arg = sc_arg_value(root);
    for (p->swaps = 0; p->swaps >> p->swap_count == 0; p->swaps++) {
        p->next_swap = p->matched_count = 0;
        memset(p->is_bound, 0, sizeof p->is_bound);
        if (match_arg(p, &arg, p->formula.root)) return !is_write_between(p, root);
        if (p->matched_count == 0) return false;  // a different operator
    }
    return false;
}

// --- Replacing -----------------------------------------------------------------------------------

typedef struct building {
    pattern *p;
    const sc_formula *formula;
    sc_node *root;                     // the node that the calls replace
    sc_arg defined[SC_FORMULA_NAMES];  // values of definitions
    sc_meta meta;
} building;

static sc_status build(building *b, node n, sc_arg *out);

static sc_status build_items(building *b, node n, sc_arg *out) {
    for (uint32_t i = 0; i < n->count; i++) SC_TRY(build(b, n->items[i], &out[i]));
    return SC_OK;
}

static sc_status build_node(building *b, node n, sc_node **out) {
    sc_ctx *ctx = &b->p->edit->job->ctx;
    const sc_op *op = b->p->edit->is_edge && n->op->copy ? n->op->copy : n->op;
    const sc_schema *schema = op->schema;
    sc_arg *args = sc_new_array(ctx->scratch, sc_arg, schema->param_count + 1), *complete;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        const sc_param *param = &schema->params[i];
        if (i < n->count && n->items[i]) {
            SC_TRY(build(b, n->items[i], &args[i]));
            continue;
        }
        if (param->default_kind == SC_DEFAULT_REQUIRED)
            return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s needs the argument '" SC_STR_FMT "'",
                           op->name, SC_STR_ARG(param->name));
        args[i] = sc_arg_default(ctx->scratch, param);
    }
    SC_TRY(sc_args_complete(ctx, ctx->scratch, op, args, schema->param_count, &complete));
    return sc_edit_make_node(b->p->edit, b->root->graph, b->root, op, complete, &b->meta, out);
}

static sc_status build_result(building *b, node call, uint32_t index, sc_arg *out) {
    sc_ctx *ctx = &b->p->edit->job->ctx;
    sc_node *made = NULL;
    if (call->kind != SC_FORMULA_CALL)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "only the result of a call can have an index");
    SC_TRY(build_node(b, call, &made));
    if (index >= made->out_count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s has %u results", call->op->name,
                       made->out_count);
    *out = sc_arg_value(made->outs[index]);
    return SC_OK;
}

static sc_status build_list(building *b, node n, sc_arg *out) {
    sc_arg *items = sc_new_array(b->p->edit->job->ctx.arena, sc_arg, n->count + 1);
    SC_TRY(build_items(b, n, items));
    *out = sc_arg_list(items, n->count);
    return SC_OK;
}

static sc_status build_block(building *b, node n, sc_arg *out) {
    for (uint32_t i = 0; i + 1 < n->count; i++)
        SC_TRY(build(b, n->items[i]->items[0], &b->defined[n->items[i]->index]));
    return build(b, n->items[n->count - 1], out);
}

static sc_status build_name(building *b, uint32_t index, sc_arg *out) {
    const bool is_param = index < b->formula->param_count;
    if (is_param && !b->p->is_bound[index])
        return sc_fail(&b->p->edit->job->ctx, SC_ERR_ARGUMENT,
                       "Use names of values and arguments that the pattern takes.",
                       "the replacement has a name that the pattern does not have");
    *out = is_param ? b->p->bound[index] : b->defined[index];
    return SC_OK;
}

static sc_status build(building *b, node n, sc_arg *out) {
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_CALL: return build_result(b, n, 0, out);
    case SC_FORMULA_ITEM: return build_result(b, n->items[0], n->index, out);
    case SC_FORMULA_BLOCK: return build_block(b, n, out);
    case SC_FORMULA_LIST: return build_list(b, n, out);
    case SC_FORMULA_NAME: return build_name(b, n->index, out);
    case SC_FORMULA_INT: *out = sc_arg_int(n->i); break;
    case SC_FORMULA_FLOAT: *out = sc_arg_float(n->f); break;
    case SC_FORMULA_BOOL: *out = sc_arg_bool(n->b); break;
    case SC_FORMULA_TEXT:
        *out = sc_arg_str(sc_str_copy(b->p->edit->job->ctx.arena, n->text));
        break;
    case SC_FORMULA_DTYPE: *out = sc_arg_dtype((sc_dtype)n->code); break;
    case SC_FORMULA_FORMAT: *out = sc_arg_format((sc_memory_format)n->code); break;
    default: *out = sc_arg_none(); break;
    }
    return SC_OK;
}

// Users come first among the matched nodes, so that each is unused when it is reached.
static void erase_unused(pattern *p) {
    for (uint32_t i = 0; i < p->matched_count; i++) {
        sc_node *call = p->matched[i];
        bool is_again = false;
        for (uint32_t j = i + 1; j < p->matched_count; j++) is_again |= p->matched[j] == call;
        if (is_again || sc_node_is_used(call) || sc_node_has_effect(call)) continue;
        sc_edit_forget(p->edit, call);
        sc_node_erase(call);
    }
}

typedef struct replacing {
    sc_edit_replacing *r;
    pattern pattern;
    sc_formula replacement;
} replacing;

static sc_status replace_at(replacing *x, sc_value *root) {
    sc_ctx *ctx = &x->r->edit->job->ctx;
    building b = {.p = &x->pattern, .formula = &x->replacement, .root = root->node};
    sc_arg made;
    b.meta = root->node->meta;
    b.meta.origin = sc_node_origin(root->node);
    sc_where_set_node(ctx, root->node);
    SC_TRY(build(&b, x->replacement.root, &made));
    if (made.kind != SC_ARG_VALUE)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Make the replacement a call, or the name of a value.",
                       "the replacement of '%s' is not a value", root->name->text);
    SC_TRY(sc_edit_replace_uses(x->r->edit, root, made.value, NULL));
    sc_vec_push(ctx->scratch, &x->r->roots, made.value);
    erase_unused(&x->pattern);
    return SC_OK;
}

// Calls of a replacement stand before its root, so that the walk does not meet them.
static sc_status replace_in(sc_ctx *ctx, sc_graph *graph, void *user) {
    replacing *x = user;
    (void)ctx;
    const node root = x->pattern.formula.root;
    const uint32_t index = root->kind == SC_FORMULA_ITEM ? root->index : 0;
    for (sc_node *call = graph->first, *next; call; call = next) {
        next = call->next;
        if (index >= call->out_count || !call->outs[index]->first_use) continue;
        if (match_root(&x->pattern, call->outs[index])) SC_TRY(replace_at(x, call->outs[index]));
    }
    return SC_OK;
}

sc_status sc_edit_replace_pattern(sc_edit_replacing *r) {
    sc_ctx *ctx = &r->edit->job->ctx;
    replacing x = {.r = r, .pattern = {.edit = r->edit}};
    const sc_formula_names names = free_names(r->pattern);
    uint32_t unused;
    SC_TRY(parse_pattern(&x.pattern, r->pattern, &names));
    SC_TRY(parse(ctx, "replacement", r->replacement, &names, &x.replacement, &unused));
    sc_graph *graph = r->edit->method->graph;
    sc_imap_init(&x.pattern.writes, ctx->scratch);
    if (!r->edit->is_edge) SC_TRY(sc_graphs_visit(ctx, graph, count_writes, &x.pattern));
    return sc_graphs_visit(ctx, graph, replace_in, &x);
}
