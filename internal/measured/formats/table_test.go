package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

const pointsHead = "id,concurrency,prompt_tokens,output_tokens,tpot_ms\n"

func TestAnIDNamesOneRow(t *testing.T) {
	_, err := measuredtest.ReadText(t, pointsHead+"a,8,1000,200,11\n\nb,9,1000,200,12\na,16,1000,200,13\n")
	assert.EqualError(t, err, `data:5: id: "a" stands on line 2 too; expected one row per id`)
	f, err := measuredtest.ReadText(t, pointsHead+",8,1000,200,11\n,16,1000,200,13\n")
	require.NoError(t, err, "rows without an id")
	assert.Equal(t, []string{"data-1", "data-2"}, []string{f.Runs[0].ID, f.Runs[1].ID})
}

func TestAnIDOfASweepNamesOneRow(t *testing.T) {
	for _, name := range []string{"A_aic_silicon.csv", "A3_gptoss120b_h200_vllm022.csv", "E_token_position_h200.csv",
		"F_splitwise_perf.csv"} {
		whole := measuredtest.ReadShared(t, name)
		text, err := os.ReadFile(whole.Path)
		require.NoError(t, err)
		lines := strings.SplitAfterN(string(text), "\n", 3)
		path := filepath.Join(t.TempDir(), "data.csv")
		require.NoError(t, os.WriteFile(path, []byte(lines[0]+lines[1]+lines[1]), 0o600))
		_, err = formats.Read(path, "")
		assert.ErrorContains(t, err, " stands on line 2 too; expected one row per id", name)
		assert.ErrorContains(t, err, "data.csv:3: id: ", name)
	}
}

func TestAColumnHasANameOfItsOwn(t *testing.T) {
	_, err := measuredtest.ReadText(t, "concurrency,prompt_tokens,output_tokens,tpot_ms,note, "+
		"tpot_ms\n8,1000,200,11,x,12\n")
	assert.EqualError(t, err, `data:1: column "tpot_ms" stands twice, as columns 4 and 6; expected one of each name`)
	_, err = measuredtest.ReadText(t, "concurrency,prompt_tokens,output_tokens,tpot_ms,,\n8,1000,200,11,,\n")
	assert.NoError(t, err, "commas that a spreadsheet left at the end")
}

func TestOtherThanCommasBetweenColumnsIsSaid(t *testing.T) {
	for between, quoted := range map[string]string{";": `";"`, "\t": `"\t"`} {
		_, err := measuredtest.ReadText(t, strings.ReplaceAll(pointsHead+"a,8,1000,200,11\n", ",", between))
		assert.EqualError(t, err, "data: separated by "+quoted+`; expected ",", and a point in decimal fractions`)
		_, err = measuredtest.ReadText(t, strings.ReplaceAll(pointsHead, ",",
			between)+strings.ReplaceAll("a_8_1000_200_11,5\n", "_", between))
		assert.ErrorContains(t, err, "separated by "+quoted, "a comma in a fraction")
	}
	_, err := measuredtest.ReadText(t, "\ufeff"+strings.Replace(pointsHead, "id", "id;name", 1)+"a,8,1000,200,11\n")
	assert.NoError(t, err, "a name may have a semicolon in it")
}
