package traces

import "bytes"

// fields are the raw values of a row, by role.
type fields [numRoles][]byte

// cut takes the first field off a CSV line. A quoted field loses its quotes; doubled quotes inside stay doubled, for no
// column that is read has any. The rest is nil after the last field, and ok reports whether the quoting is sound.
func cut(line []byte) (field, rest []byte, ok bool) {
	if len(line) > 0 && line[0] == '"' {
		return cutQuoted(line[1:])
	}
	i := bytes.IndexByte(line, ',')
	if i < 0 {
		return line, nil, true
	}
	return line[:i], line[i+1:], true
}

func cutQuoted(line []byte) (field, rest []byte, ok bool) {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] != '"':
		case i+1 == len(line):
			return line[:i], nil, true
		case line[i+1] == ',':
			return line[:i], line[i+2:], true
		case line[i+1] == '"':
			i++
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// trim drops the blanks around a field.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// header returns the column names of a CSV line.
func header(line []byte) (names []string, ok bool) {
	for {
		field, rest, ok := cut(line)
		if !ok {
			return nil, false
		}
		names = append(names, string(trim(field)))
		if rest == nil {
			return names, true
		}
		line = rest
	}
}

// row puts the fields of a CSV line into their roles and returns how many there are; 0: the quoting is broken.
func (l *layout) row(line []byte, out *fields) int {
	for column := 0; ; column++ {
		field, rest, ok := cut(line)
		if !ok {
			return 0
		}
		if column < len(l.role) && l.role[column] >= 0 {
			out[l.role[column]] = trim(field)
		}
		if rest == nil {
			return column + 1
		}
		line = rest
	}
}
