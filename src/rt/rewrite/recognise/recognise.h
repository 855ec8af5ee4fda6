// Several instructions that together are one operator, found by what they compute: what lowering
// expands for runtimes that lack an operator (trace/official) becomes a call of it again where that
// is much faster. A search walks from a result to what it is made of, and believes nothing but the
// instructions, their numbers and where their tensors lie. Private to src/rt.
//
// One call replaces a group only if no instruction overwrites an operand before the new call runs,
// no other instruction reads the results in between, and all shapes are fixed. Matching goes
// backwards from the result. Operands of a commutative call may come in either order, because the
// expansion chooses. Recognised are scans (scan.c), products of groups of rows (grouped.c: a
// mixture would compute all experts for each row), Fourier transforms (fft.c), scattered extremes
// and products (scatter.c), divisors of integers (gcd.c), norms (norm.c) and forms of one formula.
// Rare, small or cheap forms are not: factorisations, systems of equations, sorting, special
// functions. docs/coverage.md says how much longer each takes.
//
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_RECOGNISE_H
#define SC_RT_RECOGNISE_H

#include "ops/forms.h"
#include "rt/rewrite/uses.h"

typedef struct sc_rt_search {
    sc_rt_optimizer *o;
    uint32_t *bases;         // by value: whose memory it shows, as index + 1; 0 for what is no view
    uint32_t root;           // the instruction whose result is looked at
    SC_VEC(uint32_t) parts;  // instructions that were looked through on the way
    uint64_t moved;          // bytes of results that have got memory of their own
    uint64_t scratch;        // the most that a call asks for
    uint64_t work;           // values that may still be looked at
    uint64_t waits;          // instructions that values may still be held over
    bool roots[2][SC_OP_COUNT];  // what anything ends with: at first, and late
} sc_rt_search;

enum { SC_RT_FOUND_ARGS = 4 };

// A call that may stand in the place of the root.
typedef struct sc_rt_found {
    sc_op_id op;
    const sc_kernel *kernel;
    sc_evalue *args[SC_RT_FOUND_ARGS];  // without the result
    uint32_t arg_count;
    const sc_evalue
        *ends_in;     // and one more, which no value of the file need have; NULL: no such value
    bool is_checked;  // by the search: what the operator itself takes is other
    bool stays;       // the root's own call, but for its first argument, which is args[0]
} sc_rt_found;

// walk.c

void sc_rt_find_bases(sc_rt_search *s);
// The call of an operator that this value is the only result of; NULL for anything else, and for
// calls whose shapes change from run to run.
const sc_kernel_call *sc_rt_made_by(sc_rt_search *s, const sc_evalue *value, sc_op_id op);
// That of an operator with several results, of which the value is the one of that index.
const sc_kernel_call *sc_rt_made_among(sc_rt_search *s, const sc_evalue *value, sc_op_id op,
                                       uint32_t index);
// The tensor of that shape whose elements, from the offset on and in the same order, the value has;
// NULL if there is none. Looks through views and through copies of them.
sc_evalue *sc_rt_source(sc_rt_search *s, sc_evalue *value, uint32_t rank, const int64_t *sizes,
                        int64_t *offset);
// Is it `count` elements of `x` along a dim, from `start` on?
bool sc_rt_is_part(sc_rt_search *s, const sc_evalue *value, const sc_evalue *x, uint32_t dim,
                   int64_t start, int64_t count);
// The tensor whose first elements along a dim it is.
sc_evalue *sc_rt_whole_of(sc_rt_search *s, const sc_evalue *value, uint32_t dim);
// Does no instruction write it?
bool sc_rt_is_fixed(const sc_rt_search *s, const sc_evalue *value);
// A number that no instruction writes, of that value?
bool sc_rt_is_number(const sc_rt_search *s, const sc_evalue *value, double number);
bool sc_rt_is_shaped(const sc_evalue *value, uint32_t rank, const int64_t *sizes);
// The value whose memory it shows; NULL for what is no view.
sc_evalue *sc_rt_base(const sc_rt_search *s, const sc_evalue *value);

// place.c

// The call in the place of the root and its parts, if everything that it reads and writes is there
// by then: *done. Errors: SC_ERR_MEMORY.
sc_status sc_rt_put(sc_rt_search *s, const sc_rt_found *found, bool *done);
// Does nobody want what it is?
bool sc_rt_is_idle(const sc_rt_search *s, const sc_evalue *value);

// memory.c

// The first of the parts that reads a tensor: all operands are there by then.
uint32_t sc_rt_first_reader(const sc_rt_search *s);
// Does each of the parts, as the file has them, read what those before it wrote, and of the
// operands what they were for the first?
bool sc_rt_parts_hold(sc_rt_search *s, const sc_rt_found *found, uint32_t first);
// Will an operand at the root still hold the bytes that the parts read? Instructions that are gone
// write no more.
bool sc_rt_is_intact(const sc_rt_search *s, const sc_evalue *operand, uint32_t first);

// formula.c

// Operators that the rows of forms.def end with are marked in `roots`.
void sc_rt_formula_roots(bool is_late, bool *roots);
// Is the root, which one of them ends with, a row?
bool sc_rt_is_formula(sc_rt_search *s, const sc_kernel_call *root, bool is_late,
                      sc_rt_found *found);
// Is the value that step, of numbers of that dtype? Then its operands, of any kind and dtype.
bool sc_rt_is_step(sc_rt_search *s, sc_evalue *value, sc_step step, sc_dtype dtype,
                   sc_evalue **operands);

// A step of a scan by doubling: elements are combined with those that far before them, along a dim
// of n. `runs` says which elements belong together; NULL: all of them.
typedef struct sc_rt_scan_step {
    uint32_t dim;
    int64_t n, distance;
    const sc_evalue *runs;
} sc_rt_scan_step;

// Is the value what two operands give? The earlier places come first.
typedef bool (*sc_rt_combined_fn)(sc_rt_search *s, const sc_rt_scan_step *step, sc_evalue *value,
                                  sc_evalue **before, sc_evalue **after);
// The tensor that a cat is the scan of; NULL if it is no scan.
sc_evalue *sc_rt_scanned(sc_rt_search *s, const sc_kernel_call *cat, sc_rt_combined_fn combined,
                         const sc_evalue *runs);

// Is the root an operator of that row (forms.c)? Scans (scan.c), products of groups (grouped.c),
// Fourier transforms of pairs (fft.c), extremes and products of what is scattered (scatter.c),
// common divisors of integers (gcd.c), norms (norm.c).
bool sc_rt_is_scan(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_grouped(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_fft(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_extreme(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_product(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_gcd(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_centred(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);

#endif
