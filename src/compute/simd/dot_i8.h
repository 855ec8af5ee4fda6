// The dot product of 8-bit numbers in relaxed SIMD: every lane of 32 bits adds four products of
// signed bytes with bytes of 7 bits. Bytes with a top bit mean different things on different hosts,
// so rows that use them ask what this host does. Other builds compute the product in plain C, for
// tests only.
// Prefix: sc_dot_ knows the host's meaning of the instruction.
#ifndef SC_DOT_I8_H
#define SC_DOT_I8_H

#include "compute/simd/simd_i8.h"

// True if the build has rows with this product. Plain wasm would only carry their bytes.
#if defined(__wasm_relaxed_simd__) || !defined(__wasm__)
#define SC_DOT_EXISTS 1
#else
#define SC_DOT_EXISTS 0
#endif

typedef enum sc_dot_kind {
    SC_DOT_UNTRIED,
    SC_DOT_INEXACT,   // no instruction, or one that saturates, as on x86 without VNNI
    SC_DOT_SIGNED,    // the second operand is signed, as on ARM
    SC_DOT_UNSIGNED,  // it is unsigned, as on x86 with VNNI
} sc_dot_kind;

// True if the product is exact for any bytes on this host. One short trial finds out, always with
// the same answer. Rows ask when they are picked, so it has been made before any of them runs. An
// inexact product is no faster than that of 16 bits, not even with weights of 4 bits.
bool sc_dot_is_exact(void);
// The bits by which left operands differ from their bytes: 0x80 makes signed bytes unsigned, and
// adds 128 to each.
uint8_t sc_dot_flip(void);
// Tests assume another meaning, until they assume SC_DOT_UNTRIED. False, and without effect, if the
// instruction has not got it.
bool sc_dot_assume(sc_dot_kind kind);

// The product in plain C, with the meaning that was assumed last.
v4u sc_dot_emulate(v16b a, v16b b, v4u c);

// c plus the sums of four neighbouring products each. `b` is the operand of 7 bits.
static inline v4u v4u_dot_bytes(v16b a, v16b b, v4u c) {
#if defined(__wasm_relaxed_simd__)
    return (v4u)wasm_i32x4_relaxed_dot_i8x16_i7x16_add((v128_t)a, (v128_t)b, (v128_t)c);
#else
    return sc_dot_emulate(a, b, c);
#endif
}

// Repeats four neighbours four times.
static inline v16b v16b_load_splat_four(const uint8_t *p) {
#if defined(__wasm_simd128__)
    return (v16b)wasm_v128_load32_splat(p);
#else
    int32_t four;
    memcpy(&four, p, sizeof four);
    return (v16b)(v4i){four, four, four, four};
#endif
}

#endif
