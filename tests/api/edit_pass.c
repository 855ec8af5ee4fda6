#include "edit_pass.h"

#include "harness.h"
#include "ir/print.h"

sc_job *pass_open(const char *text) {
    sc_job *job = sc_job_open(NULL);
    sc_program *program = NULL;
    SC_ASSERT(job && sc_ops_init() == SC_OK);
    SC_ASSERT(sc_program_parse(&job->ctx, sc_str_from(text), &program) == SC_OK);
    for (uint32_t i = 0; i < program->methods.count; i++)
        program->methods.data[i]->facts |= SC_FACT_CORE | SC_FACT_EDGE;
    sc_job_add_version(job, SC_DIALECT_edge, program, 0);
    return job;
}

static pass_body *body;

static bool run_body(void *user, uint32_t pass, sc_str method) {
    sc_str json;
    CHECK(pass == 7 && sc_str_is(method, "forward"));
    CHECK_OK(sc_edit_method_json(user, &json));
    body(user);
    return true;
}

sc_status pass_transform(sc_job *job, pass_body *pass, uint32_t *made) {
    body = pass;
    sc_job_set_host_functions(job, (sc_host_functions){run_body, job});
    return sc_compile_transform(job, 0, (sc_str){0}, SC_STR("[7]"), made);
}

sc_status pass_run_early(sc_job *job, pass_body *pass) {
    sc_program *program = sc_job_compiling(job)->versions.data[0].program;
    body = pass;
    sc_job_set_host_functions(job, (sc_host_functions){run_body, job});
    sc_pipeline pipeline = {.arena = &job->arena};
    return sc_edit_run(job, &pipeline, program->methods.data[0], 7, false);
}

sc_str pass_change(sc_job *job, const char *json) {
    sc_str answer = {0};
    CHECK_OK(sc_edit_change(job, sc_str_from(json), &answer));
    return answer;
}

void pass_refuse(sc_job *job, const char *json, sc_status code, const char *message) {
    sc_str answer = {0};
    CHECK_EQ_INT(sc_edit_change(job, sc_str_from(json), &answer), code);
    const sc_diag *diag = job->ctx.diags.count ? &sc_vec_last(&job->ctx.diags) : NULL;
    if (!diag || !strstr(diag->message.data, message))
        FAIL("%s: '%s' instead of '%s'", json, diag ? diag->message.data : "", message);
}

void pass_check_text(sc_job *job, uint32_t program, const char *line) {
    sc_sb text;
    sc_sb_init(&text, job->ctx.arena);
    sc_program_print(&text, sc_job_compiling(job)->versions.data[program].program,
                     (sc_print_options){0});
    if (!strstr(sc_sb_terminate(&text), line)) FAIL("'%s' is not in\n%s", line, text.data);
}
