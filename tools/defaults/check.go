package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// check compares the lines of a release, or of the newest one of its project, with what was read, and prints how many
// are the same and which are not.
func check(ctx context.Context, w io.Writer, r *release, dir string, newest bool) (wrong int, err error) {
	files, err := listed(ctx, r.Project)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(files, func(f indexed) bool { return f.Filename == r.Archive })
	if at < 0 {
		return 0, fmt.Errorf("the index has no %s", r.Archive)
	}
	archive, version, sum := files[at], r.Version, r.SHA256
	if newest {
		archive, version = newestLike(files, r)
		sum = archive.Hashes["sha256"]
	}
	path, err := fetch(ctx, dir, &archive, sum)
	if err != nil {
		return 0, err
	}
	source, err := unpack(path, strings.Replace(r.Root, r.Version, version, 1), r.sources())
	if err != nil {
		return 0, err
	}
	said := map[string]bool{}
	for i := range r.Defaults {
		d := &r.Defaults[i]
		if text := d.compare(source, newest); text != "" {
			wrong++
			if !said[text] {
				fmt.Fprintf(w, "%s %s: %s\n", r.Project, version, text)
			}
			said[text] = true
		}
	}
	fmt.Fprintf(w, "%s %s: %d of %d defaults are as read in %s\n", r.Project, version, len(r.Defaults)-wrong,
		len(r.Defaults), r.Version)
	return wrong, nil
}

// sources returns the files that anything was read from.
func (r *release) sources() (names []string) {
	for i := range r.Defaults {
		l, _ := r.Defaults[i].lines()
		names = append(names, l.file)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// compare says how the source differs from what was read; empty: it does not. Lines that stand elsewhere in a newer
// release are the same.
func (d *reading) compare(source map[string][]string, moves bool) string {
	l, err := d.lines()
	if err != nil {
		return err.Error()
	}
	text, there := source[l.file]
	n := l.last - l.first + 1
	switch {
	case !there:
		return l.file + " is not there any more"
	case l.last <= len(text) && digest(text[l.first-1:l.last]) == d.Digest:
		return ""
	case moves:
		for first := 0; first+n <= len(text); first++ {
			if digest(text[first:first+n]) == d.Digest {
				return ""
			}
		}
	}
	return fmt.Sprintf("%s, for %s, is not as it was read", d.Source, d.name())
}

// name is what the default is one of.
func (d *reading) name() string {
	if d.Argument != "" {
		return d.Argument
	}
	return d.Entry
}
