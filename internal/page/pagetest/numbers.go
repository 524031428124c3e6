package pagetest

import (
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// number is a number of a page that names the field that it is.
var number = regexp.MustCompile(`<data value="([^"]*)" data-field="([^"]*)">([^<]*)</data>`)

// Same fails where a number of the page is not, to the last digit, what the JSON has in the field that it names. It
// returns how many numbers there are.
func Same(t *testing.T, page, results []byte) int {
	t.Helper()
	var tree any
	if err := json.Unmarshal(results, &tree); err != nil {
		t.Fatal(err)
	}
	all := number.FindAllSubmatch(page, -1)
	for _, m := range all {
		field := html.UnescapeString(string(m[2]))
		value, err := strconv.ParseFloat(html.UnescapeString(string(m[1])), 64)
		if err != nil {
			t.Errorf("%s: %v", field, err)
		}
		if is, ok := at(tree, field).(float64); !ok || is != value {
			t.Errorf("%s is %v on the page and %v in the JSON", field, value, at(tree, field))
		}
	}
	return len(all)
}

// at returns the value at a path such as pools[0].gpus; nil: there is none.
func at(tree any, path string) any {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch node := tree.(type) {
		case map[string]any:
			tree = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				return nil
			}
			tree = node[i]
		default:
			return nil
		}
	}
	return tree
}
