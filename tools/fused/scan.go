package main

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// line is a line of a source.
type line struct {
	file   string
	number int
}

func (l line) String() string { return fmt.Sprintf("%s:%d", l.file, l.number) }

// isFused reports whether an instruction of arm64 is FMADD, FMSUB, FNMADD or FNMSUB: data processing of floating-point
// numbers with three sources (Arm Architecture Reference Manual, C4.1, "Data Processing -- Scalar Floating-Point").
func isFused(instruction uint32) bool { return instruction>>24 == 0b0001_1111 }

// scan returns the lines of a program for arm64 that are compiled to fused instructions, in order.
func scan(path string) ([]line, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if f.Machine != elf.EM_AARCH64 {
		return nil, fmt.Errorf("%s is a program for %s, want one for arm64", path, f.Machine)
	}
	text, pclntab := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || pclntab == nil {
		return nil, fmt.Errorf("%s is no program of Go", path)
	}
	code, err := text.Data()
	if err != nil {
		return nil, err
	}
	functions, err := pclntab.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(functions, text.Addr))
	if err != nil {
		return nil, err
	}
	lines := make(map[line]bool)
	for at := 0; at+4 <= len(code); at += 4 {
		if !isFused(binary.LittleEndian.Uint32(code[at:])) {
			continue
		}
		if file, number, function := table.PCToLine(text.Addr + uint64(at)); function != nil {
			lines[line{file, number}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(lines), func(a, b line) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.number, b.number))
	}), nil
}
