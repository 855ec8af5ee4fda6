// Sums, products, convolutions and pooling as plain numbers. There are two front ends: kernels of
// portable programs, and nodes of a backend. A record states in numbers and pointers what to
// compute, and a row of variants.def computes it. This folder knows no operators, no calls and no
// graphs.
// Prefixes: sc_variant_ picks and runs rows; v4f_ and v4_ are lanes. sc_conv_ and sc_matmul_ read
// the two kinds of record.
//
// A front end fills a record, requests a row with sc_variant_pick, and runs it over its tiles. If
// weights are constant, it requests sc_variant_best once, when a program is loaded, and lets that
// row pack them. From then on it passes row and packing to sc_variant_pick.
#ifndef SC_COMPUTE_H
#define SC_COMPUTE_H

#include "compute/finish.h"
#include "core/dtype.h"

typedef enum sc_record_kind { SC_RECORD_CONV, SC_RECORD_MATMUL } sc_record_kind;

// An element type for weights only: numbers of 4 bits, from -8 to 7, stored as their value + 8, two
// in a byte, the even one in its low half unless sc_weight_quant says otherwise. Steps count
// numbers, not bytes.
enum { SC_DTYPE_I4 = 128 };

// The numbers that 8-bit inputs represent, (value - zero) * scale. There is one pair for all of
// them, or one for each row of a matrix product (batch after batch) or image of a convolution.
typedef struct sc_input_quant {
    const int32_t *zero;  // or NULL for 0
    const float *scale;   // float results only, or NULL for 1; other results have it in the
                          // finish's
    int64_t step;         // from one row or image to the next; 0: one pair
} sc_input_quant;

// The numbers that integer weights represent, (value - zero) * scale. A scale for each channel is
// in the finish's, with those of input and results.
typedef struct sc_weight_quant {
    int32_t zero;  // u8 only
    // Scales of matrix products of i8 and I4, or NULL: one bf16 number for each `block` steps of k.
    // The sum of those steps is multiplied by it, and then added in f32 to the earlier sums.
    const uint16_t *scales;  // [n][k / block]
    int64_t block;           // a multiple of 32 that divides k
    // Scales of products of floats with i8 and I4, or NULL: one for each `block` steps of k, any
    // even number of them that divides k. A sum over a block is multiplied by its scale.
    const float *float_scales;  // [n][k / block]
    bool high_first;            // I4: the even one of two is in the high half of its byte
} sc_weight_quant;

// The beginning of every record. Element types are those of dtype.def, and SC_DTYPE_I4 for weights.
// Sums of floats are made in their own type, those of quantized 8-bit inputs in 32 bits. So the
// bias, which is added before the finish, is of the float type or i32. A number that is added after
// the scales, such as the f32 bias of quantized weights, is the finish's shift.
typedef struct sc_record {
    uint8_t kind;                   // sc_record_kind
    uint8_t in, weight, bias, out;  // sc_dtype; `bias` has no meaning without a bias
    bool drops_weights;             // once they are packed, no other copy of them stays in memory
    sc_input_quant quant;
    sc_weight_quant weights;
    sc_finish finish;
} sc_record;

// Are these integers quantized, rather than integers that wrap?
static inline bool sc_record_is_quantized(const sc_record *r) {
    return (r->in == SC_DTYPE_I8 || r->in == SC_DTYPE_U8) &&
           (r->out == SC_DTYPE_F32 || r->finish.scale);
}

// The number of blocks of `size` that contain `count`.
static inline int64_t sc_blocks_of(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

// The functions of one row. Scratch and packing are 64-byte aligned; NULL if a row does not use
// them.
typedef struct sc_algorithm {
    // Checks layout, shape and finish; the types have been compared with the row's.
    bool (*fits)(const sc_record *record);
    // Writes weights in the order of `run`, every byte. They may depend on facts that stay the same
    // from run to run (the weights, their shape, the bias and the finish), but not on sizes of the
    // input. A row that packs runs only with its packing; weights that are not constant need
    // another row. After packing, the weights, the bias, and scale and shift of the finish are not
    // read again. They may be freed, but those that were NULL must stay NULL, and no others may
    // become so.
    uint64_t (*pack_bytes)(const sc_record *record);
    void (*pack)(const sc_record *record, void *packed);
    // Bytes that one `run` may use. Larger shapes never need less. It does not read the finish, to
    // which loading may add later.
    uint64_t (*scratch_bytes)(const sc_record *record);
    // The number of independent parts of the result. Runs over ranges, in any order or at the same
    // time with scratch of their own, give the same bits as one run over all of them.
    int64_t (*tiles)(const sc_record *record);
    void (*run)(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch);
} sc_algorithm;

// A row of variants.def.
typedef struct sc_variant {
    const char *name;
    uint8_t kind;             // sc_record_kind
    uint8_t in, weight, out;  // sc_dtype; SC_DTYPE_NONE: any
    const sc_algorithm *algorithm;
} sc_variant;

extern const sc_variant sc_variants[];
extern const uint32_t sc_variant_count;

// Defines what a row refers to: SC_ALGORITHM(conv_panels, .fits = fits, ...).
#define SC_ALGORITHM(name, ...)                    \
    extern const sc_algorithm sc_algorithm_##name; \
    const sc_algorithm sc_algorithm_##name = {__VA_ARGS__}

// Do types, layout and shape match the row?
bool sc_variant_fits(const sc_variant *variant, const sc_record *record);
// The first row that fits, assuming that it may pack. NULL if no row computes these types.
const sc_variant *sc_variant_best(const sc_record *record);
// The first row that fits and needs no more than this scratch. It packs only if it is `packed_for`,
// the row that a packing was made for (or NULL). NULL if no row computes these types.
const sc_variant *sc_variant_pick(const sc_record *record, const sc_variant *packed_for,
                                  uint64_t scratch_bytes);
uint64_t sc_variant_pack_bytes(const sc_variant *variant, const sc_record *record);
uint64_t sc_variant_scratch_bytes(const sc_variant *variant, const sc_record *record);
// All tiles.
void sc_variant_run(const sc_variant *variant, const sc_record *record, const void *packed,
                    void *scratch);

#endif
