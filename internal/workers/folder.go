package workers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/decodesim/decodesim/configs/inputs"
)

// The files of a queue, and the folder of its streams.
const (
	tokenName       = "token"
	certificateName = "certificate.pem"
	streamsName     = "streams"
)

// folderNames are all that is in the folder of a queue.
var folderNames = []string{certificateName, streamsName, tokenName}

// madeToken matches the tokens that ownToken makes.
var madeToken = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// claimFolder makes the folder of a queue, or takes over one that an interrupted command has left. Its token, which has
// a form of its own, and that nothing else is in it show whose it is: a folder of somebody else's would be removed
// with its files when the queue is done.
func claimFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	at, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !at.IsDir() {
		return foreign(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	others := false // beside the token
	for _, e := range entries {
		others = others || e.Name() != tokenName
		if !slices.Contains(folderNames, e.Name()) || e.IsDir() != (e.Name() == streamsName) {
			return foreign(dir)
		}
	}
	token, err := readToken(dir)
	if err != nil || token == "" && others || token != "" && !madeToken.MatchString(token) {
		return foreign(dir)
	}
	return nil
}

func foreign(dir string) error {
	return fmt.Errorf("%q is not a queue that an interrupted command has left; move it, or name another directory", dir)
}

// readToken returns the token in a folder; empty: it has none, or a command was killed before it was written.
func readToken(dir string) (string, error) {
	path := filepath.Join(dir, tokenName)
	switch _, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	text, err := inputs.Read(path, inputs.ShortMax)
	return string(text), err
}

// RemoveFolder removes the folder of a queue that is done. What others have put there meanwhile stays, and so does the
// folder then.
func RemoveFolder(dir string) {
	for _, name := range folderNames {
		_ = os.RemoveAll(filepath.Join(dir, name))
	}
	_ = os.Remove(dir)
}
