// The part of the fmt library that is not templates, once: included in every source, it would be half of all compiling.
// Debian has it as a shared library only, and libzenfs.so, loaded into programs of others, is to bring its own.
//
// Empty where fmt is header-only (cmake/dependencies.cmake).
#ifndef FMT_HEADER_ONLY

#include <fmt/format-inl.h>

// What its headers declare and leave to the library.
template fmt::detail::locale_ref::locale_ref(const std::locale&);
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float) noexcept;
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double) noexcept;

#endif
