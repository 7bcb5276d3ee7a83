package redistest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestEventuallyAsksUntilItIsSo(t *testing.T) {
	t.Parallel()
	asked := 0
	redistest.Eventually(t, func() bool {
		asked++
		return asked == 3
	}, time.Minute, time.Microsecond)
	require.Equal(t, 3, asked)
	require.False(t, redistest.InTime(func() bool { return false }, time.Millisecond, time.Microsecond))
}

// testify's Eventually asks on another goroutine, where a test can neither be ended nor used once it is over.
func TestNoConditionOfTestifyUsesTheTest(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if condition := conditionOf(n); condition != nil && usesTest(condition) {
				t.Errorf("%s: use redistest.Eventually", files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
}

// conditionOf is what a call of testify's Eventually or Never asks, if it stands there.
func conditionOf(n ast.Node) ast.Node {
	call, is := n.(*ast.CallExpr)
	if !is || len(call.Args) < 2 {
		return nil
	}
	of, is := call.Fun.(*ast.SelectorExpr)
	if !is || !slices.Contains([]string{"Eventually", "Eventuallyf", "Never", "Neverf"}, of.Sel.Name) {
		return nil
	}
	if pkg, is := of.X.(*ast.Ident); !is || pkg.Name != "require" && pkg.Name != "assert" {
		return nil
	}
	if condition, is := call.Args[1].(*ast.FuncLit); is {
		return condition.Body
	}
	return nil
}

// usesTest reports whether it asserts something, or passes the test on to somebody who may.
func usesTest(condition ast.Node) (uses bool) {
	ast.Inspect(condition, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			pkg, is := x.X.(*ast.Ident)
			uses = uses || is && (pkg.Name == "require" || pkg.Name == "assert")
		case *ast.CallExpr:
			uses = uses || slices.ContainsFunc(x.Args, isTest)
		}
		return !uses
	})
	return uses
}

func isTest(argument ast.Expr) bool {
	switch x := argument.(type) {
	case *ast.Ident:
		return x.Name == "t"
	case *ast.SelectorExpr:
		return x.Sel.Name == "t"
	}
	return false
}
