package repo

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
	quoted   = regexp.MustCompile("`([^`\\n]+)`")
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

var (
	fenced    = regexp.MustCompile("(?s)```.*?```")
	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`)
)

// TestPagesNameWhatIsExported finds names of packages in the pages, such as lock.Do, that the API does not have.
func TestPagesNameWhatIsExported(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	apis := map[string]string{}
	for _, file := range files {
		api := text(t, file)
		pkg, _, _ := strings.Cut(strings.TrimPrefix(api, "package "), "\n")
		pkg, _, _ = strings.Cut(pkg, " ")
		apis[pkg] = api
	}
	checked := 0
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" { // which also has the names of earlier times
			continue
		}
		for _, span := range quoted.FindAllStringSubmatch(fenced.ReplaceAllString(text(t, page), ""), -1) {
			for _, name := range qualified.FindAllStringSubmatch(span[1], -1) {
				api, ours := apis[name[1]]
				if !ours || strings.Contains(span[1], "/") {
					continue
				}
				checked++
				declared := regexp.MustCompile(`(?m)^(?:(?:func|type|var|const) |\t)` + name[2] + `\b`)
				assert.True(t, declared.MatchString(api), "%s names %s, which %s does not have", page, name[0], name[1])
			}
		}
	}
	require.Greater(t, checked, 100)
}
