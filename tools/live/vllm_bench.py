"""vllm bench serve, of the source of a release, without the package: its client needs neither torch kernels nor a GPU.

VLLM_SOURCE names the directory of the source.
"""

import argparse
import os
import sys

sys.path.insert(0, os.environ["VLLM_SOURCE"])
from vllm.benchmarks.serve import add_cli_args, main  # noqa: E402

parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
