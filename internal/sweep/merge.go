package sweep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/text"
)

// The files of a shard.
const (
	shardName = "shard.json"
	rowsName  = "rows.jsonl"
)

// SchemaShard names the format of shard.json.
const SchemaShard = "decodesim/sweep-shard/v1"

// shardFile is all that Merge needs of a shard beside its rows.
type shardFile struct {
	Schema   string `json:"schema"`
	Print    string `json:"print"` // of the sweep
	Shard    Shard  `json:"shard"`
	Runs     int    `json:"runs"`
	Head     Head   `json:"sweep"`
	Scenario string `json:"scenario_yaml"`

	Assumed page.Section `json:"assumed"` // for the page
}

// finishShard writes the rows of a shard in their order, and what they are of. shard.json comes last.
func (w *Work) finishShard(ctx context.Context, scenario []byte) error {
	rows := func(f io.Writer) error {
		return w.each(func(r *Row) error {
			line, err := json.Marshal(r)
			if err == nil {
				_, err = f.Write(append(line, '\n'))
			}
			return err
		})
	}
	is := shardFile{SchemaShard, w.print, w.Shard, w.Runs(), w.Head, string(scenario), w.assumed}
	err := output.InOrder(ctx, []func() error{
		func() error { return w.Dir.WriteFile(rowsName, rows) },
		func() error { return w.Dir.WriteJSON(shardName, is) },
		w.Dir.Keep,
	})
	if err != nil {
		return err
	}
	return w.journal.remove()
}

// part is a shard that is merged.
type part struct {
	shardFile
	dir  string
	file *os.File
	rows *bufio.Reader
}

// Merge writes the files of a sweep from those of all its shards. They are those of a sweep without shards, to the
// byte.
func Merge(ctx context.Context, dirs []string, out string) (r *Result, files []string, err error) {
	parts, err := openParts(dirs)
	defer func() {
		for _, p := range parts {
			_ = p.file.Close()
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	first := parts[0]
	dir, err := output.Open(out, first.Head.drawnFiles()...)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Abandon()
	r, err = writeFiles(ctx, dir, &first.Head, []byte(first.Scenario), first.Assumed, func(do func(*Row) error) error {
		return inOrder(parts, do)
	})
	return r, dir.Files(), err
}

// openParts opens the shards in their order, and refuses them unless they are all of one sweep.
func openParts(dirs []string) (parts []*part, err error) {
	if len(dirs) == 0 {
		return nil, errors.New("merge: missing the directories of shards")
	}
	for _, dir := range dirs {
		p, err := openPart(dir)
		if err != nil {
			return parts, err
		}
		parts = append(parts, p)
	}
	of := make([]*part, max(1, parts[0].Shard.N))
	for _, p := range parts {
		if p.Print != parts[0].Print || p.Shard.N != parts[0].Shard.N {
			return parts, fmt.Errorf("merge: %q and %q are of different sweeps", parts[0].dir, p.dir)
		}
		if other := of[p.Shard.I-1]; other != nil {
			return parts, fmt.Errorf("merge: %q and %q are both shard %s", other.dir, p.dir, p.Shard)
		}
		of[p.Shard.I-1] = p
	}
	var missing []string
	for i, p := range of {
		if p == nil {
			missing = append(missing, fmt.Sprint(i+1))
		}
	}
	if len(missing) > 0 {
		return parts, fmt.Errorf("merge: of %s, missing: %s", text.Counted(len(of), "shard"), strings.Join(missing, ", "))
	}
	return slices.Clone(of), nil
}

func openPart(dir string) (*part, error) {
	p := &part{dir: dir}
	head, err := inputs.Read(filepath.Join(dir, shardName), inputs.DataMax)
	if err != nil {
		return nil, fmt.Errorf("merge: %q is no shard that has ended: it has no %s", dir, shardName)
	}
	err = errors.Join(inputs.DuplicateKey(head), json.Unmarshal(head, &p.shardFile))
	if err != nil || p.Schema != SchemaShard || p.Shard.I < 1 || p.Shard.I > p.Shard.N || p.Head.Points < 1 ||
		len(p.Head.Seeds) == 0 {
		return nil, fmt.Errorf("merge: %s of %q is not of this program", shardName, dir)
	}
	p.file, err = inputs.Open(filepath.Join(dir, rowsName))
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return p, nil
}

// inOrder calls do with the rows of all parts in the order of the sweep.
func inOrder(parts []*part, do func(*Row) error) error {
	for _, p := range parts {
		if _, err := p.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		p.rows = bufio.NewReader(p.file)
	}
	for k := range parts[0].Head.Runs() {
		p := parts[k%len(parts)]
		line, err := readLine(p.rows, rowMax)
		var r Row
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil || r.Run != k {
			return fmt.Errorf("merge: %s of %q is damaged: it has no run %d where it should", rowsName, p.dir, k)
		}
		if err := do(&r); err != nil {
			return err
		}
	}
	return nil
}
