"""Writes a C++ source that holds files: embed.py OUTPUT FILE... See measure/generate/data.h."""

import sys
from pathlib import Path


def literal(text: str) -> str:
    # Compilers must take 65,536 characters in one literal; longer ones are the sum of several.
    parts = [text[at : at + 60_000] for at in range(0, len(text), 60_000)]
    return "\n".join(f'R"embed({part})embed"' for part in parts) or '""'


def main(output: str, *files: str) -> None:
    table = "\n".join(f'    {{"{Path(file).name}", {literal(Path(file).read_text())}}},' for file in sorted(files))
    Path(output).write_text(
        f"""#include "measure/generate/data.h"

#include <utility>

namespace heddle::bench {{
namespace {{
constexpr std::pair<std::string_view, std::string_view> kFiles[] = {{
{table}
}};
}}  // namespace

std::string_view data_file(std::string_view name) {{
  for (const auto& [file, text] : kFiles)
    if (file == name) return text;
  return "";
}}

std::vector<std::string_view> data_files() {{
  std::vector<std::string_view> names;
  for (const auto& [file, text] : kFiles) names.push_back(file);
  return names;
}}

}}  // namespace heddle::bench
"""
    )


main(*sys.argv[1:])
