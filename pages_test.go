package rueidisson_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are what people read beside the code.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, docs)
	return append(docs, "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestProgramsOfThePagesAreThoseOfTheExamples compares the Go code of the pages with the examples, which are compiled and run.
func TestProgramsOfThePagesAreThoseOfTheExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/cookbook/*_test.go")
	require.NoError(t, err)
	var examples strings.Builder
	for _, file := range append(files, "example_test.go") {
		examples.WriteString(text(t, file))
	}
	for _, page := range pages(t) {
		blocks := goBlock.FindAllStringSubmatch(text(t, page), -1)
		if page == "README.md" || page == "docs/cookbook.md" {
			require.NotEmpty(t, blocks, page)
		}
		for _, block := range blocks {
			for _, part := range strings.Split(block[1], "\n\n") {
				assert.Contains(t, examples.String(), part, page)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)]+)\)`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noWord  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are the headings of a page as links name them.
func anchors(page string) (all []string) {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(noWord.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(code.ReplaceAllString(text(t, page), ""), -1) {
			if strings.HasPrefix(l[1], "https://") {
				continue
			}
			path, anchor, _ := strings.Cut(l[1], "#")
			file := filepath.Join(filepath.Dir(page), path)
			if path == "" {
				file = page
			}
			_, err := os.Stat(file)
			if assert.NoError(t, err, "%s: %s", page, l[1]) && anchor != "" {
				assert.Contains(t, anchors(text(t, file)), anchor, "%s: %s", page, l[1])
			}
		}
	}
}

// TestTheREADMEStaysShort, as it is the first page that somebody reads.
func TestTheREADMEStaysShort(t *testing.T) {
	t.Parallel()
	assert.Less(t, strings.Count(text(t, "README.md"), "\n"), 200)
}
