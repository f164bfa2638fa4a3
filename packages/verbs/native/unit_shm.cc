// The soft device's shared-memory transport, compiled as one unit: most of the time to compile a file goes into headers
// that its neighbours include too. Every source file is in exactly one unit (test/units.test.ts).
#include "soft/shm/dialler.cc"
#include "soft/shm/greeting.cc"
#include "soft/shm/link_message.cc"
#include "soft/shm/link_outbox.cc"
#include "soft/shm/listener.cc"
#include "soft/shm/peer_link.cc"
#include "soft/shm/socket.cc"
#include "soft/shm/steps.cc"
#include "soft/shm/transport.cc"
#include "soft/shm/window.cc"
#include "soft/shm/wire.cc"
