// The test harness. A test file includes this, writes TEST(name) { ... } and nothing else: tests
// register themselves before main runs. A failed check prints file, line and both values, marks the
// test as failed and goes on; REQUIRE leaves the test. Data files are named relative to tests/,
// also in the wasm build, which reads them through Node's own file system.
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

typedef struct test_record {
    const char *name;
    const char *file;  // as the compiler saw it; relative to tests/ once registered
    int line;
    bool has_cases;
    void (*run)(void);
    struct test_record *next;
} test_record;

#define TEST_DEFINE(test_name, cases)                                                     \
    static void test_##test_name(void);                                                   \
    static test_record test_record_##test_name = {#test_name, __FILE__,         __LINE__, \
                                                  cases,      test_##test_name, NULL};    \
    __attribute__((constructor)) static void test_register_##test_name(void) {            \
        test_register(&test_record_##test_name);                                          \
    }                                                                                     \
    static void test_##test_name(void)

// A test; its body follows.
#define TEST(name)       TEST_DEFINE(name, false)
// A test that walks a table or a folder: each `if (test_case("..."))` in it counts as one test, and
// --filter picks among the cases too.
#define TEST_CASES(name) TEST_DEFINE(name, true)

void test_register(test_record *record);

// Begins a case of a TEST_CASES test; false when --filter leaves it out.
bool test_case(const char *format, ...) SC_PRINTF(1, 2);
// Has --filter left out cases of this test so far? Then sums over cases are not complete.
bool test_is_partial(void);

// --- Checks --------------------------------------------------------------------------------------
// Each returns whether it held, so that a test can stop early where going on makes no sense.

#define CHECK(condition) test_check(__FILE__, __LINE__, #condition, (condition))
#define CHECK_EQ_INT(actual, expected) \
    test_eq_int(__FILE__, __LINE__, #actual, (long long)(actual), (long long)(expected))
#define CHECK_EQ_UINT(actual, expected)                                     \
    test_eq_uint(__FILE__, __LINE__, #actual, (unsigned long long)(actual), \
                 (unsigned long long)(expected))
// Zero-terminated strings; NULL equals only NULL.
#define CHECK_EQ_STR(actual, expected) \
    test_eq_str(__FILE__, __LINE__, #actual, (actual), (expected))
// Anything with `ptr`-and-length ends up here: text that need not be zero-terminated.
#define CHECK_EQ_TEXT(actual, actual_bytes, expected) \
    test_eq_text(__FILE__, __LINE__, #actual, (const char *)(actual), (actual_bytes), (expected))
#define CHECK_EQ_MEM(actual, expected, bytes) \
    test_eq_mem(__FILE__, __LINE__, #actual, (actual), (expected), (bytes))
// |actual - expected| <= tolerance * max(1, |expected|); equal infinities and two NaNs are close.
#define CHECK_CLOSE(actual, expected, tolerance) \
    test_close(__FILE__, __LINE__, #actual, (actual), (expected), (tolerance))
// The bits of two doubles or floats, any NaN being equal to any other.
#define CHECK_SAME_FLOAT(actual, expected) \
    test_same_float(__FILE__, __LINE__, #actual, (actual), (expected))
#define CHECK_STATUS(expr, expected) test_status(__FILE__, __LINE__, #expr, (expr), (expected))
#define CHECK_OK(expr)               CHECK_STATUS(expr, SC_OK)

#define REQUIRE(condition)                                                    \
    do {                                                                      \
        if (!test_check(__FILE__, __LINE__, #condition, (condition))) return; \
    } while (0)
#define REQUIRE_OK(expr)             \
    do {                             \
        if (!CHECK_OK(expr)) return; \
    } while (0)
#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

bool test_check(const char *file, int line, const char *text, bool holds);
bool test_eq_int(const char *file, int line, const char *text, long long a, long long b);
bool test_eq_uint(const char *file, int line, const char *text, unsigned long long a,
                  unsigned long long b);
bool test_eq_str(const char *file, int line, const char *text, const char *a, const char *b);
bool test_eq_text(const char *file, int line, const char *text, const char *a, size_t a_bytes,
                  const char *b);
bool test_eq_mem(const char *file, int line, const char *text, const void *a, const void *b,
                 size_t bytes);
bool test_close(const char *file, int line, const char *text, double a, double b, double tolerance);
bool test_same_float(const char *file, int line, const char *text, double a, double b);
bool test_status(const char *file, int line, const char *text, sc_status a, sc_status b);
void test_fail(const char *file, int line, const char *format, ...) SC_PRINTF(3, 4);

// --- Data ----------------------------------------------------------------------------------------
// Whatever these return lives until the test ends.

void *test_alloc(size_t bytes);
char *test_format(const char *format, ...) SC_PRINTF(1, 2);
// Full path of a file or folder under tests/.
const char *test_path(const char *relative);
// The whole file, zero-terminated; NULL and a failed test if it cannot be read. `bytes_out` may be
// NULL.
char *test_read(const char *relative, size_t *bytes_out);
void test_write(const char *relative, const void *data, size_t bytes);
// Sorted paths, relative to tests/, of the files in a folder (not below) that end in `suffix`.
const char **test_list(const char *folder, const char *suffix, size_t *count_out);

// True under --update: expectations are to be rewritten, not compared.
bool test_updating(void);
// Compares text with a file that holds the expectation, line by line; --update rewrites the file.
#define CHECK_GOLDEN(relative, text, bytes) \
    test_golden(__FILE__, __LINE__, (relative), (text), (bytes))
bool test_golden(const char *file, int line, const char *relative, const char *text, size_t bytes);
// The same of what all cases of a test add up to; holds where some of them were left out.
#define CHECK_GOLDEN_OF_ALL(relative, text, bytes) \
    ((void)(test_is_partial() || CHECK_GOLDEN(relative, text, bytes)))

// For main.c only.
int test_main(int argc, char **argv);

#endif
