package main

import (
	_ "embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// equivalentYAML names mistakes that change nothing that can be observed, each with its reason.
//
//go:embed equivalent.yaml
var equivalentYAML []byte

// equivalent is a mistake that no test can notice.
type equivalent struct {
	File    string `yaml:"file"`
	Line    string `yaml:"line"`    // as it stands
	Mistake string `yaml:"mistake"` // as it would stand
	Reason  string `yaml:"reason"`
}

type equivalentMistakes []equivalent

func equivalents() (equivalentMistakes, error) {
	var known equivalentMistakes
	decoder := yaml.NewDecoder(strings.NewReader(string(equivalentYAML)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&known); err != nil {
		return nil, fmt.Errorf("equivalent.yaml: %w", err)
	}
	for _, e := range known {
		if e.Reason == "" {
			return nil, fmt.Errorf("equivalent.yaml: %s: %s: it needs a reason", e.File, e.Mistake)
		}
	}
	return known, nil
}

// apply takes what is known to change nothing out of the mistakes. One that cannot be made any more is an error: its
// reason is about other code.
func (known equivalentMistakes) apply(all [][]mistake) error {
	for _, e := range known {
		taken := 0
		for i := range all {
			rest := all[i][:0]
			for _, m := range all[i] {
				if m.file == e.File && oneLine(m.old) == oneLine(e.Line) && oneLine(m.new) == oneLine(e.Mistake) {
					taken++
					continue
				}
				rest = append(rest, m)
			}
			all[i] = rest
		}
		if taken == 0 {
			return fmt.Errorf("equivalent.yaml: %s has no mistake %q in place of %q", e.File, e.Mistake, e.Line)
		}
	}
	return nil
}
