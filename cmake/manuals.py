"""Collects the manuals of all elements, the comments above their classes, into one C++ source.

Usage: manuals.py OUTPUT HEADER...
"""

import re
import sys

MANUAL = re.compile(r"/\*\*\s(?P<name>[A-Za-z0-9_]+): (?P<text>.*?)\*/\s*class ", re.DOTALL)


def main(output, headers):
    manuals = []
    for path in headers:
        with open(path, encoding="utf-8") as header:
            for match in MANUAL.finditer(header.read()):
                text = f"{match['name']}: {match['text']}"
                lines = [re.sub(r"^ \*(  )?", "", line).rstrip() for line in text.splitlines()]
                manuals.append((match["name"], "\n".join(lines).strip()))
    with open(output, "w", encoding="utf-8") as source:
        source.write('#include "apps/heddle/commands.h"\n\nnamespace heddle {\n\n')
        source.write("std::string manual(const std::string& class_name) {\n")
        for name, text in sorted(manuals):
            source.write(f'  if (class_name == "{name}") return R"manual({text}\n)manual";\n')
        source.write("  return {};\n}\n\n}  // namespace heddle\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
