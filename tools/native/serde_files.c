// Programs in the format of records, for official tools to judge:
//   serde_files write source|edge|same FOLDER [NAME=]FILE.pt2...   METHOD, METHOD_state_dict, ...
//                                            there; "same" is an edge program already;
//                                            with SCONCE_BACKEND=NAME: lowered to that backend
//   serde_files read FILE                    what such a program is to us, as IR
//   serde_files save FILE OUT                a file of torch.save, read and written again
#include <stdio.h>
#include <stdlib.h>

#include "api/compiling.h"
#include "format/torch_save.h"
#include "pt2/serde.h"

enum { GRAPH_ID = 4242 };

static const char *const suffixes[] = {"", "_state_dict", "_constants", "_example_inputs"};

static void require(sc_job *job, sc_status status) {
    if (status == SC_OK) return;
    sc_str report = sc_job_report(job, status);
    fprintf(stderr, SC_STR_FMT "\n", SC_STR_ARG(report));
    exit(1);
}

// Empty where there is no file.
static sc_extent read_file(sc_job *job, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return (sc_extent){0};
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    uint8_t *bytes = sc_arena_alloc(&job->arena, size + 1);
    rewind(file);
    if (fread(bytes, 1, size, file) != size) exit(1);
    fclose(file);
    return sc_extent_whole(sc_source_from_memory(&job->arena, bytes, size));
}

static sc_status write_block(void *user, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, user) == size ? SC_OK : SC_ERR_IO;
}

static void write_file(sc_job *job, const char *path, sc_extent content) {
    FILE *file = fopen(path, "wb");
    sc_cord cord;
    if (!file) exit(1);
    sc_cord_init(&cord, &job->arena);
    sc_cord_append_extent(&cord, content);
    require(job, sc_cord_write(&job->ctx, &cord, write_block, file));
    fclose(file);
}

static void open_methods(sc_job *job, int count, char **files) {
    for (int i = 0; i < count; i++) {
        char *equals = strchr(files[i], '=');
        sc_str name = {files[i], equals ? (size_t)(equals - files[i]) : 0};
        sc_extent file = read_file(job, equals ? equals + 1 : files[i]);
        if (!file.source) exit(1);
        require(job, sc_compile_open(job, file.source, name, (sc_str){0}));
    }
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

static void write_program(sc_job *job, const char *dialect, const char *folder) {
    sc_version *source, *version;
    uint32_t number = 0;
    char path[1024];
    const bool is_edge = strcmp(dialect, "source") != 0;
    if (strcmp(dialect, "edge") == 0) to_edge(job, &number);
    require(job, sc_job_version(job, 0, &source));
    require(job, sc_job_version(job, number, &version));
    for (uint32_t i = 0; i < version->program->methods.count; i++) {
        const sc_method *method = version->program->methods.data[i];
        const sc_serde_options options = {
            .dialect = is_edge ? SC_SERDE_EDGE : SC_SERDE_ATEN,
            .graph_id = GRAPH_ID,
            .source = sc_program_method(source->program, sc_name_str(method->name))};
        sc_serde_files files;
        require(job, sc_serde_write(&job->ctx, method, &options, &files));
        const sc_extent all[] = {files.program, files.state_dict, files.constants,
                                 files.example_inputs};
        for (size_t k = 0; k < SC_COUNT_OF(all); k++) {
            snprintf(path, sizeof path, "%s/%s%s", folder, method->name->text, suffixes[k]);
            write_file(job, path, all[k]);
        }
    }
}

static void read_program(sc_job *job, const char *path) {
    sc_extent all[SC_COUNT_OF(suffixes)];
    char name[1024];
    sc_sb text;
    sc_serde_info info;
    sc_program *program = sc_program_new(&job->ctx);
    for (size_t k = 0; k < SC_COUNT_OF(all); k++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[k]);
        all[k] = read_file(job, name);
    }
    const sc_serde_files files = {all[0], all[1], all[2], all[3]};
    require(job, sc_serde_read(&job->ctx, &files, SC_STR("forward"), program, &info));
    require(job, sc_verify(&job->ctx, program));
    sc_sb_init(&text, &job->arena);
    sc_program_print(&text, program, (sc_print_options){.meta = true, .signature = true});
    fwrite(text.data, 1, text.size, stdout);
    fprintf(stderr, "edge %d, weights %d, graph %llu\n", info.is_edge, info.has_weights,
            (unsigned long long)info.graph_id);
}

static void save_again(sc_job *job, const char *from, const char *to) {
    sc_torch_save save;
    sc_cord out;
    require(job, sc_torch_save_open(&job->ctx, &job->arena, read_file(job, from), &save));
    if (!save.root) exit(1);
    sc_cord_init(&out, &job->arena);
    require(job, sc_torch_save_write(&job->ctx, save.root, &out));
    write_file(job, to, sc_extent_whole(sc_source_from_cord(&job->arena, &out)));
}

int main(int argc, char **argv) {
    sc_job *job = sc_job_open(NULL);
    if (argc > 4 && strcmp(argv[1], "write") == 0) {
        open_methods(job, argc - 4, argv + 4);
        write_program(job, argv[2], argv[3]);
    } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
        read_program(job, argv[2]);
    } else if (argc == 4 && strcmp(argv[1], "save") == 0) {
        save_again(job, argv[2], argv[3]);
    } else {
        fprintf(stderr, "usage: serde_files write|read|save ...\n");
        return 2;
    }
    sc_job_close(job);
    return 0;
}
