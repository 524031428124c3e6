package strict

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Release is the number of a release, such as 0.30: text that is read as it is written, quoted or not.
type Release string

// DecodeScalar implements ScalarDecoder.
func (r *Release) DecodeScalar(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || !strings.Contains("!!str !!int !!float", n.Tag) || n.Value == "" {
		return fmt.Errorf("expected a release such as 0.33, got %s", Describe(n))
	}
	*r = Release(n.Value)
	return nil
}
