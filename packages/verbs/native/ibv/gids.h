// The addresses of a port, with their types.
#pragma once
#include <vector>

#include "ibv/library.h"
#include "ibv/survey.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

std::vector<SurveyedGid> readGids(const IbvLibrary& library, ibv_context* context, uint32_t port,
                                  const ibv_port_attr& attributes);

}  // namespace rdmc

#endif
