package configs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/decodesim/decodesim/configs/catalog"
)

// FuzzStudy reads any text as a study, under any setting: what loads is written out and read again.
func FuzzStudy(f *testing.F) {
	for _, name := range StudyNames() {
		text, err := catalog.File("studies/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "budget.gpus=8")
	}
	f.Add([]byte("scenario: chat-70b\nbudget: {gpus: 1}\nrate: {min: 1, max: 10}\n"), "of}a=list, [or] two")
	f.Add([]byte("scenario: chat-70b\nbudget: {gpus: 1}\nrate: {min: 1, max: 10}\n"), "r]}a=list, [or] two")
	f.Add([]byte("scenario: chat-70b\nbudget: {gpus: 1}\nrate: {min: 1, max: 10}\n"), "\x00=")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		path := filepath.Join(dir, "study.yaml")
		write := func(text []byte) {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(text)
		s, err := LoadStudy(path, []string{set})
		if err != nil {
			return
		}
		write(s.YAML())
		if _, err := LoadStudy(path, nil); err != nil {
			t.Fatalf("the resolved study is refused: %v\n%s", err, s.YAML())
		}
	})
}
