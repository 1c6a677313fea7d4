// A stand-in for the price type of itch-book's order books, which the source package on PyPI does not
// contain. Like the original it is one integer. It has no arithmetic, which books do not need.
#pragma once

#include <cstdint>

namespace fixed_decimal {

struct PriceTag {};

template <unsigned Decimals, typename Unit, typename Integer = std::int64_t>
class Fixed {
  public:
    constexpr Fixed() = default;

    static constexpr Fixed from_raw(Integer number) {
        Fixed fixed;
        fixed.number_ = number;
        return fixed;
    }

    constexpr Integer raw() const { return number_; }

  private:
    Integer number_ = 0;
};

}  // namespace fixed_decimal
