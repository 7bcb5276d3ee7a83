package rueidisson_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// isPuzzle matches a comment that makes its reader guess who does what.
var isPuzzle = regexp.MustCompile(`^is (what|who|how|whether)\b`)

// TestCommentsOfFunctionsSayWhatTheyDo lets no comment of a function begin "f is what", and few begin "f is".
func TestCommentsOfFunctionsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	all, is := 0, 0
	eachFunction(t, func(at token.Position, name, comment string) {
		all++
		rest, named := strings.CutPrefix(comment, name+" ")
		if !named {
			return
		}
		if strings.HasPrefix(rest, "is ") || strings.HasPrefix(rest, "are ") {
			is++
		}
		assert.NotRegexp(t, isPuzzle, rest, "%v: %s", at, comment)
	})
	require.Greater(t, all, 4000, "functions with comments")
	require.Less(t, is*20, all, "comments that begin \"f is\": begin with a verb")
}

// eachFunction calls do with the comments of all functions that are no tests.
func eachFunction(t *testing.T, do func(at token.Position, name, comment string)) {
	t.Helper()
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, is := decl.(*ast.FuncDecl); is && f.Doc != nil {
				do(files.Position(f.Pos()), f.Name.Name, f.Doc.Text())
			}
		}
		return nil
	}))
}
