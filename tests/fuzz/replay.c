// Runs a fuzzer's entry point over the files of its corpus, so that what once crashed is tried
// again in every run of the tests: replay FOLDER. A fuzzer that changes its inputs itself also gets
// what it makes of each file. An empty or missing folder is an error, since a replay of nothing
// proves nothing.
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { CHANGES = 40 };  // of each file

// libFuzzer's function for mutators, which only fuzzing needs.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    (void)max_size;
    for (size_t i = 0; i < size; i += size / 3 + 1) data[i] ^= 1;
    return size;
}

static bool run_changed(const uint8_t *data, size_t size) {
    const size_t max_size = 2 * size + 4096;
    for (unsigned int seed = 1; LLVMFuzzerCustomMutator && seed <= CHANGES; seed++) {
        uint8_t *copy = malloc(max_size);
        if (!copy) return false;
        memcpy(copy, data, size);
        const size_t changed = LLVMFuzzerCustomMutator(copy, size, max_size, seed);
        uint8_t *exact = malloc(changed ? changed : 1);
        if (exact) {
            memcpy(exact, copy, changed);
            LLVMFuzzerTestOneInput(exact, changed);
        }
        free(exact);
        free(copy);
        if (!exact) return false;
    }
    return true;
}

// Exactly as long as the file: the sanitizer catches a read past its end.
static uint8_t *read_file(const char *path, size_t *size_out) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *data = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        data = size >= 0 ? malloc(size ? (size_t)size : 1) : NULL;
        *size_out = data ? fread(data, 1, (size_t)size, file) : 0;
    }
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (!dir) {
        fprintf(stderr, "replay: needs a folder of inputs\n");
        return 2;
    }
    int passed = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        // Ahead of the run, so that after a crash the last line tells which input it was.
        printf("%s\n", entry->d_name);
        fflush(stdout);
        size_t size = 0;
        uint8_t *data = read_file(path, &size);
        if (!data) {
            fprintf(stderr, "replay: cannot read %s\n", path);
            return 2;
        }
        LLVMFuzzerTestOneInput(data, size);
        if (!run_changed(data, size)) {
            fprintf(stderr, "replay: no memory\n");
            return 2;
        }
        free(data);
        passed++;
    }
    closedir(dir);
    printf("%d passed, 0 failed\n", passed);
    return passed ? 0 : 1;
}
