// Registration, the runner, the checks and the data helpers behind harness.h. One test runs at a
// time; all state is in the one static struct below.
#define _POSIX_C_SOURCE 200809L

#include "harness.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct test_block {
    struct test_block *next;
    max_align_t data[];
} test_block;

static struct {
    test_record *records;
    const char *filter;
    const char *data_folder;
    bool update;
    bool verbose;

    const test_record *running;
    char case_name[256];  // "" outside a case
    int case_count;       // of the running test, --filter aside
    bool is_partial;      // some of its cases were left out
    int failures;         // of the running test or case
    test_block *blocks;
    int passed, failed;
} state;

// --- Registration --------------------------------------------------------------------------------

// The build names files from the checkout's root; a compiler without that option, by full path; a
// compiler cache that makes paths relative, from the build folder.
static const char *relative_file(const char *file) {
    static const char *const FOLDERS[] = {TESTS_DIR "/", "tests/"};
    while (strncmp(file, "../", 3) == 0) file += 3;
    for (size_t i = 0; i < SC_COUNT_OF(FOLDERS); i++)
        if (strncmp(file, FOLDERS[i], strlen(FOLDERS[i])) == 0) return file + strlen(FOLDERS[i]);
    return file;
}

void test_register(test_record *record) {
    record->file = relative_file(record->file);
    // Constructors run in link order; tests run by file and line, whatever the linker did.
    test_record **at = &state.records;
    for (; *at; at = &(*at)->next) {
        int order = strcmp(record->file, (*at)->file);
        if (order < 0 || (order == 0 && record->line < (*at)->line)) break;
    }
    record->next = *at;
    *at = record;
}

// --- The runner ----------------------------------------------------------------------------------

static const char *label(const test_record *record, const char *case_name, char out[512]) {
    snprintf(out, 512, "%s %s%s%s", record->file, record->name, *case_name ? ": " : "", case_name);
    return out;
}

static bool is_selected(const test_record *record, const char *case_name) {
    char text[512];
    return !state.filter || strstr(label(record, case_name, text), state.filter);
}

static void close_unit(void) {
    if (state.failures)
        state.failed++;
    else
        state.passed++;
    if (state.failures || state.verbose) {
        char text[512];
        printf("%s %s\n", state.failures ? "FAIL" : "ok  ",
               label(state.running, state.case_name, text));
    }
    state.failures = 0;
}

bool test_case(const char *format, ...) {
    SC_ASSERT(state.running && state.running->has_cases);
    // The part before the first case belongs to no case; it counts only if it failed.
    if (*state.case_name || state.failures) close_unit();
    state.case_count++;
    va_list args;
    va_start(args, format);
    vsnprintf(state.case_name, sizeof state.case_name, format, args);
    va_end(args);
    if (is_selected(state.running, state.case_name)) return true;
    state.case_name[0] = 0;
    state.is_partial = true;
    return false;
}

bool test_is_partial(void) { return state.is_partial; }

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void free_blocks(void) {
    while (state.blocks) {
        test_block *next = state.blocks->next;
        free(state.blocks);
        state.blocks = next;
    }
}

static void run_test(const test_record *record) {
    double start = now_ms();
    if (state.verbose) {
        // Ahead of the test, so that after a crash the last line tells where.
        printf("run  %s %s\n", record->file, record->name);
        fflush(stdout);
    }
    state.running = record;
    state.case_name[0] = 0;
    state.failures = 0;
    state.case_count = 0;
    state.is_partial = false;
    record->run();
    if (record->has_cases && !state.case_count && !state.filter) {
        test_fail(record->file, record->line, "%s found no cases", record->name);
    }
    if (!record->has_cases || *state.case_name || state.failures) close_unit();
    free_blocks();
    state.running = NULL;
    double took = now_ms() - start;
    if (took > 1000 || state.verbose) printf("     %.0f ms\n", took);
}

static int usage(FILE *out, const char *head, const char *option) {
    fprintf(out,
            "%s%s\n"
            "  --filter TEXT   run tests whose file, name or case contains TEXT\n"
            "  --file PATH     run the tests of one file, named relative to tests/\n"
            "  --list          print the tests and stop\n"
            "  --update        rewrite expectations instead of comparing\n"
            "  --data FOLDER   the tests folder, if it moved since the build\n"
            "  --verbose       print every test\n"
            "  --help          print this help\n"
            "Exit codes: 0 all passed, 1 a test failed or none ran, 2 wrong usage.\n",
            head, option);
    return out == stdout ? 0 : 2;
}

int test_main(int argc, char **argv) {
    const char *file = NULL;
    bool list = false;
    state.data_folder = TESTS_DIR;
    for (int i = 1; i < argc; i++) {
        const char **value = !strcmp(argv[i], "--filter") ? &state.filter
                             : !strcmp(argv[i], "--file") ? &file
                             : !strcmp(argv[i], "--data") ? &state.data_folder
                                                          : NULL;
        if (value) {
            if (++i == argc) return usage(stderr, "sc_tests: no value for ", argv[i - 1]);
            *value = argv[i];
        } else if (!strcmp(argv[i], "--list")) {
            list = true;
        } else if (!strcmp(argv[i], "--update")) {
            state.update = true;
        } else if (!strcmp(argv[i], "--verbose")) {
            state.verbose = true;
        } else if (!strcmp(argv[i], "--help")) {
            return usage(stdout, "usage: sc_tests [OPTION]...", "");
        } else {
            return usage(stderr, "sc_tests: there is no option ", argv[i]);
        }
    }
    for (const test_record *record = state.records; record; record = record->next) {
        if (file && strcmp(file, record->file) != 0) continue;
        if (!record->has_cases && !is_selected(record, "")) continue;
        if (list)
            printf("%s %s\n", record->file, record->name);
        else
            run_test(record);
    }
    if (list) return 0;
    printf("%d passed, %d failed\n", state.passed, state.failed);
    // Nothing selected is a mistake in the selection, not a success.
    return state.failed || !state.passed ? 1 : 0;
}

// --- Checks --------------------------------------------------------------------------------------

void test_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("tests/%s:%d: ", relative_file(file), line);
    vprintf(format, args);
    va_end(args);
    if (*state.case_name) printf(" [%s]", state.case_name);
    printf("\n");
    state.failures++;
}

bool test_check(const char *file, int line, const char *text, bool holds) {
    if (!holds) test_fail(file, line, "%s does not hold", text);
    return holds;
}

bool test_eq_int(const char *file, int line, const char *text, long long a, long long b) {
    if (a != b) test_fail(file, line, "%s is %lld, not %lld", text, a, b);
    return a == b;
}

bool test_eq_uint(const char *file, int line, const char *text, unsigned long long a,
                  unsigned long long b) {
    if (a != b) test_fail(file, line, "%s is %llu, not %llu", text, a, b);
    return a == b;
}

bool test_eq_str(const char *file, int line, const char *text, const char *a, const char *b) {
    bool same = a && b ? strcmp(a, b) == 0 : a == b;
    if (!same) {
        test_fail(file, line, "%s is\n  %s\nnot\n  %s", text, a ? a : "NULL", b ? b : "NULL");
    }
    return same;
}

bool test_eq_text(const char *file, int line, const char *text, const char *a, size_t a_bytes,
                  const char *b) {
    bool same = a_bytes == strlen(b) && memcmp(a, b, a_bytes) == 0;
    if (!same) test_fail(file, line, "%s is\n  %.*s\nnot\n  %s", text, (int)a_bytes, a, b);
    return same;
}

bool test_eq_mem(const char *file, int line, const char *text, const void *a, const void *b,
                 size_t bytes) {
    const uint8_t *left = a, *right = b;
    for (size_t i = 0; i < bytes; i++) {
        if (left[i] == right[i]) continue;
        test_fail(file, line, "%s: byte %zu of %zu is 0x%02x, not 0x%02x", text, i, bytes, left[i],
                  right[i]);
        return false;
    }
    return true;
}

bool test_close(const char *file, int line, const char *text, double a, double b,
                double tolerance) {
    bool close = a == b || (isnan(a) && isnan(b)) ||
                 (isfinite(b) && fabs(a - b) <= tolerance * fmax(1, fabs(b)));
    if (!close) test_fail(file, line, "%s is %.17g, not %.17g within %g", text, a, b, tolerance);
    return close;
}

bool test_same_float(const char *file, int line, const char *text, double a, double b) {
    bool same = (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
    if (!same) test_fail(file, line, "%s is %a (%.17g), not %a (%.17g)", text, a, a, b, b);
    return same;
}

bool test_status(const char *file, int line, const char *text, sc_status a, sc_status b) {
    if (a != b) {
        test_fail(file, line, "%s gave %s, not %s", text, sc_status_slug(a), sc_status_slug(b));
    }
    return a == b;
}

// --- Data ----------------------------------------------------------------------------------------

void *test_alloc(size_t bytes) {
    test_block *block = calloc(1, sizeof *block + bytes);
    SC_ASSERT(block);
    block->next = state.blocks;
    state.blocks = block;
    return block->data;
}

char *test_format(const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    SC_ASSERT(length >= 0);
    char *text = test_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

const char *test_path(const char *relative) {
    return test_format("%s/%s", state.data_folder, relative);
}

// NULL if there is no such file.
static char *read_file(const char *relative, size_t *bytes_out) {
    FILE *file = fopen(test_path(relative), "rb");
    if (!file) return NULL;
    char *data = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long bytes = ftell(file);
        rewind(file);
        if (bytes >= 0) {
            data = test_alloc((size_t)bytes + 1);
            if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes) data = NULL;
            if (bytes_out) *bytes_out = (size_t)bytes;
        }
    }
    fclose(file);
    return data;
}

char *test_read(const char *relative, size_t *bytes_out) {
    if (bytes_out) *bytes_out = 0;
    char *data = read_file(relative, bytes_out);
    if (!data) test_fail(relative, 0, "cannot be read");
    return data;
}

void test_write(const char *relative, const void *data, size_t bytes) {
    FILE *file = fopen(test_path(relative), "wb");
    bool written = file && fwrite(data, 1, bytes, file) == bytes;
    if (file && fclose(file) != 0) written = false;
    if (!written) test_fail(relative, 0, "cannot be written");
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **test_list(const char *folder, const char *suffix, size_t *count_out) {
    *count_out = 0;
    DIR *dir = opendir(test_path(folder));
    if (!dir) {
        test_fail(folder, 0, "no such folder");
        return NULL;
    }
    size_t count = 0, room = 16;
    const char **names = test_alloc(room * sizeof *names);
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), end = strlen(suffix);
        if (length < end || strcmp(entry->d_name + length - end, suffix) != 0) continue;
        if (entry->d_name[0] == '.') continue;
        if (count == room) {
            const char **more = test_alloc(2 * room * sizeof *more);
            memcpy(more, names, room * sizeof *names);
            names = more;
            room *= 2;
        }
        names[count++] = test_format("%s/%s", folder, entry->d_name);
    }
    closedir(dir);
    qsort(names, count, sizeof *names, compare_names);
    *count_out = count;
    return names;
}

bool test_updating(void) { return state.update; }

// Bytes of the line that starts at `start`, its end not counted.
static int line_bytes(const char *text, size_t bytes, size_t start) {
    if (start == bytes) return 0;
    const char *end = memchr(text + start, '\n', bytes - start);
    return (int)(end ? (size_t)(end - text) - start : bytes - start);
}

bool test_golden(const char *file, int line, const char *relative, const char *text, size_t bytes) {
    size_t expected_bytes = 0;
    const char *expected = read_file(relative, &expected_bytes);
    if (expected && expected_bytes == bytes && (bytes == 0 || memcmp(expected, text, bytes) == 0))
        return true;
    if (state.update) {
        test_write(relative, text, bytes);
        printf("updated tests/%s\n", relative);
        return true;
    }
    if (!expected) {
        test_fail(file, line, "tests/%s is missing; --update writes it", relative);
        return false;
    }
    // The first line that differs says most; the rest is for a diff after --update.
    size_t i = 0, start = 0, number = 1;
    while (i < bytes && i < expected_bytes && text[i] == expected[i]) {
        if (text[i++] == '\n') {
            start = i;
            number++;
        }
    }
    test_fail(file, line, "tests/%s line %zu is\n  %.*s\nnot\n  %.*s", relative, number,
              line_bytes(text, bytes, start), text + start,
              line_bytes(expected, expected_bytes, start), expected + start);
    return false;
}
