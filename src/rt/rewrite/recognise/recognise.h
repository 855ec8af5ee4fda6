// Finds several instructions that together are one operator, by what they compute. Lowering expands
// operators that a runtime lacks (trace/official). The expansion becomes one call again if that is
// much faster. A search walks from a result to its operands. It trusts only the instructions, their
// numbers and the places of their tensors. Private to src/rt.
//
// One call replaces a group only if no instruction overwrites an operand before the new call runs,
// no other instruction reads the results in between, and all shapes are fixed. Matching goes
// backwards from the result. Operands of a commutative call may come in either order, because the
// expansion chooses it. The search recognises scans (scan.c), products of groups of rows
// (grouped.c: a mixture would compute all experts for each row), Fourier transforms (fft.c), and
// scattered extremes and products (scatter.c). It also recognises attention (attention.c), divisors
// of integers (gcd.c), norms (norm.c), products with tables of few bits (table.c) and forms of one
// formula. Rare, small or cheap forms are not recognised: factorisations, systems of equations,
// sorting, special functions.
// docs/architectures.md says how much longer each takes.
//
// Prefixes: sc_rt_is_ asks whether instructions form an operator; the other sc_rt_ names walk over
// them.
#ifndef SC_RT_RECOGNISE_H
#define SC_RT_RECOGNISE_H

#include "ops/forms.h"
#include "rt/rewrite/uses.h"

typedef struct sc_rt_search {
    sc_rt_optimizer *o;
    uint32_t *bases;         // by value: the value whose memory it shows, as index + 1; 0 if it is
                             // no view
    uint32_t root;           // the instruction whose result is looked at
    SC_VEC(uint32_t) parts;  // instructions that were passed on the way
    uint64_t moved;          // bytes of results that were given memory of their own
    uint64_t scratch;        // the most scratch that a call needs
    uint64_t work;           // values that the search may still visit
    uint64_t waits;          // instructions that a value may still be held across
    bool is_second;          // the call that was found first had no place
    bool takes_any_size;     // calls whose sizes change from run to run may be parts, too
    bool roots[3][SC_OP_COUNT];  // every operator that an expansion ends with: in the first search,
                                 // the late one and the last one
} sc_rt_search;

enum { SC_RT_FOUND_ARGS = 4 };

// A call that may replace the root.
typedef struct sc_rt_found {
    sc_op_id op;
    const sc_kernel *kernel;
    sc_evalue *args[SC_RT_FOUND_ARGS];  // without the result
    uint32_t arg_count;
    const sc_evalue *ends_in;  // one more argument of any origin, or NULL
    bool is_checked;           // set by the search: the operator's own test does not apply
    bool stays;                // the root's own call with args[0] as its first argument
    const void *form;          // of a call whose kernel knows more than its arguments, or NULL
    bool is_one_of_two;        // if it has no place, the search finds another one
    const sc_evalue *goes;     // a result that must not have another reader, or NULL
} sc_rt_found;

// walk.c

// The call as its kernel gets it, with that result. `args` has room for SC_RT_FOUND_ARGS + 1.
sc_kernel_call sc_rt_found_call(const sc_rt_search *s, const sc_rt_found *found, sc_evalue *out,
                                sc_evalue **args);
void sc_rt_find_bases(sc_rt_search *s);
// The call of an operator whose only result is this value. NULL for any other value, and for calls
// whose shapes change from run to run, unless the search takes those.
const sc_kernel_call *sc_rt_made_by(sc_rt_search *s, const sc_evalue *value, sc_op_id op);
// The call of an operator with several results, of which the value has that index.
const sc_kernel_call *sc_rt_made_among(sc_rt_search *s, const sc_evalue *value, sc_op_id op,
                                       uint32_t index);
// The tensor of that shape whose elements, from the offset on and in order, are those of the value;
// NULL if there is none. Looks through views and through copies of views.
sc_evalue *sc_rt_source(sc_rt_search *s, sc_evalue *value, uint32_t rank, const int64_t *sizes,
                        int64_t *offset);
// The tensor that a value shows by its place in memory, without any instruction; adds to the
// offset.
sc_evalue *sc_rt_shown_by(sc_rt_search *s, const sc_evalue *value, int64_t *offset);
// Is it `count` elements of `x` along a dim, from `start` on?
bool sc_rt_is_part(sc_rt_search *s, const sc_evalue *value, const sc_evalue *x, uint32_t dim,
                   int64_t start, int64_t count);
// The tensor whose first elements along a dim it shows.
sc_evalue *sc_rt_whole_of(sc_rt_search *s, const sc_evalue *value, uint32_t dim);
// Is it never written?
bool sc_rt_is_fixed(const sc_rt_search *s, const sc_evalue *value);
// Is it a number with that value that no instruction writes?
bool sc_rt_is_number(const sc_rt_search *s, const sc_evalue *value, double number);
bool sc_rt_is_shaped(const sc_evalue *value, uint32_t rank, const int64_t *sizes);
// Is it 0, 1, 2, ... as int64, a constant or computed?
bool sc_rt_counts_up(sc_rt_search *s, sc_evalue *value, int64_t count);
// The value whose memory it shows; NULL if it is no view.
sc_evalue *sc_rt_base(const sc_rt_search *s, const sc_evalue *value);

// place.c

// Puts the call in the place of the root and its parts, if its operands and results have valid
// places by then: *done. Errors: SC_ERR_MEMORY.
sc_status sc_rt_put(sc_rt_search *s, const sc_rt_found *found, bool *done);
// Is its result without a reader?
bool sc_rt_is_idle(const sc_rt_search *s, const sc_evalue *value);

// memory.c

// Do the parts, as the file has them, read the right content? Each must read results as the parts
// before it wrote them, and operands as they were for the first part that reads them: `firsts`.
bool sc_rt_parts_hold(sc_rt_search *s, const sc_rt_found *found, uint32_t *firsts);
// Will an operand still have the bytes that the parts read, from instruction `first` on, when the
// root runs? Removed instructions write no more.
bool sc_rt_is_intact(const sc_rt_search *s, const sc_evalue *operand, uint32_t first);

// formula.c

// Marks the operators that the rows of forms.def end with in `roots`.
void sc_rt_formula_roots(bool is_late, bool *roots);
// Is the root, with which a row ends, the result of that row's formula?
bool sc_rt_is_formula(sc_rt_search *s, const sc_kernel_call *root, bool is_late,
                      sc_rt_found *found);
// Is the value the result of that step, on numbers of that dtype? Then finds its operands, of any
// kind and dtype.
bool sc_rt_is_step(sc_rt_search *s, sc_evalue *value, sc_step step, sc_dtype dtype,
                   sc_evalue **operands);

// A step of a scan by doubling: each element is combined with the element that distance before it,
// along a dim of n. `runs` says which elements belong together; NULL: all elements.
typedef struct sc_rt_scan_step {
    uint32_t dim;
    int64_t n, distance;
    const sc_evalue *runs;
} sc_rt_scan_step;

// Is the value a combination of two operands? The earlier places come first.
typedef bool (*sc_rt_combined_fn)(sc_rt_search *s, const sc_rt_scan_step *step, sc_evalue *value,
                                  sc_evalue **before, sc_evalue **after);
// The tensor whose scan a cat is; NULL if it is no scan.
sc_evalue *sc_rt_scanned(sc_rt_search *s, const sc_kernel_call *cat, sc_rt_combined_fn combined,
                         const sc_evalue *runs);

// Is the root an operator of that row (forms.c)? The rows are scans (scan.c), products of groups
// (grouped.c), Fourier transforms of pairs (fft.c), scattered extremes and products (scatter.c),
// common divisors of integers (gcd.c), norms (norm.c), attention, what lies between the delegates
// that compute it (attention.c), and products with tables of few bits (table.c).
bool sc_rt_is_scan(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_grouped(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_fft(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_extreme(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_product(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_gcd(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_centred(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_attention(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_masked_rows(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);
bool sc_rt_is_product_with_table(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found);

#endif
