// Where a queue pair is reached, as plain fields that travel as JSON; reading them checks them.
#pragma once
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/failure.h"

namespace rdmc {

class AddressFields {
 public:
  using Value = std::variant<std::monostate, double, std::string>;

  void set(std::string name, Value value) { fields_.emplace_back(std::move(name), std::move(value)); }
  const std::vector<std::pair<std::string, Value>>& all() const { return fields_; }

  // Both throw Failure ERR_RDMC_INVALID_ADDRESS.
  std::string text(const char* name, size_t maxLength) const {
    const auto* found = std::get_if<std::string>(find(name));
    if (!found) throw Failure("ERR_RDMC_INVALID_ADDRESS", std::string("The address lacks ") + name);
    if (found->size() > maxLength) {
      throw Failure("ERR_RDMC_INVALID_ADDRESS", std::string("The address has too long a ") + name);
    }
    return *found;
  }
  double number(const char* name, double max) const {
    const auto* found = std::get_if<double>(find(name));
    if (!found || !(*found >= 0 && *found <= max && *found == std::floor(*found))) {
      throw Failure("ERR_RDMC_INVALID_ADDRESS", std::string("The address has no valid ") + name);
    }
    return *found;
  }

 private:
  const Value* find(const char* name) const {
    static const Value missing;
    for (const auto& [key, value] : fields_) {
      if (key == name) return &value;
    }
    return &missing;
  }
  std::vector<std::pair<std::string, Value>> fields_;
};

}  // namespace rdmc
