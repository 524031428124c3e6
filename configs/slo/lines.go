package slo

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Lines are the rules of a file: a list of texts, or one text with commas between its rules. They are stored as
// metrics.Rule writes them, so that two ways to write a rule are one.
type Lines []string

var _ strict.ScalarDecoder = (*Lines)(nil)

// DecodeScalar implements strict.ScalarDecoder. A rule about requests has a colon, so that without quotes YAML takes it
// for a mapping of one key; it is read as it was meant.
func (l *Lines) DecodeScalar(n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	*l = nil
	for _, element := range nodes {
		text := element.Value
		switch {
		case element.Kind == yaml.MappingNode && len(element.Content) == 2:
			text = element.Content[0].Value + ": " + element.Content[1].Value
		case element.Kind != yaml.ScalarNode || element.Tag != "!!str":
			return fmt.Errorf("expected a list of rules such as %s, got %s", example, strict.Describe(element))
		}
		rules, err := Parse(text)
		if err != nil {
			return err
		}
		for i := range rules {
			*l = append(*l, rules[i].String())
		}
	}
	if len(*l) == 0 {
		return fmt.Errorf("is empty; expected a list of rules such as %s", example)
	}
	return nil
}

// Rules returns the rules that the lines are.
func (l Lines) Rules() metrics.Rules {
	var all metrics.Rules
	for _, line := range l {
		rules, err := Parse(line)
		if err != nil {
			panic("slo: a line that was read is no rule: " + err.Error())
		}
		all = append(all, rules...)
	}
	return all
}
