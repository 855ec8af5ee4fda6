// Any lines as changes to a program. Each is made or refused. A program that passes the check of a
// pass goes through to_executorch, or is refused there. Its file computes what the file without
// reuse of memory and with every view copied computes.
#include "api/edit/edit.h"
#include "made_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char SOURCE[] = "method forward {\n"
                             "  input %x: f32[2, s0]\n"
                             "  input %y: f32[2, s0]\n"
                             "  input %n: i64[3]\n"
                             "  %relu: f32[2, s0] = aten::relu(%x)\n"
                             "  %add: f32[2, s0] = aten::add.Tensor(%relu, %y)\n"
                             "  %mul: f32[2, s0] = aten::mul.Tensor(%add, %add)\n"
                             "  %sum: f32[2] = aten::sum.dim_IntList(%mul, [1])\n"
                             "  return %sum, %n\n"
                             "}\n";

// With bodies and an operator of an unknown library, which no file can hold: for input that begins
// with '#'.
static const char BODIES[] = "method forward {\n"
                             "  input %p: b8[]\n"
                             "  input %x: f32[4]\n"
                             "  input %y: f32[3]\n"
                             "  %own: f32[4] = demo::own(%x, 2)\n"
                             "  %cond: f32[4] = higher_order::cond(%p, graph t {\n"
                             "  input %a: f32[4]\n"
                             "  %sin: f32[4] = aten::sin(%a)\n"
                             "  return %sin\n"
                             "}, graph e {\n"
                             "  input %a: f32[4]\n"
                             "  %cos: f32[4] = aten::cos(%a)\n"
                             "  return %cos\n"
                             "}, [%x])\n"
                             "  %add: f32[4] = aten::add.Tensor(%cond, %x)\n"
                             "  return %add, %own\n"
                             "}\n";

enum { CHANGES_MAX = 64 };

static sc_str script;  // of the pass

static void change(sc_job *job, sc_str line) {
    static const uint8_t BYTES[64];
    sc_str answer;
    const ptrdiff_t end = sc_str_find(line, '|');  // behind it: a constant
    if (end < 0)
        (void)sc_edit_change(job, line, &answer);
    else
        (void)sc_edit_add_constant(job, sc_str_slice(line, (size_t)end + 1, line.size), BYTES,
                                   (uint32_t)end % sizeof BYTES, &answer);
}

static bool run_script(void *user, uint32_t pass, sc_str method) {
    (void)pass, (void)method;
    sc_str text = script, json;
    SC_ASSERT(sc_edit_method_json(user, &json) == SC_OK);
    for (int i = 0; i < CHANGES_MAX && text.size; i++) {
        const ptrdiff_t end = sc_str_find(text, '\n');
        const size_t length = end < 0 ? text.size : (size_t)end;
        change(user, sc_str_slice(text, 0, length));
        text = sc_str_slice(text, end < 0 ? length : length + 1, text.size);
    }
    return true;
}

static void check_numbers(sc_job *job, uint32_t edited) {
    static made_results plain, found;
    uint32_t executorch;
    const sc_method *method = sc_job_compiling(job)->versions.data[edited].program->methods.data[0];
    const sc_str options = SC_STR("{\"memory_planning\": \"naive\", \"remove_view_copy\": false}");
    const uint32_t second = sc_output_count(job);
    SC_ASSERT(sc_compile_to_executorch(job, edited, options, &executorch) == SC_OK);
    made_run(job, 0, method, &found);
    made_run(job, second, method, &plain);
    made_check_same(&found, &plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_program *program = NULL;
    uint32_t made, executorch;
    sc_job *job = sc_job_open(NULL);
    if (!job || sc_ops_init() != SC_OK) return 0;
    const bool has_bodies = size && data[0] == '#';
    const sc_str source = sc_str_from(has_bodies ? BODIES : SOURCE);
    SC_ASSERT(sc_program_parse(&job->ctx, source, &program) == SC_OK);
    program->methods.data[0]->facts |= SC_FACT_CORE | SC_FACT_EDGE;
    sc_job_add_version(job, SC_DIALECT_edge, program, 0);
    script = (sc_str){(const char *)data + has_bodies, size - has_bodies};
    sc_job_set_host_functions(job, (sc_host_functions){run_script, job});
    if (sc_compile_transform(job, 0, (sc_str){0}, SC_STR("[0]"), &made) == SC_OK &&
        sc_compile_to_executorch(job, made, SC_STR("{}"), &executorch) == SC_OK)
        check_numbers(job, made);
    sc_job_close(job);
    return 0;
}
