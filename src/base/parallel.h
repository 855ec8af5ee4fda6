// Work on several threads: one call is cut into parts, and the threads of the engine take them one
// after the other until none is left. The thread that calls takes parts, too.
//
// Threads are the host's. Each of them calls sc_parallel_serve, which returns when serving ends. A
// thread that never comes is not missed: the others take its parts. Builds without threads have the
// same functions, and one thread does everything.
//
// A part may read what the caller wrote before, and writes only what no other part reads or writes.
// It must not allocate from the heap, fail, or report. It may use the scratch of its thread.
//
// In builds with threads, a thread of the host starts late: sc_parallel_missed tells how much work
// it would have had.
// Prefix: sc_parallel_ is one call on several threads, and those threads.
#ifndef SC_PARALLEL_H
#define SC_PARALLEL_H

#include "base/base.h"

// The most threads that can work on one call.
enum { SC_PARALLEL_MAX = 64 };

// Does parts [from, to). `thread` is below sc_parallel_width(): no other thread has the same number
// at the same time.
typedef void sc_parallel_fn(void *work, int64_t from, int64_t to, uint32_t thread);

// The number of threads that may take part in a call, at least 1. Scratch is for so many.
uint32_t sc_parallel_width(void);
// Sets the width. The host does it once, before programs are loaded and threads serve.
void sc_parallel_set_width(uint32_t width);

// Calls `fn` for ranges that cover [0, count) once, and returns when all are done. A range has at
// most `step` parts, unless one thread does everything. Results must not depend on the ranges or on
// who does them. A call from inside of a part does all its parts at once, as thread 0: its scratch
// must be its own.
void sc_parallel(int64_t count, int64_t step, sc_parallel_fn *fn, void *work);

// Nanoseconds of a number on one core: to copy it, to take part in a sum or product, to be
// converted or fetched by itself, and to pass through a function such as exp.
#define SC_COST_COPY     0.3
#define SC_COST_SUM      0.4
#define SC_COST_CONVERT  1.5
#define SC_COST_FUNCTION 3.0

// The step for `count` rows of so many nanoseconds each: ranges that are worth some microseconds.
// It is `count` if all of them are worth no more than that.
int64_t sc_parallel_step(int64_t count, double nanoseconds);
// Calls `fn` for ranges of such rows. Little work is done at once, at no cost. It may be called
// inside of a part, too.
void sc_parallel_rows(int64_t count, double nanoseconds, sc_parallel_fn *fn, void *work);
// The number of calls that were shared so far, and how many threads had a range of one since then:
// at least 1, the caller's.
uint64_t sc_parallel_calls(void);
uint32_t sc_parallel_threads_since(uint64_t calls);

// Makes every row a range by itself, whatever it costs. For tests.
void sc_parallel_split_all(bool splits);

// Makes sure that each thread but the caller's has `bytes` of scratch, which stay as long as the
// threads. False if there is no memory for them. Not from inside of a part.
bool sc_parallel_reserve(uint64_t bytes);
// The scratch of a thread from 1 on, 64-byte aligned.
void *sc_parallel_scratch(uint32_t thread);

// Serves as thread `thread`, from 1 to the width less 1, until sc_parallel_end is called.
void sc_parallel_serve(uint32_t thread);
// Sends all serving threads home. Not during a call.
void sc_parallel_end(void);
// Says that a thread broke in the middle of a part. The call that it worked for panics.
void sc_parallel_fail(void);
// The number of threads that serve now.
uint32_t sc_parallel_present(void);
// The number of ranges that calls had and no other thread could take, because none served.
double sc_parallel_missed(void);

#endif
