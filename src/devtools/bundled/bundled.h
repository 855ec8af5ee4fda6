// Bundled programs (.bpte): a program, calls of its methods, and the expected results. This header
// has the structure of the file, and the official rules for results that are close enough. It does
// not know the runtime.
// Prefix: sc_bundled_ reads, writes and compares; it runs no program.
#ifndef SC_BUNDLED_H
#define SC_BUNDLED_H

#include "base/diag.h"
#include "core/dtype.h"

// The newest version of the format, which is the one that is written.
#define SC_BUNDLED_VERSION 2u

typedef enum sc_bundled_kind {
    SC_BUNDLED_TENSOR,
    SC_BUNDLED_INT,
    SC_BUNDLED_BOOL,
    SC_BUNDLED_DOUBLE
} sc_bundled_kind;

typedef struct sc_bundled_value {
    sc_bundled_kind kind;
    int64_t i;  // INT, BOOL (0 or 1)
    double d;   // DOUBLE
    sc_dtype dtype;
    uint32_t rank;
    const int64_t *sizes;
    const uint8_t *dim_order;  // the order of the bytes, outermost dimension first
    const uint8_t *data;
    uint64_t bytes;
} sc_bundled_value;

typedef struct sc_bundled_values {
    const sc_bundled_value *items;
    uint32_t count;
} sc_bundled_values;

typedef struct sc_bundled_case {
    sc_bundled_values inputs;
    sc_bundled_values expected;  // empty: no results are expected
} sc_bundled_case;

typedef struct sc_bundled_suite {
    sc_str method;
    const sc_bundled_case *cases;
    uint32_t case_count;
} sc_bundled_suite;

typedef struct sc_bundled {
    const sc_bundled_suite *suites;
    uint32_t suite_count;
    const uint8_t *program;  // a whole .pte
    uint32_t program_bytes;
} sc_bundled;

// Checks all of the file except the program. The result is on `arena`, and bytes stay in the file.
// SC_ERR_VERSION, SC_ERR_CORRUPT or SC_ERR_LIMIT name the method and the case.
sc_status sc_bundled_read(sc_ctx *ctx, sc_arena *arena, const uint8_t *data, size_t size,
                          sc_bundled *out);
// Makes the file without the bytes of the program. The caller appends these, at a multiple of 32.
// SC_ERR_LIMIT if values or program are too large for the format.
sc_status sc_bundled_write(sc_ctx *ctx, sc_arena *arena, const sc_bundled *bundled,
                           const uint8_t **head, size_t *size);

// --- Comparing -----------------------------------------------------------------------------------

typedef struct sc_bundled_verdict {
    bool is_close;
    const char *why_not;  // a difference in something else than elements, or NULL
    uint64_t elements, mismatches;
    uint64_t worst;                     // place of the largest difference, in row-major order
    double max_absolute, max_relative;  // infinite if only one of two elements is finite
    double mean_absolute;
} sc_bundled_verdict;

// Compares row-major tensors of the same dtype and sizes by the official rules. Floats, doubles and
// halves are close within atol + |rtol * expected|. NaN equals NaN, and infinities of one sign are
// equal. Tensors of other dtypes must be equal byte for byte.
void sc_bundled_compare(sc_dtype dtype, const void *actual, const void *expected, uint64_t elements,
                        double rtol, double atol, sc_bundled_verdict *verdict);

#endif
