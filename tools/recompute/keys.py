"""The keys of a scenario, as docs/scenario.md has them, beside those that the generator draws.

    keys.py [SCENARIOS]

fails if one is neither drawn in so many scenarios nor has a reason why it need not be.
"""

import os
import re
import sys

import scenarios

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "scenario.md")
NOT_DRAWN = {}


def page():
    """The keys of each section; by the path of a section the one that has its keys; and by an engine's name the key."""
    sections, kin, names, at = {}, {}, {}, ""
    with open(PAGE) as f:
        for line in f:
            if line.startswith("## Study files"):
                break
            if line.startswith("## "):
                at = line[3:].strip().replace("[]", "")
            if not line.startswith("| `"):
                continue
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            key = cells[0].strip("`")
            sections.setdefault(at, []).append(key)
            for name in re.findall("`(.*?)`", cells[5]):
                names[at, name] = key
            for section in re.findall("keys as in `(.*?)`", cells[6]):
                kin[join(at, key)] = section.replace("[]", "")
            if cells[1] == "mapping":
                kin[join(at, key)] = None  # whose keys are not those of a scenario
    return sections, kin, names


def join(at, key):
    return f"{at}.{key}" if at else key


SECTIONS, KIN, NAMES = page()


def all_keys():
    return {join(at, key) for at, keys in SECTIONS.items() for key in keys}


def of(value, at=""):
    """The keys that a scenario has."""
    if isinstance(value, list):
        return set().union(*(of(v, at) for v in value))
    at = KIN.get(at, at)
    if not isinstance(value, dict) or at is None:
        return set()
    found = set()
    for key, inner in value.items():
        key = NAMES.get((at, key), key)
        found |= {join(at, key)} | of(inner, join(at, key))
    return found


def missing(n):
    drawn = set().union(*(of(scenarios.numbered(1, i)[0]) for i in range(n)))
    keys = all_keys()
    return sorted(keys - drawn - NOT_DRAWN.keys()), sorted(drawn - keys), sorted(NOT_DRAWN.keys() & drawn), len(keys)


def main(n="800"):
    undrawn, unknown, needless, total = missing(int(n))
    wrong = {"not drawn": undrawn, "no key of a scenario": unknown, "drawn in spite of a reason": needless}
    for what, found in wrong.items():
        for key in found:
            print(f"{key}: {what}")
    print(f"{total} keys, {len(NOT_DRAWN)} of them not drawn for a reason, in {n} scenarios")
    sys.exit(bool(undrawn or unknown or needless))


if __name__ == "__main__":
    main(*sys.argv[1:])
