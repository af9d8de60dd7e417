#pragma once

#include <string>
#include <vector>

/** What lies beside the program, or in the source tree that it has been built in. */
namespace heddle::bench {

/** The commit that the program is of: what the file COMMIT beside it says, or git about the folder; "unknown". Where
 *  that does not say what was built ("-dirty"), with a hash of the program. */
std::string commit_of_program();

/** The command that started the program, as a shell takes it. */
std::string command_line();

/** A picture to draw: "--html", "--svg" or "--png", and the file. */
using Drawings = std::vector<std::pair<std::string, std::string>>;

/** Throws Error, as draw() does, unless there is what drawing takes. */
void expect_drawing();

/** Draws the records of `results` with bench/figures/draw.py. Throws Error that says what is missing and how to make up
 *  for it. */
void draw(const std::string& results, const Drawings& drawings);

}  // namespace heddle::bench
