package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// AutoBool is a switch that may decide for itself. The zero value is none of the three; Load never returns it.
type AutoBool string

// The settings of an AutoBool.
const (
	Auto AutoBool = "auto"
	On   AutoBool = "true"
	Off  AutoBool = "false"
)

// DecodeScalar reads auto, true or false.
func (b *AutoBool) DecodeScalar(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false"):
	case n.Kind == yaml.ScalarNode && n.Value == string(Auto):
	default:
		return fmt.Errorf("expected auto, true or false, got %s", strict.Describe(n))
	}
	*b = AutoBool(n.Value)
	return nil
}
