"""cmake/comments.py wraps what is too wide, and nothing else."""

import importlib.util
import sys

import pytest
from whole.program import ROOT

spec = importlib.util.spec_from_file_location("comments", ROOT / "cmake/comments.py")
comments = importlib.util.module_from_spec(spec)
sys.modules["comments"] = comments
spec.loader.exec_module(comments)

LONG = " ".join(["wordy"] * 20)  # 119 columns


def lines(*texts):
    return "\n".join(texts) + "\n"


@pytest.mark.parametrize(
    ("path", "wide", "narrow"),
    [
        ("a.h", ["/** " + LONG + ". */"], ["/** " + LONG[:-6], " *  wordy. */"]),
        ("a.h", ["  // " + LONG, "  // and more"], ["  // " + LONG[:-6], "  // wordy and more"]),
        ("a.h", ["/* " + LONG + " */ // b"], None),  # not a line of its own
        ("a.h", [f'const char* a = "// {LONG}";', f'R"(/** {LONG} */)"'], None),
        (
            "a.h",
            ["int a;  ///< " + LONG[: 6 * 19 - 1], "        ///< wordy"],
            ["int a;  ///< " + LONG[: 6 * 18 - 1], "        ///< wordy wordy"],
        ),
        (
            "a.h",
            [" " * 90 + "int a;  ///< wordy wordy wordy wordy"],
            [" " * 90 + "/** wordy wordy wordy wordy */", " " * 90 + "int a;"],
        ),
        # Paragraphs, a sentence that ends its line, a table and code.
        ("a.h", ["// " + LONG, "//", "// b."], ["// " + LONG[:-6], "// wordy", "//", "// b."]),
        ("a.click", ["// A title.", "// " + LONG], ["// A title.", "// " + LONG[:-6], "// wordy"]),
        (
            "a.h",
            ["/** A:", " *      a   one", " *      bc  " + LONG[:-6], " *", " *      a -> " + LONG, " */"],
            ["/** A:", " *      a   one", " *      bc  " + LONG[:-12], " *          wordy", " *"]
            + [" *      a -> " + LONG, " */"],
        ),
        ("a.py", [f'"""{LONG}."""', f'A = "# {LONG}"'], [f'"""{LONG[:-6]}', 'wordy."""', f'A = "# {LONG}"']),
        ("a.py", ["a = 1  # " + LONG[:-6], "#: noqa"], ["a = 1  # " + LONG[:-12], "       # wordy", "#: noqa"]),
        ("a.sh", ["# " + LONG, "echo"], ["# " + LONG[:-6], "# wordy", "echo"]),
    ],
)
def test_mend(path, wide, narrow):
    wide, narrow = lines(*wide), lines(*(narrow or wide))
    assert comments.mended(path, wide) == narrow
    assert comments.mended(path, narrow) == narrow


def test_check_names_what_is_too_wide():
    assert comments.too_wide("a.h", lines("int a;", "// " + LONG, "a();  // " + "w" * 130, f'"{LONG}";')) == [2]
