// Package named has lists of policies from which scenarios choose by name.
package named

import (
	"fmt"
	"strings"
)

// Policy is an entry of a list.
type Policy[Arguments, P any] struct {
	Name string
	Does string // in a few words
	New  func(Arguments) (P, error)
}

// List is all policies of one kind, in the order in which users see them.
type List[Arguments, P any] []Policy[Arguments, P]

// Names returns the names of all policies.
func (l List[Arguments, P]) Names() []string {
	names := make([]string, len(l))
	for i := range l {
		names[i] = l[i].Name
	}
	return names
}

// Does returns in a few words what the policy called name does, or "" if there is none of that name.
func (l List[Arguments, P]) Does(name string) string {
	for i := range l {
		if l[i].Name == name {
			return l[i].Does
		}
	}
	return ""
}

// New returns a new policy called name. kind is what the error of an unknown name calls the policies of this list.
func (l List[Arguments, P]) New(kind, name string, a Arguments) (policy P, err error) {
	for i := range l {
		if l[i].Name == name {
			return l[i].New(a)
		}
	}
	return policy, fmt.Errorf("policies: %s %q not found; valid names: %s", kind, name, strings.Join(l.Names(), ", "))
}
