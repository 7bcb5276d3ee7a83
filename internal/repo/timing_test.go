package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bounded lists what compares its first value with an upper bound.
var bounded = []string{"Less", "LessOrEqual", "Lessf", "LessOrEqualf"}

// Tests do not judge elapsed time by themselves: [redistest.Within] knows for how long the process stood still.
func TestNoTestJudgesElapsedTimeWithoutAMetronome(t *testing.T) {
	t.Parallel()
	for _, file := range testFiles(t) {
		for _, at := range judgesTime(file.tree) {
			t.Errorf("%s: elapsed time is compared; redistest.Within repeats a round in which the process stood still", file.set.Position(at))
		}
	}
}

// A limit below a minute is one that means something, such as a lease that would end the wait by itself. It says so in a
// comment; every other wait for an event has redistest.Soon.
func TestNoTestWaitsForAnEventWithALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, file := range testFiles(t) {
		for _, at := range ownLimits(file) {
			t.Errorf("%s: the limit of this wait is a number; take redistest.Soon, or say in a comment of the line what the limit means",
				file.set.Position(at))
		}
	}
}

func TestTheRulesForTimeInTestsSeeWhatBreaksThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		`require.Less(t, time.Since(began), time.Second)`:                                        {1, 0},
		`took := time.Since(began); require.LessOrEqual(t, took, time.Second)`:                   {1, 0},
		`var took time.Duration; took = time.Since(began); assert.Less(t, took, limit)`:          {1, 0},
		`require.Less(t, asked.Sub(written), silence)`:                                           {},
		`require.Less(t, len(all), 3)`:                                                           {},
		`redistest.Within(t, limit, func() time.Duration { require.Less(t, time.Since(b), s) })`: {1, 0},
		`redistest.Within(t, limit, func() time.Duration { return time.Since(began) })`:          {},
		`synctest.Test(t, func(t *testing.T) { require.Less(t, time.Since(began), s) })`:         {},
		`require.Eventually(t, is, 10*time.Second, time.Millisecond)`:                            {0, 1},
		`redistest.Eventually(t, is, 2*time.Second, time.Millisecond)`:                           {0, 1},
		`redistest.Eventually(t, is, 2*time.Second, time.Millisecond) // before the lease ends`:  {},
		`redistest.Eventually(t, is, redistest.Soon, time.Millisecond)`:                          {},
		`require.Eventually(t, is, 2*soon, time.Millisecond)`:                                    {},
	} {
		file := testFile{set: token.NewFileSet()}
		tree, err := parser.ParseFile(file.set, "a_test.go", "package a\nfunc TestA(t *testing.T) {\n"+text+"\n}\n", parser.ParseComments)
		require.NoError(t, err, text)
		file.tree = tree
		require.Len(t, judgesTime(tree), want[0], text)
		require.Len(t, ownLimits(file), want[1], text)
	}
}

type testFile struct {
	set  *token.FileSet
	tree *ast.File
}

// testFiles parses every test of the repository, those of its other modules and of all build tags, too.
func testFiles(t *testing.T) (all []testFile) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file := testFile{set: token.NewFileSet()}
		file.tree, err = parser.ParseFile(file.set, path, text, parser.ParseComments)
		all = append(all, file)
		return err
	}))
	require.NotEmpty(t, all)
	return all
}

// judgesTime returns the comparisons of elapsed time with an upper bound. In a bubble of synctest time is not the machine's.
func judgesTime(file *ast.File) (at []token.Pos) {
	for _, d := range file.Decls {
		elapsed := map[string]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					if name, ok := n.Lhs[i].(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && isElapsed(value, elapsed) {
						elapsed[name.Name] = true
					}
				}
			case *ast.CallExpr:
				called, of := name(n)
				if of == "synctest" || called == "inBubble" || called == "inWorld" || called == "inTurns" {
					return false
				}
				if slices.Contains(bounded, called) && len(n.Args) > 2 && isElapsed(n.Args[1], elapsed) {
					at = append(at, n.Pos())
				}
			}
			return true
		})
	}
	return at
}

// isElapsed reports whether a value is the time until now, or a variable that is.
func isElapsed(value ast.Expr, elapsed map[string]bool) bool {
	switch v := value.(type) {
	case *ast.Ident:
		return elapsed[v.Name]
	case *ast.CallExpr:
		called, of := name(v)
		return called == "Since" && of == "time"
	}
	return false
}

// ownLimits returns the waits for an event whose limit is a number of seconds or less.
func ownLimits(file testFile) (at []token.Pos) {
	explained := map[int]bool{}
	for _, c := range file.tree.Comments {
		explained[file.set.Position(c.Pos()).Line] = true
	}
	ast.Inspect(file.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if called, _ := name(call); called == "Eventually" && len(call.Args) > 2 {
			limit := call.Args[2]
			if isLiteral(limit) && !explained[file.set.Position(limit.Pos()).Line] {
				at = append(at, limit.Pos())
			}
		}
		return true
	})
	return at
}

// isLiteral reports whether a duration is a number of a unit below the minute, such as 10*time.Second.
func isLiteral(d ast.Expr) bool {
	literal := false
	ast.Inspect(d, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Second" || s.Sel.Name == "Millisecond") {
			literal = true
		}
		return true
	})
	return literal
}

// name returns what a call calls, and of which package or value.
func name(call *ast.CallExpr) (called, of string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name, ""
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			of = x.Name
		}
		return f.Sel.Name, of
	}
	return "", ""
}
