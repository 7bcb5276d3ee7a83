package guide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages returns the text of the pages with programs by their names.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/guide/*.md")
	require.NoError(t, err)
	all := map[string]string{}
	for _, file := range append(files, "../../docs/cookbook.md") {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		all[file] = string(b)
	}
	return all
}

// blocks returns the code blocks of a language.
func blocks(page, language string) (all []string) {
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		all = append(all, block[1])
	}
	return all
}

// TestOutputsOfTheGuideAreThoseOfTheExamples compares what the guide says that its programs print with what the examples print.
func TestOutputsOfTheGuideAreThoseOfTheExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var printed strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		printed.WriteString(strings.ReplaceAll(string(b), "\n\t// ", "\n"))
	}
	outputs := 0
	for name, page := range pages(t) {
		for _, output := range blocks(page, "text") {
			outputs++
			assert.Contains(t, printed.String(), "\n"+output, name)
		}
	}
	assert.Positive(t, outputs)
}

// TestProgramsOfThePagesDeclareWhatTheyUse finds names that a page uses and does not show: its programs would not compile
// for a reader who copies them and adds the imports.
func TestProgramsOfThePagesDeclareWhatTheyUse(t *testing.T) {
	t.Parallel()
	packages := imported(t, "*_test.go", "../cookbook/*_test.go")
	for name, page := range pages(t) {
		var program strings.Builder
		program.WriteString("package page\n")
		for _, block := range blocks(page, "go") {
			program.WriteString(block)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, program.String(), 0)
		require.NoError(t, err, name)
		for _, used := range file.Unresolved { // in the whole page
			known := types.Universe.Lookup(used.Name) != nil || packages[used.Name]
			assert.True(t, known, "%s uses %s and does not show it", name, used.Name)
		}
	}
}

// imported returns the names of the packages that files import.
func imported(t *testing.T, patterns ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, one := range parsed.Imports {
				names[packageName(t, one)] = true
			}
		}
	}
	return names
}

// packageName returns the name by which a file uses a package: here the last element of its path.
func packageName(t *testing.T, one *ast.ImportSpec) string {
	t.Helper()
	if one.Name != nil {
		return one.Name.Name
	}
	full, err := strconv.Unquote(one.Path.Value)
	require.NoError(t, err)
	return path.Base(full)
}
