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

// unfinished is behind the name of a token or a certificate until it is whole: what has the name itself is all of it.
const unfinished = ".unfinished"

// folderNames are all that is in the folder of a queue.
var folderNames = []string{certificateName, certificateName + unfinished, streamsName, tokenName,
	tokenName + unfinished}

// madeToken matches the tokens that ownToken makes.
var madeToken = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// begunToken matches what a command that was killed as it wrote one has left.
var begunToken = regexp.MustCompile(`^[A-Z2-7]{0,26}$`)

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
		others = others || e.Name() != tokenName && e.Name() != tokenName+unfinished
		if !slices.Contains(folderNames, e.Name()) || e.IsDir() != (e.Name() == streamsName) {
			return foreign(dir)
		}
	}
	token, err := readToken(dir, tokenName)
	if err != nil || token == "" && others || token != "" && !madeToken.MatchString(token) {
		return foreign(dir)
	}
	begun, err := readToken(dir, tokenName+unfinished)
	if err != nil || !begunToken.MatchString(begun) {
		return foreign(dir)
	}
	return nil
}

func foreign(dir string) error {
	return fmt.Errorf("%q is not a queue that an interrupted command has left; move it, or name another directory", dir)
}

// readToken returns the token in a file of a folder; empty: it has none, or a command was killed before it was written.
func readToken(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	switch _, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	text, err := inputs.Read(path, inputs.ShortMax)
	return string(text), err
}

// writeWhole writes a file for its owner only, which has its name once it is on the disk.
func writeWhole(path string, text []byte) error {
	f, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path + unfinished)
		return err
	}
	return os.Rename(path+unfinished, path)
}

// RemoveFolder removes the folder of a queue that is done. What others have put there meanwhile stays, and so does the
// folder then.
func RemoveFolder(dir string) {
	for _, name := range folderNames {
		_ = os.RemoveAll(filepath.Join(dir, name))
	}
	_ = os.Remove(dir)
}
