package repo

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/page"
)

var update = flag.Bool("update", false, "write the API listings instead of comparing them")

// public is every package that programs outside of this module can import.
func public(t *testing.T) (all []listed) {
	t.Helper()
	for _, p := range packages(t) {
		path := p.path()
		demo := strings.HasPrefix(path, "interop") || path == "chaos" || strings.HasPrefix(path, "examples") || strings.HasPrefix(path, "bench")
		if p.Name != "main" && !demo && !strings.Contains("/"+path+"/", "/internal/") {
			all = append(all, p)
		}
	}
	return all
}

// listing is the file that holds the API of a package.
func listing(path string) string {
	if path == "" {
		path = "rueidisson"
	}
	return filepath.Join("api", strings.ReplaceAll(path, "/", "-")+".txt")
}

// TestAPI compares what each public package exports, and says of it, with the
// listing under api. A change of a listing is a change of what users see, and
// is reviewed as that. After a change that is meant:
//
//	go test ./internal/repo -run TestAPI -update
func TestAPI(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, p := range public(t) {
		file := listing(p.path())
		want[file] = true
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			api := exported(t, p)
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(api), 0o644))
				return
			}
			reviewed, err := os.ReadFile(file)
			require.NoError(t, err, "run: go test ./internal/repo -run TestAPI -update")
			if was := clean(string(reviewed)); was != api { // whose text is too long to be read twice
				t.Errorf("%s is another one now; if this is meant, run: go test ./internal/repo -run TestAPI -update\n%s", file, page.Difference(was, api))
			}
		})
	}
	files, err := filepath.Glob(filepath.Join("api", "*.txt"))
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, want[file], "%s is of no public package any more", file)
	}
}

// exported is the documentation of a package, the same from any folder and on
// any system.
func exported(t *testing.T, p listed) string {
	t.Helper()
	show := exec.CommandContext(t.Context(), "go", "doc", "-all", p.ImportPath)
	show.Dir = p.Dir // its module need not be this one
	doc, err := show.CombinedOutput()
	require.NoError(t, err, string(doc))
	return clean(string(doc))
}

// clean drops the first line, which depends on how the package was named to
// go doc, and what editors change.
func clean(doc string) string {
	lines := strings.Split(strings.ReplaceAll(doc, "\r\n", "\n"), "\n")
	if strings.HasPrefix(lines[0], "package ") {
		name, _, _ := strings.Cut(lines[0], " //")
		lines[0] = name
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n")) + "\n"
}
