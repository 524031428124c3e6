package tidy

import (
	"flag"
	"strings"
)

// room has tidy report all that it finds below a directory, also where uncleaned excuses it: -room . for everything.
var room = flag.String("room", "", "report every finding below this directory, whether or not it is excused")

// uncleaned lists the rooms in which a rule is not kept yet, by rule. What is below a room goes with it.
var uncleaned = map[string][]string{}

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
