// Compiles the parts of the fmt library that are not templates once. If every source included them, they would take half of
// the build time. Debian's fmt is a shared library only, but libzenfs.so is loaded into other programs and must not depend
// on their fmt.
//
// Empty if fmt is used header-only (cmake/dependencies.cmake).
#ifndef FMT_HEADER_ONLY

#include <fmt/format-inl.h>

// Instantiations that fmt's headers expect from the library.
template fmt::detail::locale_ref::locale_ref(const std::locale&);
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float) noexcept;
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double) noexcept;

#endif
