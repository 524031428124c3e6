package explore

import (
	"context"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzQuery reads any text as the state in the address of a page: it is a step, or says why not.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "scenario=chat-70b&tp=4&batch=64&context=4096", "gpu=h200-sxm&bandwidth=4e12&weights=fp8&rate=3",
		"scenario=pd-70b&replicas=2&engine=sglang", "speculation=eagle&acceptance=0.8", "batch=-1", "tp=0&tp=8", "scenario=",
		"%zz", "model=%00", "context=999999999999999999999",
	} {
		f.Add(query)
	}
	text, ok := BuiltIn("chat-8b")
	require.True(f, ok)
	own, err := newBase("", text, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil || len(query) > queryMost {
			return
		}
		x := stepOf(context.Background(), q, own)
		if x.Error == nil && x.Explanation == nil {
			t.Fatal("neither a step nor why there is none")
		}
		if !utf8.ValidString(x.YAML) {
			t.Fatalf("%q", x.YAML)
		}
	})
}
