package tidy

import (
	"flag"
	"strings"
)

// room has tidy report all that it finds below a directory, also where uncleaned excuses it: -room . for everything.
var room = flag.String("room", "", "report every finding below this directory, whether or not it is excused")

// uncleaned lists the rooms in which a rule is not kept yet, by rule. What is below a room goes with it.
var uncleaned = map[string][]string{
	"packages have few files":                everywhere,
	"lines have at most 120 columns":         everywhere,
	"headers declare":                        everywhere,
	"assignments have at most three targets": everywhere,
	"names are words of the glossary":        everywhere,
	"prose has the words of the glossary":    everywhere,
	"things are it":                          everywhere,
}

var everywhere = []string{
	"sim", "configs", "internal", "cmd", "tools", "docs", "notebooks",
	"README.md", "CONTRIBUTING.md", "Makefile", ".ci",
}

// counts reports whether a finding of the rule in the file or package of that name is an error.
func counts(rule, name string) bool {
	if *room != "" {
		return under(*room, name)
	}
	for _, r := range uncleaned[rule] {
		if under(r, name) {
			return false
		}
	}
	return true
}

// under reports whether name is room or lies below it.
func under(room, name string) bool {
	return room == "." || name == room || strings.HasPrefix(name, strings.TrimSuffix(room, "/")+"/")
}
