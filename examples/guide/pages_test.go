package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	pages, err := filepath.Glob("../../docs/guide/*.md")
	require.NoError(t, err)
	outputs := 0
	for _, page := range pages {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```text(\n.*?\n)```").FindAllStringSubmatch(string(b), -1) {
			outputs++
			assert.Contains(t, printed.String(), block[1], page)
		}
	}
	assert.Positive(t, outputs)
}
