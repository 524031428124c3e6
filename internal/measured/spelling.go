package measured

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/strict"
)

// didYouMean ends a reason with the name that was perhaps meant.
func didYouMean(reason, got string, have []string) string {
	if near := strict.Suggest(got, have); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", reason, near)
	}
	return reason
}
