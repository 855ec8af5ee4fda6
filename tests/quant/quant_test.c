// Programs have to become what PT2E makes of them: the same nodes in the same order, scales but for
// rounding, zero points and integers exactly. tests/make/make_quant_cases.py wrote the programs and
// the texts; observers see the same numbers there and here, by our own runtime.
#include "quant/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/zip.h"

// --- The program as text -------------------------------------------------------------------------

typedef struct text {
    setup *s;
    const sc_method *method;
    sc_sb sb;
    sc_imap nodes;     // node -> its number + 1
    sc_map constants;  // target -> sc_constant, by first use
} text;

static void put_value(text *t, const sc_value *value) {
    if (value->node) {
        sc_sb_addf(&t->sb, "%%%u", (unsigned)*sc_imap_find(&t->nodes, SC_PTR_KEY(value->node)) - 1);
        if (value->node->out_count > 1) sc_sb_addf(&t->sb, ".%u", value->index);
        return;
    }
    const sc_input_sig *sig = &t->method->inputs.data[value->index];
    if (sig->constant) {
        sc_sb_addf(&t->sb, "@" SC_STR_FMT, SC_STR_ARG(sig->target));
        sc_map_add(&t->constants, sig->target, sig->constant);
        return;
    }
    uint32_t number = 0;
    for (uint32_t i = 0; i < value->index; i++)
        number += t->method->inputs.data[i].kind == SC_INPUT_USER;
    sc_sb_addf(&t->sb, "$%u", number);
}

static void put_arg(text *t, const sc_arg *arg) {
    switch (arg->kind) {
    case SC_ARG_VALUE: put_value(t, arg->value); break;
    case SC_ARG_NONE: sc_sb_add_text(&t->sb, "none"); break;
    case SC_ARG_INT: sc_sb_addf(&t->sb, "%.9g", (double)arg->i); break;
    case SC_ARG_FLOAT: sc_sb_addf(&t->sb, "%.9g", arg->f); break;
    case SC_ARG_BOOL: sc_sb_addf(&t->sb, "%d", arg->b); break;
    case SC_ARG_STR: sc_sb_add(&t->sb, arg->str); break;
    case SC_ARG_DTYPE: sc_sb_add_text(&t->sb, sc_dtype_name((sc_dtype)arg->code)); break;
    case SC_ARG_LIST:
        sc_sb_add_char(&t->sb, '[');
        for (uint32_t i = 0; i < arg->count; i++) {
            if (i) sc_sb_add_char(&t->sb, ',');
            put_arg(t, &arg->items[i]);
        }
        sc_sb_add_char(&t->sb, ']');
        break;
    default: sc_sb_add_char(&t->sb, '?');
    }
}

static void put_constant(text *t, const sc_constant *constant) {
    const sc_spec *spec = &constant->spec;
    const uint8_t *bytes = NULL;
    sc_arena *arena = &t->s->arena;
    sc_sb_addf(&t->sb, "@" SC_STR_FMT " %s [", SC_STR_ARG(constant->name),
               sc_dtype_name((sc_dtype)spec->dtype));
    for (uint32_t i = 0; i < spec->rank; i++)
        sc_sb_addf(&t->sb, "%s%lld", i ? "," : "", (long long)spec->sizes[i].value);
    sc_sb_add_char(&t->sb, ']');
    CHECK_OK(sc_extent_load(&t->s->ctx, arena, constant->data, 1 << 20, &bytes));
    const uint64_t count = constant->data.size / sizeof(float);
    uint32_t sum = 0;
    if (!sc_dtype_is_float((sc_dtype)spec->dtype)) {
        CHECK_OK(sc_zip_sum(&t->s->ctx, constant->data, &sum));
        sc_sb_addf(&t->sb, " crc %08x", sum);
    } else if (spec->dtype == SC_DTYPE_F32 && count <= 64) {
        for (uint64_t i = 0; i < count; i++) {
            float x;
            memcpy(&x, bytes + i * sizeof(x), sizeof(x));
            sc_sb_addf(&t->sb, " %.9g", (double)x);
        }
    }
    sc_sb_add_char(&t->sb, '\n');
}

static void put_node(text *t, const sc_node *node) {
    sc_imap_set(&t->nodes, SC_PTR_KEY(node), t->nodes.count + 1);
    sc_sb_add(&t->sb, node->op->schema->name);
    // Our rows have parameters of earlier releases, too.
    const bool is_torchao = sc_str_starts_with(node->op->schema->name, "torchao::");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (is_torchao && node->op->schema->params[i].keyword_only) continue;
        sc_sb_add_char(&t->sb, ' ');
        put_arg(t, &node->args[i]);
    }
    sc_sb_add_char(&t->sb, '\n');
}

static void put_outputs(text *t) {
    const sc_node *ret = t->method->graph->ret;
    for (uint32_t i = 0; i < t->method->outputs.count; i++) {
        const sc_output_sig *sig = &t->method->outputs.data[i];
        if (sig->kind == SC_OUTPUT_USER) continue;
        sc_sb_addf(&t->sb, "write @" SC_STR_FMT " ", SC_STR_ARG(sig->target));
        put_arg(t, &ret->args[i]);
        sc_sb_add_char(&t->sb, '\n');
    }
    sc_sb_add_text(&t->sb, "return");
    for (uint32_t i = 0; i < t->method->outputs.count; i++) {
        if (t->method->outputs.data[i].kind != SC_OUTPUT_USER) continue;
        sc_sb_add_char(&t->sb, ' ');
        put_arg(t, &ret->args[i]);
    }
    sc_sb_add_char(&t->sb, '\n');
}

static sc_str print(setup *s, const sc_method *method) {
    text t = {.s = s, .method = method};
    sc_sb_init(&t.sb, &s->arena);
    sc_imap_init(&t.nodes, &s->arena);
    sc_map_init(&t.constants, &s->arena);
    for (const sc_node *node = method->graph->first; node; node = node->next) put_node(&t, node);
    put_outputs(&t);
    for (uint32_t i = 0; i < t.constants.count; i++) put_constant(&t, t.constants.entries[i].value);
    return sc_sb_str(&t.sb);
}

// --- Comparing -----------------------------------------------------------------------------------

static bool same_word(sc_str a, sc_str b, double tolerance) {
    double x, y;
    if (sc_str_equal(a, b)) return true;
    if (!sc_parse_f64(a, &x) || !sc_parse_f64(b, &y)) return false;
    return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

static sc_str next_word(sc_str *line) {
    const ptrdiff_t end = sc_str_find(*line, ' ');
    const sc_str word = sc_str_slice(*line, 0, end < 0 ? line->size : (size_t)end);
    *line = sc_str_slice(*line, end < 0 ? line->size : (size_t)end + 1, line->size);
    return word;
}

// Zero points, and what is not a scale, are words that are equal or not.
static bool same_line(sc_str a, sc_str b) {
    while (a.size > 0 && b.size > 0)
        if (!same_word(next_word(&a), next_word(&b), 1e-6)) return false;
    return a.size == 0 && b.size == 0;
}

static sc_str next_line(sc_str *rest) {
    const ptrdiff_t end = sc_str_find(*rest, '\n');
    const sc_str line = sc_str_slice(*rest, 0, end < 0 ? rest->size : (size_t)end);
    *rest = sc_str_slice(*rest, end < 0 ? rest->size : (size_t)end + 1, rest->size);
    return line;
}

static void compare(const char *name, sc_str found, sc_str wanted) {
    for (uint32_t line = 1; found.size > 0 || wanted.size > 0; line++) {
        const sc_str a = next_line(&found), b = next_line(&wanted);
        if (same_line(a, b)) continue;
        FAIL("%s:%u: found " SC_STR_FMT "\n    wanted " SC_STR_FMT, name, line, SC_STR_ARG(a),
             SC_STR_ARG(b));
        return;
    }
}

// --- Cases ---------------------------------------------------------------------------------------

static void run_case(const quant_case *c) {
    char path[256], name[256];
    setup s;
    sc_program *program = NULL;
    setup_begin(&s);
    (void)snprintf(path, sizeof(path), "%s.pt2", c->program);
    const char *slash = strrchr(c->program, '/');
    (void)snprintf(name, sizeof(name), "quant/%s.%s%s.txt", slash + 1, c->recipe,
                   c->differs ? ".ours" : "");
    sc_status status = quant_import(&s, path, &program);
    const quant_configs configs = quant_configs_of(c->recipe);
    if (status == SC_OK) status = quant_quantize(&s, program->methods.data[0], &configs, c->below);
    if (status == SC_OK) status = sc_verify(&s.ctx, program);
    if (!CHECK_OK(status)) FAIL("%s: %s", name, setup_message(&s));
    if (status == SC_OK) {
        const sc_str found = print(&s, program->methods.data[0]);
        size_t size = 0;
        if (c->differs)
            CHECK_GOLDEN(name, found.data, found.size);
        else {
            const char *wanted = test_read(name, &size);
            compare(name, found, (sc_str){wanted, size});
        }
    }
    setup_end(&s);
}

TEST_CASES(programs_become_what_pt2e_makes_of_them) {
    for (size_t i = 0; i < QUANT_CASES; i++)
        if (test_case("%s %s", quant_cases[i].program, quant_cases[i].recipe))
            run_case(&quant_cases[i]);
}
