package text

import (
	"encoding/json"
	"io"
)

// WriteJSON writes x as results and files have it: indented, and with <, > and & as they are.
func WriteJSON(w io.Writer, x any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(x)
}
