#pragma once

#include <string>
#include <vector>

/** What lies beside the program, or in the source tree that it has been built in. */
namespace heddle::bench {

/** The commit that the program is of: what the file COMMIT beside it says, or git about the folder; "unknown". */
std::string commit_of_program();

/** The command that started the program, as a shell takes it. */
std::string command_line();

/** A picture to draw: "--html", "--svg" or "--png", and the file. */
using Drawings = std::vector<std::pair<std::string, std::string>>;

/** Draws the records of `results` with bench/figures/draw.py. Throws Error that says what is missing and how to make up
 *  for it. */
void draw(const std::string& results, const Drawings& drawings);

}  // namespace heddle::bench
