#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "click/address_book.h"
#include "core/address_set.h"
#include "core/asked_early.h"
#include "core/chooses.h"
#include "core/element.h"
#include "functions/ip_lookup/table.h"

namespace heddle {

/** What the elements that route by the destination address annotation have in common (Click's IPRouteTable): arguments,
 *  FILE, handlers, and the way of a packet. They differ in their table. */
class IPRouteTable : public Element, public Chooses, public AskedEarly, public AddressSet {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void take_state(Element& old) override;
  void handlers(Handlers& list) override;
  void placed(bool on_gpu) override { placed_on_gpu_ = on_gpu; }
  void asked_early(bool early) override { early_ = early; }
  /** How look-ups are made on a CPU. Before start() it finds that out by itself, and start() does it again. */
  std::string choice() const override;
  void start(const Environment&) override;
  void run_cpu(Batch& batch) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"routes", count_.load()}}; }

  bool has_route(uint32_t address) const override;
  /** The table, for changes while packets flow: add() and remove(), within Engine::update(). */
  ip_lookup::RouteTable& routes() { return *table_; }

 protected:
  explicit IPRouteTable(std::unique_ptr<ip_lookup::RouteTable> routes) : table_(std::move(routes)) {
    table = table_.get();
    retiring.push_back(table_.get());
  }
  /** Whether handler `table` lists the routes of the arguments first, in their order, and only others sorted. */
  virtual bool lists_as_given() const { return false; }

 private:
  /** The routes of FILE and of the arguments. Reports mistakes as text lines. */
  std::vector<ip_lookup::Route> read_routes(std::vector<std::string>& errors) const;
  void change(const std::string& commands);
  /** After a change of the table. */
  void changed();
  /** Reads FILE again. Throws Error, and has changed nothing then, if it is not right. */
  void reload();
  std::string lookup_text(const std::string& address) const;
  std::string table_text() const;

  bool placed_on_gpu_ = false;
  bool early_ = false;  // whether prefetch() is called
  std::unique_ptr<ip_lookup::RouteTable> table_;
  std::string file_;
  click::AddressNames names_;                 // that arguments and handlers may use
  std::vector<ip_lookup::Route> own_routes_;  // those of the arguments
  std::atomic<size_t> count_{0};              // routes in the table, for statistics(), which runs beside changes
};

}  // namespace heddle
