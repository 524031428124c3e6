"""Runs notebooks from their first cell to their last, and renders them as pages that read without running.

A conclusion has numbers in it, and so have the answers to exercises. A notebook says in the metadata of these cells, as
claims, what each number is of its run: an expression that holds. Numbers without a claim, and claims that do not hold, are
errors. Other text may have claims too. The answers' metadata has, as worked, the lines of code that do the exercises.

With --check the pages are compared with those that are there: whatever a notebook prints today has to be what its page
says. Without it they are written. The same notebook has the same bytes each time.
"""
import argparse
import html
import html.parser
import pathlib
import re
import resource
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = pathlib.Path(__file__).resolve().parent
PAGES = HERE / "pages"
LONGEST_S = 30

# Figures are text, which is small, can be compared, and has neither dates nor random names in it.
PRELUDE = """%matplotlib inline
%config InlineBackend.figure_formats = ["svg"]
%config InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None, "Creator": None}}
import matplotlib
matplotlib.rcParams.update({"svg.hashsalt": "decodesim", "svg.fonttype": "none"})"""


class Table(html.parser.HTMLParser):
    """The cells of a table that pandas wrote as HTML."""

    def __init__(self, text):
        super().__init__()
        self.head, self.body, self.spans, self.rows, self.cell = [], [], False, None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("thead", "tbody"):
            self.rows = self.head if tag == "thead" else self.body
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.cell = ""
            self.spans |= any(name in ("rowspan", "colspan") and value != "1" for name, value in attributes)

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self.rows[-1].append(self.cell.strip().replace("|", "\\|"))
            self.cell = None

    def handle_data(self, text):
        if self.cell is not None:
            self.cell += text

    def markdown(self):
        """The table in Markdown; its header is one row."""
        header = [next((row[i] for row in reversed(self.head) if row[i]), "") for i in range(len(self.head[0]))]
        rows = [header, ["---"] + ["--:"] * (len(header) - 1), *self.body]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def table(text):
    """HTML of a table as Markdown, or without styles where cells span others."""
    text = re.sub(r"(?s)<style.*?</style>", "", text)
    parsed = Table(text)
    if parsed.body and not parsed.spans and len({len(row) for row in parsed.head + parsed.body}) == 1:
        return parsed.markdown()
    text = re.sub(r' (?:id|class|border|style|scoped)="[^"]*"', "", re.sub(r"</?div[^>]*>", "", text))
    text = re.sub(r"\s*\n\s*", "", text)
    return re.sub(r"(<tr>|</t(?:able|head|body)>)", r"\n\1", text).strip()


def output(out, name, files):
    """One output of a cell as Markdown."""
    if out.output_type == "stream":
        return f"```text\n{out.text.rstrip()}\n```" if out.name == "stdout" else ""
    if "image/svg+xml" in out.data:
        figure = f"{name}-{1 + sum(f.endswith('.svg') for f in files)}.svg"
        svg = re.sub(r"(?s)^.*?(?=<svg)", "", out.data["image/svg+xml"])
        svg = re.sub(r"(?s) *<metadata>.*?</metadata>\n", "", svg)
        svg = re.sub(r"(\d+\.\d\d)\d+", r"\1", svg)    # a hundredth of a point is as fine as a screen
        files[figure] = re.sub(r"[ \t]+\n", "\n", svg).rstrip() + "\n"
        # Who does not see a figure hears the titles of its panels: what is set in the size of titles.
        titles = re.findall(r'<text style="font-size: 12px[^>]*>([^<]*)<', svg)
        return f"![{html.unescape('; '.join(titles))}]({figure})"
    if "text/html" in out.data:
        return table(out.data["text/html"])
    return f"```text\n{out.data['text/plain'].rstrip()}\n```"


# Numbers in figures and in words; those of names, such as fp8, are none.
NUMBER = re.compile(r"(?<![\w.])\d(?:[\d,.]*\d)?|\b(?:hal(?:f|ves?)|thirds?|quarters?|fifths?|tenths?|twice|doubles?|"
                    r"two|three|four|five|six|seven|eight|nine|ten|hundreds?|few percent)\b", re.IGNORECASE)


ANSWERS = "<summary>Answers</summary>"


def numbered(text):
    """Where in the text of a cell each number needs a claim: a conclusion without its exercises, or all the answers."""
    if ANSWERS in text:
        return text.index(ANSWERS), len(text)
    if "## Conclusion" in text:
        return text.index("## Conclusion"), len(text.partition("**Exercises")[0])
    return 0, 0


def claims(path, cell):
    """The lines that collect what a cell claims and does not hold."""
    text, said, covered = " ".join(cell.source.split()), cell.metadata.get("claims", {}), set()
    for words in said:
        if words not in text:
            sys.exit(f"{path.name}: the cell {cell.id} does not have the words of its claim {words!r}")
        covered.update(range(text.index(words), text.index(words) + len(words)))
    prose = re.sub("`[^`]*`", lambda code: "_" * len(code[0]), text)
    for number in NUMBER.finditer(prose, *numbered(text)):
        if not covered.issuperset(range(*number.span())):
            sys.exit(f"{path.name}: {number[0]!r} in {text[max(0, number.start() - 40):number.end() + 40]!r} has no claim in "
                     f"the metadata of the cell {cell.id}")
    return [f"if not ({holds}): untrue.append({words!r})" for words, holds in said.items()]


def only(path, cells, mark, what):
    """The one cell of text with the mark."""
    found = [c for c in cells if c.cell_type == "markdown" and mark in c.source]
    if len(found) != 1:
        sys.exit(f"{path.name} has {len(found)} cells of {what}: it needs one")
    return found[0]


def checked(path, cells):
    """The cells and what checks their claims, which no page shows: those of the answers once the exercises are done.

    All claims are tried, so that a change of the constants says at once what has to be written anew.
    """
    only(path, cells, "## Conclusion", "conclusions")
    answers = only(path, cells, ANSWERS, "answers")
    run = [line for c in cells if c.cell_type == "markdown" and c is not answers for line in claims(path, c)]
    lines = ["import re", "untrue = []", *run, *answers.metadata.get("worked", []), *claims(path, answers),
             "assert not untrue, 'this does not hold:\\n  ' + '\\n  '.join(untrue)"]
    return [*cells, nbformat.v4.new_code_cell("\n".join(lines), metadata={"claims": True})]


def render(path):
    """The page of a notebook, and its figures, by file name."""
    book = nbformat.read(path, as_version=4)
    book.cells = [nbformat.v4.new_code_cell(PRELUDE), *checked(path, book.cells)]
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    name, files, parts, code = path.stem, {}, [], 0
    for cell in book.cells[1:]:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        if cell.metadata.get("claims"):
            continue
        code += 1
        block = f"```python\n{cell.source}\n```"
        parts.append(f"<details><summary>What the cells below begin with</summary>\n\n{block}\n\n</details>"
                     if code == 1 else block)
        for out in cell.outputs:
            parts.append(output(out, name, files))
    parts[0] += f"\n\n*[{path.name}](../{path.name}) as `make notebooks` ran it; `make lab` opens it.*"
    files[name + ".md"] = "\n\n".join(p for p in parts if p) + "\n"
    return files


def used():
    """Seconds of CPU of kernels and programs that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="compare the pages with those that are there")
    arguments.add_argument("notebooks", nargs="*", type=pathlib.Path, help="all by default")
    a = arguments.parse_args()
    files, failed = {}, []
    for path in a.notebooks or sorted(HERE.glob("*.ipynb")):
        before = used()
        try:
            files.update(render(path))
        except CellExecutionError as error:    # the others have news of their own
            failed.append(path.name)
            print(f"{path.name}: {error}", file=sys.stderr)
        print(f"{path.name}: {used() - before:.0f} s of CPU", flush=True)
        if used() - before > LONGEST_S:
            sys.exit(f"{path.name} takes more than {LONGEST_S} s of CPU: nobody waits for it in a lesson")
    if failed:
        sys.exit(f"no page was written: {', '.join(failed)} failed")
    differ = [n for n, text in files.items() if not (PAGES / n).is_file() or (PAGES / n).read_text("utf-8") != text]
    if not a.notebooks:
        differ += sorted(p.name for p in PAGES.glob("*") if p.name not in files)
    if a.check and differ:
        sys.exit(f"not what the notebooks print today: {', '.join(differ)}; make notebook-pages writes the pages anew")
    if not a.check:
        PAGES.mkdir(exist_ok=True)
        for name in differ:
            if name in files:
                (PAGES / name).write_text(files[name], "utf-8")
            else:
                (PAGES / name).unlink()


main()
