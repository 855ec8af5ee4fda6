// A member of the table DelegateCall that is ours alone: how many leading arguments are inputs,
// plus one. The other members do not say it, and the bytes of a backend of the host say what that
// backend likes. Readers of FlatBuffers skip members that they do not know.
#ifndef SC_DELEGATE_CALL_H
#define SC_DELEGATE_CALL_H

enum { SC_DELEGATE_CALL_INPUTS = 16 };

#endif
