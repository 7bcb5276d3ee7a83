package repo

import (
	"encoding/xml"
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
	guide, err := filepath.Glob("docs/guide/*.md")
	require.NoError(t, err)
	return append(append(docs, guide...), "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
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
	all := examples(t)
	for _, page := range pages(t) {
		blocks := goBlock.FindAllStringSubmatch(text(t, page), -1)
		if page == "README.md" || page == "docs/cookbook.md" || strings.HasPrefix(page, "docs/guide/") && page != "docs/guide/README.md" {
			require.NotEmpty(t, blocks, page)
		}
		for _, block := range blocks {
			if strings.HasPrefix(block[1], "package ") {
				assert.Contains(t, all, block[1], page)
				continue
			}
			for _, part := range strings.Split(block[1], "\n\n") {
				assert.Contains(t, all, part, page)
			}
		}
	}
}

// examples returns the code of the examples of the pages.
func examples(t *testing.T) string {
	t.Helper()
	files := []string{"example_test.go"}
	for _, pattern := range []string{"examples/cookbook/*_test.go", "examples/guide/*_test.go", "examples/quickstart/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	var all strings.Builder
	for _, file := range files {
		all.WriteString(text(t, file))
	}
	return all.String()
}

// TestTheREADMEShowsGoThatCompiles compares the Go cells of the table "Java and Go" with the examples.
func TestTheREADMEShowsGoThatCompiles(t *testing.T) {
	t.Parallel()
	_, part, _ := strings.Cut(text(t, "README.md"), "\n## Java and Go\n")
	part, _, _ = strings.Cut(part, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `[^`]+` \\| `([^`]+)` \\|$").FindAllStringSubmatch(part, -1)
	require.Greater(t, len(rows), 5)
	for _, row := range rows {
		assert.Contains(t, examples(t), "\t"+row[1]+"\n")
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

// TestTheREADMEStaysShort allows it 200 lines, because every reader begins there.
func TestTheREADMEStaysShort(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, strings.Count(text(t, "README.md"), "\n"), 200)
}

// TestTablesOfTheREADMELinkEveryCell checks the rows of the tables of objects.
func TestTablesOfTheREADMELinkEveryCell(t *testing.T) {
	t.Parallel()
	_, part, _ := strings.Cut(text(t, "README.md"), "\n## Objects\n")
	part, _, _ = strings.Cut(part, "\n## ")
	row := regexp.MustCompile(`^\| \[[^]]+\]\([^)]+\) \| \[.+\]\([^)]+\) \| \[[^]]+\]\([^)]+\) \|$`)
	tables, rows := 0, 0
	for line := range strings.Lines(part) {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "|---"):
		case strings.HasSuffix(line, "| Go | Redisson |"):
			tables++
		default:
			rows++
			assert.Regexp(t, row, line)
		}
	}
	assert.Equal(t, 6, tables)
	assert.Greater(t, rows, 30)
}

// TestPicturesOfTheREADMEAreThere reads them as XML. The tests of bench/pictures compare what they show.
func TestPicturesOfTheREADMEAreThere(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"docs/img/flashsale.svg", "docs/img/speed.svg"} {
		assert.Contains(t, text(t, "README.md"), "]("+file+")")
		var picture struct {
			XMLName xml.Name `xml:"svg"`
			Title   string   `xml:"title"`
		}
		require.NoError(t, xml.Unmarshal([]byte(text(t, file)), &picture), file)
		assert.NotEmpty(t, picture.Title, file)
	}
}
