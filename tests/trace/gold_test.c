// Decomposition against a later PyTorch: tests/decompose/gold/*.txt hold, line by line, graphs that
// a 2.14 nightly exported and what its run_decompositions made of them, without shapes and dtypes.
// The case of the same name in tests/decompose/*.ir must be the same exported graph, and our pass
// must make the same core graph of it: every node in its place, with all its arguments, up to
// names. Differences stand in a list with their reasons, and must go on differing.
#include <ctype.h>
#include <math.h>

#include "ir/ir.h"
#include "passes/passes.h"
#include "setup.h"

typedef struct binding {
    sc_str name;
    const sc_node *node;    // NULL for inputs
    const sc_value *value;  // NULL for a node with several results
} binding;

typedef struct reader {
    sc_arena *arena;
    const char *at;  // NUL-terminated; lines end before it does
    SC_VEC(binding) names;
    const sc_node *node;  // of ours, next to be matched
} reader;

// --- Words ---------------------------------------------------------------------------------------

static bool accept(reader *r, const char *text) {
    size_t size = strlen(text);
    if (strncmp(r->at, text, size) != 0) return false;
    r->at += size;
    return true;
}

static sc_str word(reader *r) {
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || (*r->at && strchr("_.+-", *r->at))) r->at++;
    return (sc_str){start, (size_t)(r->at - start)};
}

static bool accept_end(reader *r) { return accept(r, "\n"); }

static const binding *find(const reader *r, sc_str name) {
    for (uint32_t i = r->names.count; i-- > 0;)
        if (sc_str_equal(r->names.data[i].name, name)) return &r->names.data[i];
    return NULL;
}

static bool bind(reader *r, sc_str name, const sc_node *node, const sc_value *value) {
    sc_vec_push(r->arena, &r->names, ((binding){name, node, value}));
    return true;
}

static bool bind_node(reader *r, sc_str name, const sc_node *node) {
    return bind(r, name, node, node->out_count == 1 ? node->outs[0] : NULL);
}

// --- Arguments -----------------------------------------------------------------------------------

// Python's repr; the name of a node at the end of an assertion's message does not count.
static bool match_string(reader *r, sc_str expected) {
    char quote = *r->at++;
    const char *end = strchr(r->at, quote);
    if (!end) return false;
    sc_str text = {r->at, (size_t)(end - r->at)};
    r->at = end + 1;
    if (sc_str_equal(text, expected)) return true;
    return text.size > expected.size && sc_str_starts_with(text, sc_str_dup(r->arena, expected)) &&
           strncmp(text.data + expected.size, " on node '", 10) == 0;
}

static bool match_number(reader *r, const sc_arg *arg) {
    sc_str text = word(r);
    int64_t i;
    double f;
    if (arg->kind == SC_ARG_INT) return sc_parse_i64(text, &i) && i == arg->i;
    return sc_parse_f64(text, &f) && (f == arg->f || (isnan(f) && isnan(arg->f)));
}

static bool match_value(reader *r, const sc_value *value) {
    const binding *known = find(r, word(r));
    return known && known->value == value;
}

static bool match_arg(reader *r, const sc_arg *arg);

static bool match_list(reader *r, const sc_arg *arg) {
    if (!accept(r, "[")) return false;
    for (uint32_t i = 0; i < arg->count; i++)
        if ((i && !accept(r, ", ")) || !match_arg(r, &arg->items[i])) return false;
    return accept(r, "]");
}

static bool match_arg(reader *r, const sc_arg *arg) {
    static const char *const formats[] = {"contiguous_format", "preserve_format", "channels_last",
                                          "channels_last_3d"};
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: return sc_str_is(word(r), "None");
    case SC_ARG_VALUE: return match_value(r, arg->value);
    case SC_ARG_INT:
    case SC_ARG_FLOAT: return match_number(r, arg);
    case SC_ARG_BOOL: return sc_str_is(word(r), arg->b ? "True" : "False");
    case SC_ARG_STR: return match_string(r, arg->str);
    case SC_ARG_DTYPE:
        return accept(r, "torch.") && sc_str_is(word(r), sc_dtype_name((sc_dtype)arg->code));
    case SC_ARG_LAYOUT: return arg->code == 0 && accept(r, "torch.strided");
    case SC_ARG_MEMORY_FORMAT:
        return accept(r, "torch.") && sc_str_is(word(r), formats[arg->code & 3]);
    case SC_ARG_DEVICE:
        return accept(r, "device(type=") && match_string(r, arg->str) && accept(r, ")");
    case SC_ARG_LIST: return match_list(r, arg);
    case SC_ARG_GRAPH:
    case SC_ARG_PART: return false;
    }
    return false;
}

// --- Nodes ---------------------------------------------------------------------------------------

// The parameter that the next argument is for: by its name, else by its place.
static int32_t read_param(reader *r, const sc_schema *schema, int32_t place) {
    const char *start = r->at;
    sc_str name = word(r);
    if (name.size && accept(r, " = "))
        for (uint32_t i = 0; i < schema->param_count; i++)
            if (sc_str_equal(schema->params[i].name, name)) return (int32_t)i;
    r->at = start;
    return place;
}

static bool match_arguments(reader *r, const sc_node *node) {
    const sc_schema *schema = node->op->schema;
    bool given[64] = {false};
    if (sc_op_has(node->op, SC_FOREIGN) || node->arg_count > SC_COUNT_OF(given)) return false;
    for (int32_t place = 0; !accept(r, ")"); place++) {
        if (place > 0 && !accept(r, ", ")) return false;
        int32_t i = read_param(r, schema, place);
        if ((uint32_t)i >= node->arg_count || given[i] || !match_arg(r, &node->args[i]))
            return false;
        given[i] = true;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) {
        sc_arg omitted = sc_arg_default(r->arena, &schema->params[i]);
        if (!given[i] && !sc_arg_equal(&omitted, &node->args[i])) return false;
    }
    return true;
}

// "a * 5": arithmetic on sizes, one of our operators on symbols.
static bool match_infix(reader *r, const sc_node *node) {
    static const char *const operators[][2] = {{" + ", "sym::add"}, {" - ", "sym::sub"},
                                               {" * ", "sym::mul"}, {" // ", "sym::floordiv"},
                                               {" >= ", "sym::ge"}, {" <= ", "sym::le"}};
    if (node->arg_count != 2 || !match_arg(r, &node->args[0])) return false;
    for (size_t i = 0; i < SC_COUNT_OF(operators); i++)
        if (accept(r, operators[i][0]))
            return strcmp(node->op->name, operators[i][1]) == 0 && match_arg(r, &node->args[1]);
    return false;
}

// Other namespaces than aten are spelt out: "torch.ops.torchvision.nms.default".
static bool match_call(reader *r, sc_str op, const sc_node *node) {
    static const char prefix[] = "torch.ops.";
    const char *space_end = strstr(node->op->name, "::");
    size_t space = space_end ? (size_t)(space_end - node->op->name) : 0;
    if (sc_str_ends_with(op, ".default")) op.size -= strlen(".default");
    if (strncmp(node->op->name, "aten::", 6) != 0) {
        const char *expected = test_format("%s%.*s.%s", prefix, (int)space, node->op->name,
                                           space_end ? space_end + 2 : "");
        return sc_str_is(op, expected) && match_arguments(r, node);
    }
    return sc_str_is(op, node->op->name + 6) && match_arguments(r, node);
}

// "name = other", "name = other[1]", "name = op.overload(...)" or "name = a * b".
static bool match_line(reader *r) {
    sc_str name = word(r);
    if (!accept(r, " = ")) return false;
    const char *start = r->at;
    sc_str first = word(r);
    const binding *known = find(r, first);
    if (known && accept_end(r)) return bind(r, name, known->node, known->value);
    if (known && known->node && accept(r, "[")) {
        int64_t i;
        return sc_parse_i64(word(r), &i) && i >= 0 && i < known->node->out_count &&
               bind(r, name, NULL, known->node->outs[i]) && accept(r, "]") && accept_end(r);
    }
    const sc_node *node = r->node;
    if (!node) return false;
    r->node = node->next;
    if (accept(r, "(")) {
        if (!match_call(r, first, node)) return false;
    } else {
        r->at = start;
        if (!match_infix(r, node)) return false;
    }
    return bind_node(r, name, node) && accept_end(r);
}

// --- Graphs --------------------------------------------------------------------------------------

static bool match_inputs(reader *r, const sc_graph *graph) {
    if (!accept(r, "   args: ") && !accept(r, "   args:")) return false;
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        if (i && !accept(r, ", ")) return false;
        sc_str name = word(r);
        if (!name.size || !bind(r, name, NULL, graph->inputs.data[i])) return false;
    }
    return accept_end(r);
}

static bool match_return(reader *r, const sc_node *ret) {
    if (!accept(r, "(")) return false;
    for (uint32_t i = 0; i < ret->arg_count; i++)
        if ((i && !accept(r, ", ")) || !match_arg(r, &ret->args[i])) return false;
    if (ret->arg_count == 1 && !accept(r, ",")) return false;
    return accept(r, ")") && accept_end(r);
}

// NULL when the graph is the one that stands at `text`.
static const char *first_difference(setup *s, const sc_graph *graph, const char *text) {
    reader r = {.arena = &s->arena, .at = text, .node = graph->first};
    if (!match_inputs(&r, graph)) return "other inputs";
    for (;;) {
        const sc_node *node = r.node;
        const char *line = r.at;
        bool last = accept(&r, "   return ");
        bool same =
            last ? !node && match_return(&r, graph->ret) : accept(&r, "   ") && match_line(&r);
        if (!same)
            return test_format("%s of ours is not %.*s", node ? node->op->name : "return",
                               (int)strcspn(line, "\n"), line);
        if (last) return NULL;
    }
}

// --- Cases ---------------------------------------------------------------------------------------

#define CHECKED "PyTorch checks with an effect what our operator fails of by itself"

// Cases that are not equal to gold, and why: another core graph of the same exported one.
static const struct {
    const char *name, *why;
} deviations[] = {
    {"complex_abs", "complex numbers are taken apart"},
    {"polar", "complex numbers are taken apart"},
    {"stft", "complex numbers are taken apart"},
    {"istft", "complex numbers are taken apart"},
    {"fft2", "complex numbers are taken apart"},
    {"inverse", CHECKED},
    {"normal_", "drawn as all normal numbers are: no runtime has normal_functional"},
    {"multinomial", "drawn by even numbers: no runtime has the operator"},
    {"det", "one operator gives the factors of all determinants"},
    {"cholesky", CHECKED},
    {"is_all", "PyTorch keeps it: no runtime has the operator"},
    {"bn2d_train", "PyTorch keeps batch norm in training mode: no runtime has the operator"},
    {"copy_dt", "PyTorch forgets that copy_ casts: what the module computes is ours"},
    {"copy_bc", "PyTorch forgets that copy_ expands: what the module computes is ours"},
};

static int32_t find_deviation(sc_str name) {
    for (size_t i = 0; i < SC_COUNT_OF(deviations); i++)
        if (sc_str_is(name, deviations[i].name)) return (int32_t)i;
    return -1;
}

// All of tests/decompose/*.ir, one after the other.
static const char *read_cases(sc_arena *arena) {
    sc_sb all;
    size_t count, bytes;
    const char **files = test_list("decompose", ".ir", &count);
    sc_sb_init(&all, arena);
    for (size_t i = 0; i < count; i++) {
        const char *text = test_read(files[i], &bytes);
        sc_sb_add(&all, (sc_str){text, bytes});
    }
    return sc_sb_terminate(&all);
}

// The exported program of our case of that name, in which '_' stands for what is not a letter.
static sc_str find_case(const char *cases, sc_str name) {
    char *header = test_format("\n=== " SC_STR_FMT "\n", SC_STR_ARG(name));
    for (char *c = header + 5; *c != '\n'; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    const char *found = strstr(cases, header);
    const char *end = found ? strstr(found, "\n----\n") : NULL;
    if (!end) return (sc_str){0};
    found += strlen(header);
    return (sc_str){found, (size_t)(end + 1 - found)};
}

typedef struct gold {
    const char *exported, *core;
} gold;

// The first difference of the case, or NULL; `same_module`: the exported graph is not what differs.
static const char *difference(setup *s, sc_str text, gold expected, bool *same_module) {
    sc_program *program;
    if (!text.size) return "there is no case of this name";
    if (!CHECK_OK(sc_program_parse(&s->ctx, text, &program))) return "a case that cannot be read";
    sc_method *method = program->methods.data[0];
    const char *why = first_difference(s, method->graph, expected.exported);
    if (why) return test_format("another module: %s", why);
    *same_module = true;
    if (!CHECK_OK(sc_decompose(&s->ctx, method, NULL))) return "a case that does not decompose";
    return first_difference(s, method->graph, expected.core);
}

static void check_gold(const char *cases, sc_str name, const char *text) {
    static const char exported_mark[] = "\n  [train-IR]\n", core_mark[] = "\n  [core]\n";
    setup s;
    bool same_module = false;
    int32_t row = find_deviation(name);
    const char *core = strstr(text, core_mark);
    REQUIRE(core && strncmp(text, exported_mark, strlen(exported_mark)) == 0);
    gold expected = {text + strlen(exported_mark), core + strlen(core_mark)};
    setup_begin(&s);
    const char *why = difference(&s, find_case(cases, name), expected, &same_module);
    if (row < 0) {
        if (why) FAIL("%s", why);
    } else {
        if (!why) FAIL("equal, so it needs no row any more: %s", deviations[row].why);
        CHECK(same_module);
    }
    setup_end(&s);
}

TEST_CASES(gold_graphs_of_a_later_torch_are_ours) {
    size_t file_count;
    const char **files = test_list("decompose/gold", ".txt", &file_count);
    uint32_t count = 0, deviating = 0;
    setup whole;
    setup_begin(&whole);
    const char *cases = read_cases(&whole.arena);
    CHECK_OK(sc_ops_init());
    for (size_t i = 0; i < file_count; i++) {
        const char *at = test_read(files[i], NULL);
        for (at = strstr(at, "\n## "); at; at = strstr(at + 1, "\n## ")) {
            sc_str name = {at + 4, strcspn(at + 4, "\n")};
            deviating += find_deviation(name) >= 0;
            count++;
            if (test_case("%s " SC_STR_FMT, files[i], SC_STR_ARG(name)))
                check_gold(cases, name, name.data + name.size);
        }
    }
    CHECK_EQ_UINT(count, 541);
    CHECK_EQ_UINT(deviating, SC_COUNT_OF(deviations));
    setup_end(&whole);
}

// The comparison itself: one graph, and gold that says it or differs in one thing.
static const char ours[] =
    "method f {\n"
    "  symbol s0 [2, 9] hint 3\n"
    "  input %a: f32[s0, 4]\n"
    "  input %b: f32[s0, 4]\n"
    "  %n: int(s0) = aten::sym_size.int(%a, 0)\n"
    "  %m: int(s0*4) = sym::mul(%n, 4)\n"
    "  %full: f32[s0*4] = aten::full([%m], 0.5, dtype=f32, device=device(\"cpu\"))\n"
    "  max_1: (%v: f32[s0], %i: i64[s0]) = aten::max.dim(%a, -1)\n"
    "  %c: f32[s0, 4] = aten::clone(%b, memory_format=contiguous)\n"
    "  %add: f32[s0, 4] = aten::add.Tensor(%a, %c, alpha=2)\n"
    "  return %add, %v, %full\n}\n";
static const char theirs[] =
    "   args: x, y\n"
    "   y_1 = y\n"
    "   size = sym_size.int(x, 0)\n"
    "   mul = size * 4\n"
    "   full = full.default([mul], 0.5, dtype = torch.float32, device = device(type='cpu'))\n"
    "   max_1 = max.dim(x, -1)\n"
    "   getitem = max_1[0]\n"
    "   clone = clone.default(y_1, memory_format = torch.contiguous_format)\n"
    "   add = add.Tensor(x, clone, alpha = 2)\n"
    "   return (add, getitem, full)\n";
static const char *const changes[][2] = {
    {"x, y\n", "x\n"},
    {"x, y\n", "x, y, z\n"},
    {"y_1 = y\n", "y_1 = x\n"},
    {"(x, 0)", "(x, 1)"},
    {"(x, 0)", "(y, 0)"},
    {"(x, 0)", "(unknown, 0)"},
    {"size * 4", "size + 4"},
    {"size * 4", "size * 5"},
    {"[mul]", "[mul, 1]"},
    {"[mul]", "[]"},
    {"0.5", "0.25"},
    {"0.5", "True"},
    {"torch.float32", "torch.float64"},
    {", dtype = torch.float32", ""},
    {"'cpu'", "'cuda'"},
    {"device = ", "layout = "},
    {"x, -1", "x, -1, True"},
    {"x, -1", "x"},
    {"max.dim", "min.dim"},
    {"max_1[0]", "max_1[1]"},
    {"max_1[0]", "max_1[2]"},
    {"contiguous_format", "preserve_format"},
    {"clone.default", "alias.default"},
    {"add.Tensor", "add.Scalar"},
    {"add.Tensor", "add.default"},
    {"alpha = 2", "alpha = 2.0"},
    {", alpha = 2", ""},
    {"   add = add.Tensor(x, clone, alpha = 2)\n", ""},
    {"   mul = size * 4\n", "   mul = size * 4\n   mul_1 = size * 4\n"},
    {"(add, getitem, full)", "(add, getitem)"},
    {"(add, getitem, full)", "(getitem, add, full)"},
    {"(add, getitem, full)", "(add, getitem, full, mul)"},
};

TEST(gold_comparison_sees_every_difference) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    REQUIRE_OK(sc_program_parse(&s.ctx, SC_STR(ours), &program));
    const sc_graph *graph = program->methods.data[0]->graph;
    const char *why = first_difference(&s, graph, theirs);
    if (why) FAIL("%s", why);
    for (size_t i = 0; i < SC_COUNT_OF(changes); i++) {
        const char *at = strstr(theirs, changes[i][0]);
        REQUIRE(at != NULL);
        const char *changed = test_format("%.*s%s%s", (int)(at - theirs), theirs, changes[i][1],
                                          at + strlen(changes[i][0]));
        if (!first_difference(&s, graph, changed))
            FAIL("taken for equal: %s as %s", changes[i][0], changes[i][1]);
    }
    setup_end(&s);
}
