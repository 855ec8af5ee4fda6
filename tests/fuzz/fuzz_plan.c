// Any bytes as the answers of a memory planner of the host. A plan is refused, or its file computes
// what the file without reuse of memory computes.
#include "api/compiling.h"
#include "made_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char SOURCE[] = "method forward {\n"
                             "  input %x: f32[2, 4]\n"
                             "  input %y: f32[2, 4]\n"
                             "  %relu: f32[2, 4] = aten::relu(%x)\n"
                             "  %add: f32[2, 4] = aten::add.Tensor(%relu, %y)\n"
                             "  %mul: f32[2, 4] = aten::mul.Tensor(%add, %x)\n"
                             "  %sum: f32[2] = aten::sum.dim_IntList(%mul, [1])\n"
                             "  %neg: f32[2, 4] = aten::neg(%mul)\n"
                             "  %exp: f32[2, 4] = aten::exp(%neg)\n"
                             "  %sub: f32[2, 4] = aten::sub.Tensor(%exp, %relu)\n"
                             "  return %sub, %sum\n"
                             "}\n";
enum { ITEMS = 9 };

static const uint8_t *bytes;
static size_t byte_count;

// One byte an item, in steps of 16 bytes; behind them, text that is the answer as it stands.
static bool plan(void *user, uint32_t number, sc_str method) {
    sc_str request;
    (void)number, (void)method;
    SC_ASSERT(sc_plan_request_json(user, &request) == SC_OK);
    if (byte_count > ITEMS)
        return sc_plan_request_answer(
                   user, (sc_str){(const char *)bytes + ITEMS, byte_count - ITEMS}) == SC_OK;
    sc_sb answer;
    sc_sb_init(&answer, &((sc_job *)user)->arena);
    for (size_t i = 0; i < byte_count; i++)
        sc_sb_addf(&answer, "%s%u", i ? ", " : "[", 16u * bytes[i]);
    sc_sb_addf(&answer, byte_count ? "]" : "[]");
    return sc_plan_request_answer(user, sc_sb_str(&answer)) == SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static made_results expected, found;
    sc_program *program = NULL;
    uint32_t naive = 0, planned = 0;
    sc_job *job = sc_job_open(NULL);
    if (!job || sc_ops_init() != SC_OK) return 0;
    SC_ASSERT(sc_program_parse(&job->ctx, sc_str_from(SOURCE), &program) == SC_OK);
    const sc_method *method = program->methods.data[0];
    program->methods.data[0]->facts |= SC_FACT_CORE | SC_FACT_EDGE;
    sc_job_add_version(job, SC_DIALECT_edge, program, 0);
    bytes = data;
    byte_count = size;
    sc_job_set_host_functions(job, (sc_host_functions){plan, job});
    if (sc_compile_to_executorch(job, 0, SC_STR("{\"memory_planning\": 0}"), &planned) == SC_OK) {
        const sc_str without = SC_STR("{\"memory_planning\": \"naive\"}");
        SC_ASSERT(sc_compile_to_executorch(job, 0, without, &naive) == SC_OK);
        made_run(job, 0, method, &found);
        made_run(job, 1, method, &expected);
        SC_ASSERT(expected.status == SC_OK);
        made_check_same(&found, &expected);
    } else {
        SC_ASSERT(job->ctx.error_count > 0);
    }
    sc_job_close(job);
    return 0;
}
