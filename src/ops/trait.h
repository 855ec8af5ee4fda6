// Traits of an operator, in the words of the table's last column. 64 bits: an enumerator could hold
// 31 of them.
// Prefix: sc_op_, an operator.
#ifndef SC_OPS_TRAIT_H
#define SC_OPS_TRAIT_H

#include <stdint.h>

typedef uint64_t sc_op_traits;
#define SC_TRAIT(bit)     (UINT64_C(1) << (bit))
#define SC_CORE           SC_TRAIT(0)  // tagged core ATen, or accepted by the edge verifier
#define SC_VIEW           SC_TRAIT(1)  // aliases its first argument; <name>_copy is its edge form
#define SC_POINTWISE      SC_TRAIT(2)  // element by element
#define SC_MUTATES        SC_TRAIT(3)  // writes operands that its schema marks (copy_)
#define SC_RANDOM         SC_TRAIT(4)
#define SC_DATA_DEPENDENT SC_TRAIT(5)   // result shape depends on values
#define SC_NO_FOLD        SC_TRAIT(6)   // never evaluated at compile time
#define SC_SYMBOLIC       SC_TRAIT(7)   // computes on integers, not tensors; a runtime primitive
#define SC_HIGHER_ORDER   SC_TRAIT(8)   // has graph arguments, or calls a delegated part
#define SC_ASSERTION      SC_TRAIT(9)   // checks and has no result that matters; erased on the way
#define SC_INPLACE        SC_TRAIT(10)  // derived in-place twin of `functional`
#define SC_FOREIGN        SC_TRAIT(11)  // not in the table: kept by name, to be reported
#define SC_COMPOSITE      SC_TRAIT(12)  // expands above functionalization, others below it
#define SC_HANDS_ON       SC_TRAIT(13)  // a result as large as the first argument has its elements
#define SC_EDGE_NOOP      SC_TRAIT(14)  // the official to_edge removes it if it has no effect
#define SC_PERMUTES       SC_TRAIT(15)  // its first argument with the dims in another order
#define SC_OVERWRITES     SC_TRAIT(16)  // does not read what SC_MUTATES says it writes
#define SC_SHAPE_ONLY     SC_TRAIT(17)  // reads the sizes of its operands and not their elements
#define SC_UNIFORM        SC_TRAIT(18)  // the edge dialect wants its operands in one dtype
#define SC_CAST_LOW       SC_TRAIT(19)  // torch.autocast computes it in its low precision
#define SC_CAST_FLOAT     SC_TRAIT(20)  // torch.autocast computes it in float32
#define SC_CAST_WIDEST \
    SC_TRAIT(21)  // torch.autocast computes it in the widest dtype of its operands
#define SC_CHANNELS_LAST SC_TRAIT(22)  // kernels also take operands that are all channels-last
#define SC_ANY_LAYOUT \
    SC_TRAIT(23)  // kernels take any layout, and write the one that an argument says
#define SC_MATRICES     SC_TRAIT(24)  // kernels take any strides of the last two operands
#define SC_UNOFFICIAL   SC_TRAIT(25)  // the official libraries have no kernel for it
#define SC_SEES_STORAGE SC_TRAIT(26)  // a view of the storage behind its tensor
#define SC_RUNS         SC_TRAIT(27)  // this runtime can run it: derived from the kernel column
#define SC_PTE_ONLY     SC_TRAIT(28)  // written by the emitter; no program has it
#define SC_REFUSED      SC_TRAIT(29)  // foreign: a known operator's call, an sc_refused_op
#define SC_RESHAPES     SC_TRAIT(30)  // a view in other sizes, if strides allow it
#define SC_INLINED      SC_TRAIT(31)  // higher-order: its body becomes part of the caller
#define SC_MOVES_BYTES  SC_TRAIT(32)  // the official kernel takes every dtype there is
#define SC_FUNCTORCH    SC_TRAIT(33)  // marks levels of vmap and jvp; decomposition applies it
#define SC_ROUNDS       SC_TRAIT(34)  // PyTorch rounds its Scalars to half precision first
#define SC_SCALES       SC_TRAIT(35)  // PyTorch does not round its second operand, a number
#define SC_CHOOSES      SC_TRAIT(36)  // its first operand chooses: it has no part in promotion
#define SC_CUTS         SC_TRAIT(37)  // its Scalars are bounds of its first operand's elements
#define SC_WRAPS        SC_TRAIT(38)  // its negative Scalars wrap if its integers are unsigned
#define SC_COMMUTES     SC_TRAIT(39)  // its first two operands may change places
#define SC_WIDENS       SC_TRAIT(40)  // looks up rows of a table of few bits, as floats
#define SC_REPEATABLE \
    SC_TRAIT(41)             // a second call on its result changes no byte, unless a flag is true
#define SC_OWN SC_TRAIT(42)  // not in the table: known by a schema alone (own.h)

#endif
