// Handing parts to backends, on small programs (tests/backends/*.ir): a line "# partitioners: JSON"
// says what sc_compile_to_backend is given, what stands above the line "----" goes in, what stands
// below must come out: the program, and for every node what became of it. --update rewrites.
//
// The backends are those of this file. They take the operators that their compile spec "takes"
// lists and keep together what "group" lists, and what "inner" does; "First" preprocesses all
// methods at once and "Second" part by part, and all make a text of what they were given. "Thrifty"
// leaves parts of mere moves.
#include "api/compile/delegate.h"
#include "api/compiling.h"
#include "ir_file.h"

// --- The backends --------------------------------------------------------------------------------

static bool lists(const sc_survey *s, const char *key, const char *word) {
    for (uint32_t i = 0; i < s->spec_count; i++) {
        if (!sc_str_is(s->specs[i].key, key)) continue;
        sc_str rest = s->specs[i].value;
        while (rest.size) {
            ptrdiff_t space = sc_str_find(rest, ' ');
            sc_str item = space < 0 ? rest : sc_str_slice(rest, 0, (size_t)space);
            if (sc_str_is(item, word)) return true;
            rest = space < 0 ? (sc_str){0} : sc_str_slice(rest, (size_t)space + 1, rest.size);
        }
    }
    return false;
}

static sc_status survey(const sc_backend *backend, sc_survey *s) {
    (void)backend;
    for (const sc_node *node = s->graph->first; node; node = node->next) {
        sc_claim *claim = sc_claim_of(s, node);
        claim->is_taken = lists(s, "takes", node->op->name);
        claim->group = lists(s, "group", node->name->text)   ? 1
                       : lists(s, "inner", node->name->text) ? 2
                                                             : 0;
        if (!claim->is_taken) claim->hint = SC_STR("Name it in \"takes\".");
    }
    for (uint32_t i = 0; i < s->graph->inputs.count; i++)
        s->takes_input[i] |= lists(s, "state", s->graph->inputs.data[i]->name->text);
    return SC_OK;
}

static void describe(sc_ctx *ctx, sc_part *part, const char *who) {
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_sb_add_text(&text, who);
    for (const sc_node *node = part->method->graph->first; node; node = node->next)
        sc_sb_addf(&text, " %s", node->name->text);
    sc_cord *cord = sc_new(ctx->arena, sc_cord);
    sc_cord_init(cord, ctx->arena);
    sc_cord_append_bytes(cord, text.data, text.size);
    part->processed = cord;
}

static sc_status preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                            sc_part *part) {
    (void)env;
    describe(ctx, part, test_format("%s:", backend->name));
    return SC_OK;
}

static sc_status preprocess_all(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                                const sc_method_parts *methods, uint32_t count) {
    (void)env;
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t i = 0; i < methods[m].count; i++)
            describe(ctx, methods[m].parts[i],
                     test_format("%s, %u methods, part %u of %u in %s:", backend->name, count, i,
                                 methods[m].count, methods[m].method->text));
    return SC_OK;
}

static sc_status forget(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                        sc_part *part) {
    (void)backend, (void)ctx, (void)env, (void)part;
    return SC_OK;
}

static const sc_backend BACKENDS[] = {
    {.name = "First",
     .id = "FirstBackend",
     .survey = survey,
     .preprocess_multimethod = preprocess_all},
    {.name = "Second", .id = "SecondBackend", .survey = survey, .preprocess = preprocess},
    {.name = "Thrifty",
     .id = "ThriftyBackend",
     .survey = survey,
     .preprocess = preprocess,
     .leaves_moves = true},
    {.name = "Forgetful", .id = "ForgetfulBackend", .survey = survey, .preprocess = forget},
};

static const sc_backend *at(void *user, uint32_t index) {
    (void)user;
    return index < SC_COUNT_OF(BACKENDS) ? &BACKENDS[index] : NULL;
}

static const sc_backend *find(void *user, sc_str name) {
    (void)user;
    for (uint32_t i = 0; i < SC_COUNT_OF(BACKENDS); i++)
        if (sc_str_is(name, BACKENDS[i].name)) return &BACKENDS[i];
    return NULL;
}

static const sc_backends TABLE = {.find = find, .at = at};

// --- The files -----------------------------------------------------------------------------------

static void print_rows(sc_sb *sb, const sc_delegation *delegation) {
    for (uint32_t i = 0; i < delegation->rows.count; i++) {
        const sc_delegation_row *row = &delegation->rows.data[i];
        sc_sb_addf(sb, "%s/" SC_STR_FMT "%s%s: ", row->method->text, SC_STR_ARG(row->graph),
                   row->graph.size ? "/" : "", row->node->text);
        if (row->part)
            sc_sb_addf(sb, "%s of " SC_STR_FMT, row->part->text, SC_STR_ARG(row->backend));
        else
            sc_sb_addf(sb, row->hint.size ? SC_STR_FMT " (" SC_STR_FMT ")" : SC_STR_FMT SC_STR_FMT,
                       SC_STR_ARG(row->reason), SC_STR_ARG(row->hint));
        sc_sb_addf(sb, "; %.0f multiplications, %.0f bytes\n", row->macs, row->bytes);
    }
}

static sc_status lower(setup *s, sc_program *program, const char *json, sc_delegation *delegation) {
    const sc_options options = sc_options_default();
    const sc_json *partitioners = NULL;
    sc_str text = {json, strcspn(json, "\n")};
    SC_TRY(sc_json_parse(&s->ctx, &s->arena, text, &partitioners));
    return sc_delegate_program(&s->ctx, NULL, program, partitioners, &options, &TABLE, false,
                               delegation);
}

static void check_file(const char *path) {
    static const char key[] = "# partitioners: ";
    setup s;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    const ir_file file = ir_file_open(path);
    const char *json = strstr(file.text, key);
    sc_program *program = NULL, *before = NULL;
    sc_delegation delegation = {0};
    sc_print_options options = {.signature = true, .meta = strstr(file.text, "# meta\n") != NULL};
    if (!CHECK(json) || !CHECK_OK(sc_program_parse(&s.ctx, file.input, &program)) ||
        !CHECK_OK(sc_verify(&s.ctx, program)) || !CHECK_OK(sc_program_clone(program, &before)))
        FAIL("%s", setup_message(&s));
    sc_sb actual;
    sc_sb_init(&actual, &s.arena);
    if (lower(&s, program, json + strlen(key), &delegation) == SC_OK) {
        sc_program_print(&actual, program, options);
        print_rows(&actual, &delegation);
    } else {
        setup_print_diags(&actual, &s);
    }
    ir_file_check(&file, sc_sb_terminate(&actual));
    setup_end(&s);
}

TEST_CASES(parts_go_to_backends) {
    size_t count;
    const char **files = test_list("backends", ".ir", &count);
    for (size_t i = 0; i < count; i++)
        if (test_case("%s", files[i])) check_file(files[i]);
}

// A thousand notes fill the list of diagnostics: the error behind them has to be in it.
TEST(methods_of_many_refused_nodes_end_in_the_error) {
    setup s;
    sc_sb text;
    sc_program *program = NULL;
    sc_delegation delegation = {0};
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    sc_sb_init(&text, &s.arena);
    sc_sb_add_text(&text, "method forward {\n  input %v0: f32[4]\n");
    for (uint32_t i = 0; i < 1100; i++)
        sc_sb_addf(&text, "  %%v%u: f32[4] = aten::neg(%%v%u)\n", i + 1, i);
    sc_sb_add_text(&text, "  return %v1100\n}\n");
    if (!CHECK_OK(sc_program_parse(&s.ctx, sc_sb_str(&text), &program)))
        FAIL("%s", setup_message(&s));
    CHECK_STATUS(
        lower(&s, program, "{\"all\": [{\"backend\": \"First\", \"whole\": true}]}", &delegation),
        SC_ERR_DELEGATE);
    CHECK_EQ_UINT(s.ctx.diags.count, 21);
    CHECK(sc_vec_last(&s.ctx.diags).severity == SC_ERROR);
    CHECK(strstr(setup_message(&s), "%v20 (aten::neg) and 1080 more"));
    setup_end(&s);
}
