// Any bytes as a .pte: open, describe, also what is in its first parts, load every method, run it
// twice on zeros and once after a reset, read what comes out, and train what can be trained. Limits
// are small, so that a hostile program is refused, not waited for. Delegates are started and run by
// the backends of the build.
#include "api/compile/backends.h"
#include "api/compiling.h"
#include "api/run/backends.h"
#include "api/run/running.h"
#include "context.h"
#include "rt/look/look.h"
#include "rt/train.h"
#include "run_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTS_MAX = 8 };

static void print_parts(sc_ctx *ctx, const sc_rt_program *program, uint32_t index) {
    const uint32_t count = sc_min_u32(sc_rt_part_count(program, index), PARTS_MAX);
    for (uint32_t part = 0; part < count; part++) {
        sc_sb text;
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_sb_init(&text, ctx->scratch);
        sc_status status = sc_rt_part_print(ctx, program, index, part, &text);
        SC_ASSERT(status == SC_OK || ctx->error_count > 0);
        sc_arena_rewind(ctx->scratch, mark);
    }
}

static void step(sc_ctx *ctx, sc_rt_trainer *trainer) {
    static const sc_rt_sgd_options all = {
        .lr = 0.5, .momentum = 0.5, .weight_decay = 0.5, .nesterov = true};
    sc_rt_sgd *sgd;
    if (sc_rt_sgd_open(ctx, trainer, &all, &sgd) != SC_OK) return;
    for (int i = 0; i < 2; i++)
        if (sc_rt_sgd_step(ctx, sgd) != SC_OK) SC_ASSERT(ctx->error_count > 0);
    sc_rt_sgd_close(sgd);
}

static void train(sc_ctx *ctx, sc_rt_program *program, uint32_t index) {
    sc_rt_trainer *trainer;
    const uint32_t errors = ctx->error_count;
    const sc_str name = sc_rt_program_method_name(program, index);
    if (sc_rt_trainer_open(ctx, program, name, &trainer) != SC_OK) {
        SC_ASSERT(ctx->error_count > errors);
        return;
    }
    set_inputs(ctx, sc_rt_trainer_method(trainer));
    if (sc_rt_method_run(ctx, sc_rt_trainer_method(trainer)) != SC_OK ||
        sc_rt_trainer_keep(ctx, trainer) != SC_OK)
        SC_ASSERT(ctx->error_count > errors);
    step(ctx, trainer);
    sc_rt_trainer_close(trainer);
}

static void run_method(sc_ctx *ctx, sc_rt_program *program, uint32_t index) {
    sc_rt_method_info info;
    sc_rt_method *method;
    sc_status status = sc_rt_method_info_get(ctx, program, index, ctx->arena, &info);
    SC_ASSERT(status == SC_OK || ctx->error_count > 0);
    sc_rt_memory_info memory;
    const uint32_t before = ctx->error_count;
    status = sc_rt_memory_info_get(ctx, program, index, ctx->arena, &memory);
    SC_ASSERT(status == SC_OK || ctx->error_count > before);
    print_parts(ctx, program, index);
    uint32_t errors = ctx->error_count;
    if (sc_rt_method_load(ctx, program, sc_rt_program_method_name(program, index), &method) !=
        SC_OK) {
        SC_ASSERT(ctx->error_count > errors);
        return;
    }
    for (int run = 0; run < 3; run++) {
        set_inputs(ctx, method);
        if (sc_rt_method_run(ctx, method) == SC_OK) read_outputs(ctx, method);
        if (run == 1 && sc_rt_program_reset(ctx, program) != SC_OK) SC_ASSERT(ctx->error_count > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    sc_rt_program *program;
    sc_ctx *ctx = fuzz_begin(&c, 4 << 20);
    ctx->limits.instruction_max = 500;
    sc_source *source = sc_source_from_memory(ctx->arena, data, size);
    // Half of the files are not in memory, so that their constants are read.
    if (size % 2)
        *source = (sc_source){.read = read_file, .size = size, .user = (void *)(uintptr_t)data};
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.backends = &sc_all_rt_backends;
    options.channels_last = size % 2 ? SC_RT_ALWAYS : SC_RT_FASTER;
    if (sc_rt_program_open(ctx, source, &options, &program) == SC_OK) {
        for (uint32_t i = 0; i < sc_rt_program_method_count(program) && i < 4; i++) {
            run_method(ctx, program, i);
            train(ctx, program, i);
        }
        sc_rt_program_close(program);
    } else {
        SC_ASSERT(ctx->error_count > 0);
    }
    fuzz_end(&c);
    return 0;
}
