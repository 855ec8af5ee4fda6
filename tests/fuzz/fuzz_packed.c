// A packed file with wrong bytes: the input is a list of changes, then a .pte. The program is saved
// packed, changed, and opened. The sum of the directory is made right again, so that changes in it
// are read. A program that opens is run and saved again. Without changes that gives the same file.
#include "api/run/backends.h"
#include "base/hash.h"
#include "context.h"
#include "rt/load/packed_file.h"
#include "run_program.h"

enum { CHANGE_BYTES = 4, CHANGES_MAX = 15, METHODS_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct file {
    uint8_t *bytes;
    size_t size;
} file;

static sc_source *source_of(sc_ctx *ctx, const file *f) {
    sc_source *source = sc_new(ctx->arena, sc_source);
    *source = (sc_source){.read = read_file, .size = f->size, .user = f->bytes};
    return source;
}

static bool save(sc_ctx *ctx, sc_rt_program *program, file *out) {
    sc_cord cord;
    const uint8_t *bytes;
    sc_cord_init(&cord, ctx->arena);
    if (sc_rt_program_save(ctx, program, &cord) != SC_OK ||
        sc_cord_flatten(ctx, &cord, ctx->arena, 64 << 20, &bytes) != SC_OK) {
        SC_ASSERT(ctx->error_count > 0);
        return false;
    }
    *out = (file){sc_arena_alloc(ctx->arena, (size_t)cord.size), (size_t)cord.size};
    memcpy(out->bytes, bytes, out->size);
    return true;
}

static void change(file *f, const uint8_t *changes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++, changes += CHANGE_BYTES) {
        const size_t at = (size_t)changes[0] | (size_t)changes[1] << 8 | (size_t)changes[2] << 16;
        f->bytes[at % f->size] ^= changes[3];
    }
    const uint64_t bytes = sc_fb_load_u64(f->bytes + 16);
    if (bytes > f->size - SC_RT_PACKED_HEAD) return;
    const uint64_t sum = sc_hash64_wide(f->bytes + SC_RT_PACKED_HEAD, (size_t)bytes);
    sc_fb_store_u64(f->bytes + 32, sum);
}

static void run_all(sc_ctx *ctx, sc_rt_program *program) {
    for (uint32_t i = 0; i < sc_rt_program_method_count(program) && i < METHODS_MAX; i++) {
        sc_rt_method *method;
        const sc_str name = sc_rt_program_method_name(program, i);
        if (sc_rt_method_load(ctx, program, name, &method) != SC_OK) continue;
        set_inputs(ctx, method);
        if (sc_rt_method_run(ctx, method) == SC_OK) read_outputs(ctx, method);
    }
}

static sc_rt_program *open_packed(sc_ctx *ctx, const file *f, sc_rt_options options) {
    sc_rt_packed_file *packed;
    sc_rt_program *program;
    const uint32_t errors = ctx->error_count;
    if (sc_rt_packed_file_open(ctx, ctx->arena, source_of(ctx, f), &packed) != SC_OK) {
        SC_ASSERT(ctx->error_count > errors);
        return NULL;
    }
    if (!packed) return NULL;
    options.data_files = packed->files + 1;
    options.data_file_count = packed->file_count - 1;
    options.packed = packed;
    if (sc_rt_program_open(ctx, packed->files[0], &options, &program) == SC_OK) return program;
    SC_ASSERT(ctx->error_count > errors);
    return NULL;
}

static void open_changed(sc_ctx *ctx, const file *f, bool is_whole, const sc_rt_options *options) {
    sc_rt_program *program = open_packed(ctx, f, *options);
    file again;
    SC_ASSERT(program || !is_whole);
    if (!program) return;
    run_all(ctx, program);
    const bool is_saved = save(ctx, program, &again);
    SC_ASSERT(is_saved || !is_whole);
    if (is_whole) SC_ASSERT(again.size == f->size && !memcmp(again.bytes, f->bytes, f->size));
    sc_rt_program_close(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint32_t count = size ? data[0] % (CHANGES_MAX + 1) : 0;
    const size_t begin = 1 + (size_t)count * CHANGE_BYTES;
    fuzz_context c;
    sc_rt_program *program;
    if (size < begin) return 0;
    sc_ctx *ctx = fuzz_begin(&c, 4 << 20);
    ctx->limits.instruction_max = 500;
    ctx->limits.deferred_bytes_min = 192;
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.backends = &sc_all_rt_backends;
    const file pte = {(uint8_t *)(uintptr_t)data + begin, size - begin};
    file packed;
    if (sc_rt_program_open(ctx, source_of(ctx, &pte), &options, &program) == SC_OK) {
        const bool is_saved = save(ctx, program, &packed);
        sc_rt_program_close(program);
        if (is_saved) {
            change(&packed, data + 1, count);
            open_changed(ctx, &packed, count == 0, &options);
        }
    }
    fuzz_end(&c);
    return 0;
}
