// The soft device's TCP transport, compiled as one unit: most of the time to compile a file goes into headers
// that its neighbours include too. Every source file is in exactly one unit (test/units.test.ts).
#include "soft/tcp/dialler.cc"
#include "soft/tcp/greeting.cc"
#include "soft/tcp/inbox.cc"
#include "soft/tcp/listener.cc"
#include "soft/tcp/nic.cc"
#include "soft/tcp/requester.cc"
#include "soft/tcp/responder.cc"
#include "soft/tcp/responder_output.cc"
#include "soft/tcp/send_window.cc"
#include "soft/tcp/socket.cc"
#include "soft/tcp/transport.cc"
#include "soft/tcp/wire.cc"
