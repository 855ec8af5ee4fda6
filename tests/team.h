// Threads that serve src/base/parallel.h in native tests. In wasm, which has no threads of its own,
// they never come.
#ifndef TEAM_H
#define TEAM_H

#include "base/parallel.h"

// Starts threads for a width of `width`, and waits until they serve. Ends those before.
void team_open(uint32_t width);
// Lets the threads share work row by row, however small it is, or no longer.
void team_share_all(bool shares);
// Ends the threads, and waits until they are gone.
void team_close(void);

#endif
