// The part of the price type that itch-book's order books use, for where its own dependency cannot
// be had: the source package on PyPI does not contain it. One integer that is read and written, as
// there; arithmetic on prices, which books do not need, is left out.
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
