#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>

// A CRC is the remainder of a polynomial over GF(2). Appending n bytes multiplies the remainder by x^8n and adds (xor) the
// remainder of these bytes: whole = front * x^8n + back. Polynomials have the bit order of the CRC: bit 31 is x^0.
namespace zenfs {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;
// x^kOrder == 1: the polynomial is (x + 1) times a primitive one of degree 31.
constexpr std::uint64_t kOrder = (std::uint64_t{1} << 31) - 1;

constexpr std::uint32_t Multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = std::uint32_t{1} << 31; bit != 0; bit >>= 1) {
    product ^= b & (0 - static_cast<std::uint32_t>((a & bit) != 0));
    b = (b >> 1) ^ (kPolynomial & (0 - (b & 1)));
  }
  return product;
}

// x^(2^i)
constexpr std::array<std::uint32_t, 31> kPowers = [] {
  std::array<std::uint32_t, 31> powers{};
  std::uint32_t power = std::uint32_t{1} << 30;
  for (std::uint32_t& entry : powers) {
    entry = power;
    power = Multiply(power, power);
  }
  return powers;
}();

// crc * x^exponent, exponent < 2^31
std::uint32_t Shift(std::uint32_t crc, std::uint64_t exponent) {
  for (std::size_t i = 0; exponent != 0; ++i, exponent >>= 1) {
    if ((exponent & 1) != 0) crc = Multiply(kPowers[i], crc);
  }
  return crc;
}

// 8 * bytes as an exponent of x.
std::uint64_t Exponent(std::uint64_t bytes) { return bytes % kOrder * 8 % kOrder; }

}  // namespace

std::uint32_t Crc32c(ByteView bytes, std::uint32_t seed) {
  // ISA-L takes the length as int and leaves out the inversions of the standard CRC.
  constexpr std::size_t kChunk = std::size_t{1} << 30;
  std::uint32_t crc = ~seed;
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kChunk);
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes = bytes.subspan(n);
  }
  return ~crc;
}

std::uint32_t Crc32cWhole(std::uint32_t front, std::uint32_t back, std::uint64_t back_length) {
  return Shift(front, Exponent(back_length)) ^ back;
}

std::uint32_t Crc32cFront(std::uint32_t whole, std::uint32_t back, std::uint64_t back_length) {
  return Shift(whole ^ back, kOrder - Exponent(back_length));
}

std::uint32_t Crc32cBack(std::uint32_t whole, std::uint32_t front, std::uint64_t back_length) {
  return Shift(front, Exponent(back_length)) ^ whole;
}

std::uint32_t Crc32cOfZeros(std::uint64_t length, std::uint32_t seed) {
  constexpr std::byte kZero[1]{};
  std::uint32_t crc = seed;
  std::uint32_t power = Crc32c(kZero);  // of `bytes` zeros
  for (std::uint64_t bytes = 1; length != 0; bytes *= 2, length /= 2) {
    if (length % 2 != 0) crc = Crc32cWhole(crc, power, bytes);
    power = Crc32cWhole(power, power, bytes);
  }
  return crc;
}

}  // namespace zenfs
