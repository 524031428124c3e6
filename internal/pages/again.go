package pages

import (
	"github.com/decodesim/decodesim/internal/page"
)

// Again is a section on how to get the result again: the command, in the folder of the page, and the files that it
// reads.
func Again(command, version string, files ...page.Code) page.Section {
	s := page.Section{Title: "How to reproduce",
		Lead:   "In the folder of this page; decodesim " + version + " gives the same bytes.",
		Blocks: []page.Block{{Code: &page.Code{Text: command}}}}
	for i := range files {
		s.Blocks = append(s.Blocks, page.Block{Fold: &page.Fold{Title: files[i].Name + ", with every default written out",
			Blocks: []page.Block{{Code: &page.Code{Text: files[i].Text}}}}})
	}
	return s
}

// Foot says by what a page was written.
func Foot(version string) string {
	return "Written by decodesim " + version + ", a simulator: these are predictions, no measurements."
}
