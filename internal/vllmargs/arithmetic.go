package vllmargs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// arithmetic returns the value of a shell's integer expression. Those that scripts use, sums, products and parentheses,
// read the same in Go, whose parser they go through.
func (v *variables) arithmetic(text string) (value string, known bool) {
	e, err := parser.ParseExpr(strings.ReplaceAll(text, "$", ""))
	if err != nil {
		return "", false
	}
	n, known := v.evaluate(e)
	return strconv.FormatInt(n, 10), known
}

func (v *variables) evaluate(e ast.Expr) (n int64, known bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return v.evaluate(e.X)
	case *ast.BasicLit:
		return number(e.Value)
	case *ast.Ident:
		return number(v.value[e.Name])
	case *ast.BinaryExpr:
		x, ok := v.evaluate(e.X)
		y, also := v.evaluate(e.Y)
		if !ok || !also {
			return 0, false
		}
		return combine(x, e.Op, y)
	}
	return 0, false
}

// number reads a decimal below 2³¹, so that no product leaves 64 bits.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return n, err == nil
}

// combine refuses results beyond 2³¹, for the same reason.
func combine(x int64, op token.Token, y int64) (n int64, known bool) {
	switch {
	case op == token.ADD:
		n = x + y
	case op == token.SUB:
		n = x - y
	case op == token.MUL:
		n = x * y
	case op == token.QUO && y != 0:
		n = x / y
	case op == token.REM && y != 0:
		n = x % y
	default:
		return 0, false
	}
	return n, n < 1<<31 && n > -1<<31
}
