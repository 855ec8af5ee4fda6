// The compiler on the command line without wasm, for debuggers and profilers: see `USAGE`.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "api/compiling.h"
#include "api/run/running.h"

static const char USAGE[] =
    "usage:\n"
    "  sconce text DIALECT [NAME=]FILE.pt2...    print the IR: source, core, edge or executorch\n"
    "  sconce lower OUT.pte [NAME=]FILE.pt2...   lower the files as methods of one program\n"
    "  sconce run FILE.pte [METHOD]              run a method once, on zeros\n"
    "  sconce meta                               print the tables as JSON\n"
    "SCONCE_SHARE=1 lets methods share state, and SCONCE_BACKEND=NAME lowers to a backend.\n"
    "Exit codes: 0 done, 1 a file or a program failed, 2 wrong usage.\n";

static double now_ms(void *user) {
    (void)user;
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static sc_status read_file(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes) {
    FILE *file = source->user;
    if (fseek(file, (long)offset, SEEK_SET) != 0 || fread(out, 1, bytes, file) != bytes)
        return sc_fail(ctx, SC_ERR_IO, NULL, "cannot read %zu bytes", bytes);
    return SC_OK;
}

static sc_source *open_file(sc_job *job, const char *path) {
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file || stat(path, &info) != 0) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    sc_source *source = sc_new(sc_job_ctx(job)->arena, sc_source);
    source->read = read_file;
    source->size = (uint64_t)info.st_size;
    source->user = file;
    return source;
}

static void require(sc_job *job, sc_status status) {
    if (status == SC_OK) return;
    sc_str report = sc_job_report(job, status);
    fprintf(stderr, SC_STR_FMT "\n", SC_STR_ARG(report));
    exit(1);
}

static void open_methods(sc_job *job, int count, char **files) {
    for (int i = 0; i < count; i++) {
        char *equals = strchr(files[i], '=');
        sc_str name = {files[i], equals ? (size_t)(equals - files[i]) : 0};
        require(job, sc_compile_open(job, open_file(job, equals ? equals + 1 : files[i]), name,
                                     (sc_str){0}));
    }
}

static void print(sc_str text) { fwrite(text.data, 1, text.size, stdout); }

static void print_text(sc_job *job, uint32_t program) {
    sc_str text;
    require(job, sc_compile_text(job, program, (sc_str){0}, &text));
    print(text);
}

static void text_command(sc_job *job, const char *dialect, int count, char **files) {
    uint32_t edge = 0, executorch = 0;
    open_methods(job, count, files);
    if (strcmp(dialect, "source") == 0) {
        print_text(job, 0);
        return;
    }
    require(job, sc_compile_to_edge(job, 0, SC_STR("{\"snapshots\": true}"), &edge));
    if (strcmp(dialect, "executorch") == 0) {
        require(job, sc_compile_to_executorch(job, edge, (sc_str){0}, &executorch));
        print_text(job, executorch);
        return;
    }
    print_text(job, strcmp(dialect, "core") == 0 ? edge - 1 : edge);
}

static void to_edge(sc_job *job, uint32_t *edge) {
    const char *backend = getenv("SCONCE_BACKEND");
    char partitioners[256];
    if (!backend) {
        require(job, sc_compile_to_edge(job, 0, (sc_str){0}, edge));
        return;
    }
    snprintf(partitioners, sizeof partitioners, "{\"all\": [{\"backend\": \"%s\"}]}", backend);
    require(job,
            sc_compile_to_edge_transform_and_lower(job, 0, SC_STR("[]"), sc_str_from(partitioners),
                                                   (sc_str){0}, (sc_str){0}, edge));
}

static void lower_command(sc_job *job, const char *path, int count, char **files) {
    uint32_t edge = 0, executorch = 0;
    sc_str options = getenv("SCONCE_SHARE")
                         ? SC_STR("{\"consume\": true, \"share_mutable_buffers\": true}")
                         : SC_STR("{\"consume\": true}");
    double begin = now_ms(NULL);
    open_methods(job, count, files);
    double opened = now_ms(NULL);
    to_edge(job, &edge);
    double edged = now_ms(NULL);
    require(job, sc_compile_to_executorch(job, edge, options, &executorch));
    double done = now_ms(NULL);
    FILE *out = fopen(path, "wb");
    if (!out) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
    static uint8_t block[1 << 16];
    for (uint32_t c = 0; c < sc_output_chunk_count(job, 0); c++) {
        sc_output_chunk chunk = sc_output_chunk_at(job, 0, c);
        for (uint64_t at = 0; at < chunk.size; at += sizeof(block)) {
            size_t bytes = (size_t)sc_min_u64(sizeof(block), chunk.size - at);
            require(job, sc_output_read(job, 0, c, at, block, bytes));
            fwrite(block, 1, bytes, out);
        }
    }
    fclose(out);
    printf("%s: %llu bytes; open %.1f ms, to_edge %.1f ms, to_executorch %.1f ms; %.1f MB\n", path,
           (unsigned long long)sc_output_bytes(job, 0), opened - begin, edged - opened,
           done - edged, (double)sc_job_ctx(job)->arena->held_bytes / 1e6);
}

// Numbers become 0, and other values stay as the file has them.
static void set_to_zeros(sc_job *job, uint32_t index, const sc_evalue *input) {
    const sc_tensor *tensor = input->tensor;
    if (input->tag != SC_EVALUE_TENSOR) return;
    const size_t bytes = (size_t)tensor->numel * sc_dtype_bytes((sc_dtype)tensor->dtype);
    sc_io zeros = {.kind = SC_KIND_TENSOR, .dtype = tensor->dtype, .rank = tensor->rank};
    zeros.sizes = tensor->sizes;
    zeros.data = sc_arena_alloc(sc_job_ctx(job)->arena, bytes + 1);
    zeros.bytes = bytes;
    require(job, sc_run_set_input(job, index, &zeros));
}

static void run_command(sc_job *job, const char *path, const char *method) {
    sc_str json;
    require(job, sc_run_open(job, open_file(job, path), NULL, 0, (sc_str){0}));
    require(job, sc_run_inspect(job, &json));
    printf(SC_STR_FMT "\n", SC_STR_ARG(json));
    require(job, sc_run_select(job, sc_str_from(method)));
    for (uint32_t i = 0; i < sc_rt_method_input_count(sc_job_running(job)->method); i++)
        set_to_zeros(job, i, sc_rt_method_input(sc_job_running(job)->method, i));
    require(job, sc_run_execute(job, false));
}

static bool is_dialect(const char *name) {
    static const char *const names[] = {"source", "core", "edge", "executorch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

int main(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    const bool is_meta = argc == 2 && strcmp(command, "meta") == 0;
    const bool is_text = argc > 3 && strcmp(command, "text") == 0 && is_dialect(argv[2]);
    const bool is_lower = argc > 3 && strcmp(command, "lower") == 0;
    const bool is_run = (argc == 3 || argc == 4) && strcmp(command, "run") == 0;
    const bool is_help = strcmp(command, "--help") == 0;
    if (!is_meta && !is_text && !is_lower && !is_run) {
        fputs(USAGE, is_help ? stdout : stderr);
        return is_help ? 0 : 2;
    }
    sc_host host = {.now_ms = now_ms};
    sc_job *job = sc_job_open(&host);
    if (is_meta)
        print(sc_meta_json(job));
    else if (is_text)
        text_command(job, argv[2], argc - 3, argv + 3);
    else if (is_lower)
        lower_command(job, argv[2], argc - 3, argv + 3);
    else
        run_command(job, argv[2], argc > 3 ? argv[3] : "forward");
    sc_job_close(job);
    return 0;
}
