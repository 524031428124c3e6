package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/configs"
)

func TestNamesAreFoldersAndNoTwoAlike(t *testing.T) {
	for name, want := range map[string]string{
		"chat 70b": "chat-70b", "a/b\\c:d": "a-b-c-d", "..": "-..", ".hidden": "-.hidden", "weights=fp8": "weights=fp8",
		"": "-",
	} {
		assert.Equal(t, want, Folder(name))
	}
	all := []variant{{Name: "a b"}, {Name: "a-b"}, {Name: "A-B"}}
	nameDistinctly(all, make([]*configs.Scenario, 3))
	assert.Equal(t, []variant{{Name: "a b"}, {Name: "a-b-2"}, {Name: "A-B-3"}}, all)
	with := []string{"pools.a.replicas=3", "pools.b.replicas=3"}
	assert.Equal(t, "pools.a.replicas=3", shortChanges(with[:1], with), "short it would mean either")
}
