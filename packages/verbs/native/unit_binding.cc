// The binding to JavaScript, compiled as one unit: most of the time to compile a file goes into headers
// that its neighbours include too. Every source file is in exactly one unit (test/units.test.ts).
#include "binding/addon.cc"
#include "binding/copy_benchmark.cc"
#include "binding/descriptors.cc"
#include "binding/device.cc"
#include "binding/environment.cc"
#include "binding/events.cc"
#include "binding/fd.cc"
#include "binding/queue.cc"
#include "binding/region.cc"
#include "binding/registered_memory.cc"
