// HeaderDecoder: the header blocks that one connection receives (HPACK, RFC 7541), read by nghttp2's decoder.
//
// Blocks must be read in the order they came, also those of requests that are refused: each may change the table that
// the next one refers to.
#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <new>
#include <string_view>

namespace weir::http2 {

class HeaderDecoder {
 public:
  HeaderDecoder() {
    nghttp2_hd_inflater* made = nullptr;
    if (nghttp2_hd_inflate_new(&made) != 0) throw std::bad_alloc();
    inflater_.reset(made);
  }

  // Calls `field(name, value)` for each; the views live during that call. False: the block is invalid, and so is
  // every block after it.
  template <typename OnField>
  [[nodiscard]] bool decode(std::string_view block, OnField field) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
    const std::uint8_t* const end = at + block.size();
    while (true) {
      nghttp2_nv found;
      int flags = 0;
      const ssize_t read =
          nghttp2_hd_inflate_hd2(inflater_.get(), &found, &flags, at, static_cast<std::size_t>(end - at), 1);
      if (read < 0) return false;
      at += read;
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        field(view(found.name, found.namelen), view(found.value, found.valuelen));
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) continue;
      nghttp2_hd_inflate_end_headers(inflater_.get());
      return true;
    }
  }

  // True if reading the block leaves the table as it was: every field is an entry of the table, or is written there in
  // full and is not to be remembered. Until another block is read, the same bytes then mean the same fields.
  static bool leaves_table(std::string_view block);

 private:
  struct Delete {
    void operator()(nghttp2_hd_inflater* inflater) const { nghttp2_hd_inflate_del(inflater); }
  };
  static std::string_view view(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
  }

  std::unique_ptr<nghttp2_hd_inflater, Delete> inflater_;
};

}  // namespace weir::http2
