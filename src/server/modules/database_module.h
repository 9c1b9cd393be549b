// DatabaseModule: data_dir and the database, for all modules that keep something. It is the first of the modules, so it
// opens first and closes last.
//
//   if (database::Database* database = databases.database()) …       // null: `database: off`
//   databases.when_ready([this] { load(); });                        // its tables exist
//
// A server whose PostgreSQL is unavailable starts all the same: the tables are then brought up to date when it is back.
// Without a usable data_dir a server that was not told where it is runs without a database, and says so; for example in
// a container with a read-only root.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "database/database.h"
#include "database/location.h"
#include "server/data_folder.h"
#include "server/module.h"
#include "server/server_context.h"

namespace weir::server {

class DatabaseModule final : public Module {
 public:
  explicit DatabaseModule(ServerContext& context) : context_(context) {}

  Status open() override;
  Status start() override;
  void stop() override;

  // These are known after open(). Null: off.
  database::Database* database() const { return database_.get(); }
  // Empty if the database is off.
  std::filesystem::path data_dir() const { return folder_ ? folder_->path() : std::filesystem::path(); }
  // "sqlite", "postgres" or "off".
  std::string_view kind() const;
  // The tables are those that this program expects.
  bool is_ready() const { return ready_.load(std::memory_order_acquire); }

  // Calls it once when the tables exist: at once, if they do; else later, on the background thread. Not called if the
  // database is off. For open() and start() of other modules.
  void when_ready(std::function<void()> call);

 private:
  Status open_folder();
  // Brings the tables up to date, and logs what it did.
  database::Task migration();
  // The same, and waits for the outcome.
  Status migrate();
  // On the background thread, while the tables are not up to date.
  void try_again();
  void note_trouble(const Failure& failure);
  void become_ready();
  void add_facts(observe::Facts& facts) const;
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  std::optional<DataFolder> folder_;
  std::unique_ptr<database::Database> database_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> trying_{false};    // a migration is queued or runs
  std::atomic<bool> migrated_{false};  // and has succeeded
  mutable std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;  // guarded by mutex_
  std::string trouble_;                         // guarded by mutex_; why the tables are not up to date
};

}  // namespace weir::server
