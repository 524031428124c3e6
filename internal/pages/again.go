package pages

import (
	"github.com/decodesim/decodesim/internal/page"
)

// Where the command of Again finds its files.
const (
	WhereGiven = "Where the command was given that left this page" // its files are in the folder of --out
	WhereRead  = "Where the files are that it reads"
)

// Again is a section on how to get the result again: the command, where it is to be given, and the files that it reads.
func Again(command, where, version string, files ...page.Code) page.Section {
	s := page.Section{Title: "How to reproduce",
		Lead:   where + "; decodesim " + version + " gives the same bytes.",
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
