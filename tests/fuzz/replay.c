// Runs a fuzzer's entry point over the files of its corpus, so that what once crashed is tried
// again in every run of the tests: replay FOLDER. An empty or missing folder is an error, since a
// replay of nothing proves nothing.
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        free(data);
        passed++;
    }
    closedir(dir);
    printf("%d passed, 0 failed\n", passed);
    return passed ? 0 : 1;
}
