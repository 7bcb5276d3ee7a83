package rueidisson_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	sentinel = regexp.MustCompile(`(?m)^(?:var |\t)(Err\w+)[ =]`)
	errorRow = regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\| ([^|]+) \\| [^|]+ \\| [^|]+ \\|$")
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// TestErrorsPageListsEverySentinel compares the rows of docs/errors.md with the sentinels of the exported API.
func TestErrorsPageListsEverySentinel(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var exported []string
	for _, file := range files {
		api := text(t, file)
		pkg, _, _ := strings.Cut(strings.TrimPrefix(api, "package "), "\n")
		pkg, _, _ = strings.Cut(pkg, " ")
		_, variables, _ := strings.Cut(api, "\nVARIABLES\n")
		variables, _, _ = strings.Cut(variables, "\nFUNCTIONS\n")
		variables, _, _ = strings.Cut(variables, "\nTYPES\n")
		for _, s := range sentinel.FindAllStringSubmatch(variables, -1) {
			exported = append(exported, pkg+"."+s[1])
		}
	}

	var listed []string
	for _, row := range errorRow.FindAllStringSubmatch(text(t, "docs/errors.md"), -1) {
		for _, pkg := range quoted.FindAllStringSubmatch(row[2], -1) {
			listed = append(listed, pkg[1]+"."+row[1])
		}
	}
	require.NotEmpty(t, exported)
	assert.ElementsMatch(t, exported, listed, "docs/errors.md has a row for each sentinel: | `ErrX` | `package` | cause | what to do |")
}
