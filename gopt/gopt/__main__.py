import sys

from gopt.cli import main

sys.exit(main())
