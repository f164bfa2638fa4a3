// The header of libibverbs, where the machine that builds the addon has it; the library itself is opened at run
// time. Posting and polling are inline functions of that header which call the provider directly, and the layouts
// they use belong to a stable ABI whose owner is that header: a copy of it here could be wrong without being noticed.
// So an addon that was built without the header has no ibverbs device, and fails with ERR_RDMC_IBVERBS_NOT_BUILT.
// Prebuilt addons are built with it. RDMC_WITHOUT_IBVERBS leaves it out where it is there.
#pragma once

#if __has_include(<infiniband/verbs.h>) && !defined(RDMC_WITHOUT_IBVERBS)
#define RDMC_WITH_IBVERBS 1
#include <infiniband/verbs.h>
#else
#define RDMC_WITH_IBVERBS 0
#endif
