// Cases of kernels, as tests/kernels/*.case hold them: inputs and expected results that PyTorch
// made offline (tests/make/make_kernel_cases.py). A case is a line `case NAME OPERATOR`, then its
// arguments in the order of the functional schema, then its results:
//
//   n | i INT | d DOUBLE | b 0|1 | s TEXT | I [INT ...] | D [DOUBLE ...] | B [0|1 ...]
//   t DTYPE SIZES ORDER DATA     a tensor: sizes as 2x3 (- for 0-dim), dim order (- for row-major),
//                                elements in memory order
//   T COUNT                      a tensor list; its items follow as t or n lines
//   o DTYPE SIZES ORDER DATA     an expected result; O COUNT opens a list of them
//   u DTYPE SIZES ORDER          a result that means nothing
//   m DTYPE SIZES ORDER DATA     what the next written argument holds afterwards
//   tol RELATIVE ABSOLUTE        instead of the dtype's own tolerance; 0 0: to the sign of zeros
//   shape                        compare shapes only: the values are unspecified
//   only COUNT                   compare as many results only: PyTorch leaves the others open
//   fails SLUG                   the call must fail with this status
//
// DATA is [NUMBER ...] for up to 32 elements: 0 -0 1 -1.5 nan -nan inf -inf, bools as 0 and 1,
// complex numbers as two. More elements are base64 of their little-endian bytes, as are few ones
// that no number says: other NaNs. - stands for no elements.
#ifndef KERNEL_CASE_H
#define KERNEL_CASE_H

#include "kernels/kernel.h"

enum { KERNEL_CASE_ITEMS_MAX = 64 };

typedef struct kernel_case_expected {
    const uint8_t *bytes;
    sc_tensor tensor;
} kernel_case_expected;

typedef struct kernel_case {
    const char *path;  // of its file
    const char *name;  // "aten::relu f32_2x3"
    const sc_op *op;
    sc_evalue *inputs[KERNEL_CASE_ITEMS_MAX];  // schema order
    uint32_t input_count;
    sc_evalue *outs[KERNEL_CASE_ITEMS_MAX];
    uint32_t out_count;
    kernel_case_expected expected[KERNEL_CASE_ITEMS_MAX];
    uint32_t expected_count;
    uint32_t compared;                                    // results; 0: all
    kernel_case_expected written[KERNEL_CASE_ITEMS_MAX];  // arguments, in their order
    uint32_t written_count;
    bool shape_only, has_tolerance;
    double relative, absolute;
    const char *fails;
    sc_evalue *list;  // open list, NULL when none
    uint32_t list_left;
    bool list_is_out;
} kernel_case;

// Every case of every file, one after the other; what `visit` is given lives until the test ends.
typedef void (*kernel_case_fn)(void *user, const kernel_case *t);
void kernel_cases_visit(kernel_case_fn visit, void *user);
// The same of another folder of tests/: of operators that have no kernel, for example.
void kernel_cases_visit_in(const char *folder, kernel_case_fn visit, void *user);
// The arguments of the out form: kept inputs, then outs. Returns their count.
uint32_t kernel_case_arguments(const kernel_case *t, sc_evalue **args);
// Contents of the tensors of a case, inputs and results.
typedef struct kernel_case_memory {
    sc_tensor *tensors[2 * KERNEL_CASE_ITEMS_MAX];
    void *data[2 * KERNEL_CASE_ITEMS_MAX];
    int64_t *sizes[2 * KERNEL_CASE_ITEMS_MAX], *strides[2 * KERNEL_CASE_ITEMS_MAX];
    int64_t numel[2 * KERNEL_CASE_ITEMS_MAX];
    uint32_t count;
} kernel_case_memory;

kernel_case_memory kernel_case_keep(const kernel_case *t);
void kernel_case_put_back(const kernel_case_memory *memory);
// Do the tensors hold it, bit for bit?
bool kernel_case_is(const kernel_case_memory *memory);
// Fails the test where result `k` is not what PyTorch gives.
void kernel_case_compare(const kernel_case *t, uint32_t k, const sc_tensor *actual,
                         const kernel_case_expected *e);

#endif
