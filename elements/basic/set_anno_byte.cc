#include "elements/basic/set_anno_byte.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {
namespace {

/** An annotation of one byte: its place in Click's packets, and what it is here. */
struct ByteAnnotation {
  const char* name;
  int offset;
  Column column;
};
constexpr ByteAnnotation kAnnotations[] = {
    {"PAINT", 20, Column::paint}, {"ICMP_PARAMPROB", 21, Column::icmp_param}, {"FIX_IP_SRC", 22, Column::fix_ip_src}};

/** Argument ANNO. */
struct AnnotationArgument {
  ByteAnnotation annotation = kAnnotations[0];
};
bool parse(std::string_view text, AnnotationArgument& value) {
  for (const ByteAnnotation& annotation : kAnnotations) {
    if (text != annotation.name && text != std::to_string(annotation.offset)) continue;
    value.annotation = annotation;
    return true;
  }
  return false;
}
std::string expectation(const AnnotationArgument&) {
  return "PAINT (20), ICMP_PARAMPROB (21) or FIX_IP_SRC (22), the annotations of one byte that there are";
}

}  // namespace

void SetAnnoByte::configure(click::Arguments& arguments) {
  AnnotationArgument anno;
  arguments.required("ANNO", anno).required("VALUE", value_, 0u, 255u);
  column_ = anno.annotation.column, offset_ = anno.annotation.offset;
}

void SetAnnoByte::run_cpu(Batch& batch) { std::fill_n(batch.column(column_), batch.size(), value_); }

void SetAnnoByte::handlers(Handlers& list) {
  const auto offset = [this] { return std::to_string(offset_); };
  list.read("anno", offset).read("offset", offset).read("value", [this] { return std::to_string(value_); });
}

HEDDLE_ELEMENT(SetAnnoByte);

}  // namespace heddle
