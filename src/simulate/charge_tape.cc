#include "simulate/charge_tape.h"

namespace weir::simulate {

Result<std::unique_ptr<ChargeTape>> ChargeTape::create() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) return Failure{Code::resource_exhausted, "cannot make a temporary file for --target"};
  return std::unique_ptr<ChargeTape>(new ChargeTape(file));
}

ChargeTape::~ChargeTape() { std::fclose(file_); }

void ChargeTape::add(const TapeRecord& record) {
  if (full_) return;
  block_.push_back(record);
  if (block_.size() == kBlock) write_block();
}

void ChargeTape::write_block() {
  const std::size_t count = std::fwrite(block_.data(), sizeof(TapeRecord), block_.size(), file_);
  written_ += count;
  full_ = count < block_.size() || written_ >= kMaxRecords;
  block_.clear();
}

Status ChargeTape::play(const std::function<void(const TapeRecord&)>& use) {
  if (!block_.empty()) write_block();
  if (std::fflush(file_) != 0) return Failure{Code::resource_exhausted, "cannot write the temporary file for --target"};
  std::rewind(file_);
  std::vector<TapeRecord> records(kBlock);
  for (std::uint64_t left = written_; left > 0;) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlock));
    if (std::fread(records.data(), sizeof(TapeRecord), wanted, file_) != wanted) {
      return Failure{Code::data_loss, "cannot read the temporary file for --target"};
    }
    for (std::size_t i = 0; i < wanted; ++i) use(records[i]);
    left -= wanted;
  }
  return success();
}

}  // namespace weir::simulate
