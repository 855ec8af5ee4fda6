// The one thing that our dumps add to ExecuTorch's: how many threads worked on an event. It is in
// the bytes that the format has for metadata of delegates, which its tools pass on unread: this
// text, and the number.
#ifndef SC_DUMP_THREADS_H
#define SC_DUMP_THREADS_H

#define SC_DUMP_THREADS "threads: "

#endif
