package build

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/configstest"
)

// The scenarios of these tests.
const base = configstest.Base

var inDir, running, with = configstest.InDir, configstest.Running, configstest.With

// refuses loads a scenario that must fail: with that message, or one that starts so if it ends in a space.
func refuses(t *testing.T, yaml, want string) {
	t.Helper()
	inDir(t, yaml)
	_, err := configs.Load("chat.yaml", configs.Options{})
	require.Error(t, err)
	if strings.HasSuffix(want, " ") {
		require.Contains(t, err.Error(), want)
		return
	}
	require.EqualError(t, err, want)
}

// plainly returns what a scenario says, without where its values came from, so that equal scenarios compare equal.
func plainly(s *configs.Scenario) map[string]any {
	values := map[string]any{}
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			values[f.Name] = v.Field(i).Interface()
		}
	}
	return values
}
