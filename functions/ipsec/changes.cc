#include "functions/ipsec/changes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/mistakes.h"
#include "functions/ipsec/association_words.h"

namespace heddle::ipsec {
namespace {

constexpr const char* kStay = "the associations stay as they are";

AssociationList read(const std::string& file) {
  std::vector<std::string> errors;
  AssociationList list;
  try {
    list = read_association_file(file, errors);
    if (errors.empty() && list.empty()) errors.push_back("'" + file + "' has no association");
  } catch (const Error& error) {
    errors.push_back(error.what());
  }
  throw_mistakes(errors, kStay);
  return list;
}

/** Whether packets find the same associations at the same places. */
bool agree(const Generation& one, const Generation& other) {
  if (one.count() != other.count()) return false;
  for (uint32_t place = 0; place < one.count(); ++place)
    if (one.has(place) != other.has(place) || one[place].spi != other[place].spi ||
        (one.has(place) && !one[place].has_destination_of(other[place])))
      return false;
  return true;
}

/** A Form of an association that goes to this address, which must be one. */
Form form_to(std::string_view address) {
  Form form{};
  uint32_t four = 0;
  form.ip6 = read_address(address, "SPI", four, form.destination6);
  form.destination = swapped(four);
  return form;
}

}  // namespace

bool Changes::has_retired() const {
  return std::ranges::any_of(members_, [](const Changes* member) {
    std::vector<Retiring*> owners;
    member->mine_.list_owners(owners);
    return member->mine_.has_retired() || std::ranges::any_of(owners, &Retiring::has_retired);
  });
}

void Changes::reclaim() {
  for (Changes* member : members_) {
    std::vector<Retiring*> owners;
    member->mine_.list_owners(owners);
    for (Retiring* owner : owners) owner->reclaim();
    if (member->mine_.has_retired()) member->mine_.reclaim();
  }
}

std::string Changes::problem_with(const FileAssociation& one, uint32_t place) const {
  if (const std::string why = mine_.problem_with(one, place); !why.empty()) return why;
  for (const auto& [other, name] : others_)
    if (other->place_of(one.sa) != Associations::kNone)
      return "'" + name + "' has it as well, from another FILE: name the same one there, so that they change together";
  for (const Changes* member : members_)
    if (const std::string why = member->problem_(one); !why.empty()) return why;
  return "";
}

void Changes::check(const AssociationList& list, const std::string& from) const {
  std::vector<std::string> errors;
  {
    Mistakes mistakes(from, errors);
    const std::vector<uint32_t> places = mine_.places_of(list);
    std::unordered_map<uint32_t, uint32_t> with_spi;
    for (size_t k = 0; k < list.size(); ++k) {
      const FileAssociation& one = list[k];
      std::string why = problem_with(one, places[k]);
      if (++with_spi[one.sa.spi] == kMaxOfSpi + 1) why = format("more than %u would have its SPI", kMaxOfSpi);
      if (why.empty()) continue;
      why = format("association 0x%08x: ", swapped(one.sa.spi)) + why;
      if (one.line != 0)
        mistakes.add(one.line, why);
      else
        errors.push_back(why);
    }
    for (const Changes* member : members_)
      for (const uint32_t spi : member->mine_.chosen_spis())
        if (with_spi[spi] > 1)
          errors.push_back(
              format("there would be several associations 0x%08x, and an IPsecSequence names that SPI; "
                     "have `sel` lines or BY column choose there",
                     swapped(spi)));
    if (std::ranges::any_of(members_, [](auto* member) { return member->mine_.is_chosen_by_selector(); })) {
      std::vector<Selector> selectors;
      for (const FileAssociation& one : list) selectors.push_back(one.selector);
      if (const auto [first, second] = first_twice(selectors); first != Associations::kNone)
        mistakes.add(list[second].line,
                     format("association 0x%08x has the selector of 0x%08x, so it would get no packet; give them "
                            "different `sel` lines",
                            swapped(list[second].sa.spi), swapped(list[first].sa.spi)));
    }
  }
  throw_mistakes(errors, kStay);
}

void Changes::change(AssociationList list, const std::string& from) {
  for (const Changes* member : members_)
    if (const std::string& why = member->mine_.why_fixed(); !why.empty()) throw Error(why + "; " + kStay);
  check(list, from);
  for (FileAssociation& one : list) one.sa.iv_base = random_number();
  std::vector<std::unique_ptr<Generation>> next;
  const auto after = [&](size_t m) -> const Generation& { return next[m] ? *next[m] : members_[m]->mine_.current(); };
  for (size_t m = 0; m < members_.size(); ++m) {
    next.push_back(members_[m]->mine_.successor(list));
    if (!agree(after(0), after(m)))
      throw Error(
          std::string("elements with this FILE have read it at different times; let hotconfig read it for all; ") +
          kStay);
  }
  for (size_t m = 0; m < members_.size(); ++m)
    if (next[m] != nullptr) members_[m]->mine_.replace(std::move(next[m]));
  for (Changes* member : members_) member->mine_.choose();
}

void Changes::add(const std::string& file) {
  const AssociationList more = read(file);
  AssociationList list = mine_.list();
  std::vector<std::string> errors;
  {
    Mistakes mistakes(file, errors);
    for (const FileAssociation& one : more) {
      const auto is_it = [&one](const Association& mine) { return mine.has_destination_of(one.sa); };
      if (mine_.current().find(one.sa.spi, is_it) != Associations::kNone)
        mistakes.add(one.line, format("there is an association 0x%08x; remove it first", swapped(one.sa.spi)));
      else if (list.size() == kMaxAssociations)
        mistakes.add(one.line, format("there would be more than %zu associations", kMaxAssociations));
      else
        list.push_back(one);
    }
  }
  throw_mistakes(errors, kStay);
  change(std::move(list), file);
}

void Changes::remove(const std::string& which) {
  AssociationList list;
  try {
    Words words(which);
    const std::string_view text = words.take(), destination = words.take();
    const uint32_t number = number_of(text, "remove"), spi = swapped(number);
    words.expect_end();
    const Form to = destination.empty() ? Form{} : form_to(destination);
    const auto is_it = [&](const Form& one) { return destination.empty() || one.has_destination_of(to); };
    if (mine_.current().find(spi, is_it) == Associations::kNone)
      throw Mistake{format("there is no association 0x%08x%s%s", number, destination.empty() ? "" : " to ",
                           std::string(destination).c_str())};
    if (destination.empty() && mine_.has_several(spi))
      throw Mistake{format("there are several associations 0x%08x; say whose: remove SPI DST", number)};
    list = mine_.list();
    std::erase_if(list, [&](const FileAssociation& one) { return one.sa.spi == spi && is_it(one.sa); });
  } catch (const Mistake& mistake) {
    throw Error(mistake.why + "; " + kStay);
  }
  change(std::move(list), "remove");
}

void Changes::handlers(Handlers& list, const std::string& file) {
  list.write("reload", [=, this](const std::string&) { change(read(file), file); })
      .write("add", [this](const std::string& value) { add(std::string(click::trim(value))); })
      .write("remove", [this](const std::string& value) { remove(value); });
}

}  // namespace heddle::ipsec
