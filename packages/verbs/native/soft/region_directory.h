// The regions of a device in its control segment, where the initiators of this host look keys up.
#pragma once
#include "core/region_table.h"
#include "soft/control_segment.h"

namespace rdmc {

class SharedRegionDirectory final : public RegionDirectory {
 public:
  explicit SharedRegionDirectory(const ControlSegment& control) : control_(control) {}
  void publish(uint32_t index, const Region& region) override;
  void revoke(uint32_t index, const Region& region) override;
  void withdraw(uint32_t index) override;

 private:
  const ControlSegment& control_;
};

}  // namespace rdmc
