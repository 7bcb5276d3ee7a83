package scripts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/gopher-lua/parse"
)

const root = "../.."

// luaFiles is every script of the module; other modules inside of its folder
// are not ours to judge.
func luaFiles(t *testing.T) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && foreign(path):
			return filepath.SkipDir
		case filepath.Ext(path) == ".lua":
			files = append(files, path)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

func foreign(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil || strings.HasPrefix(filepath.Base(dir), ".") || filepath.Base(dir) == "testdata"
}

// TestEveryScriptOfTheModule reads what no compiler reads: that the text is
// Lua, that its header can be parsed, and that header and body speak of the
// same KEYS and ARGV.
func TestEveryScriptOfTheModule(t *testing.T) {
	t.Parallel()
	files := luaFiles(t)
	included := map[string]bool{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		header, _ := cut(string(body))
		for _, part := range includes(header) {
			included[filepath.Join(filepath.Dir(file), part)] = true
			included[filepath.Join(root, "internal", "scripts", "parts", part)] = true
		}
	}
	for _, file := range files {
		t.Run(filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator))), func(t *testing.T) {
			t.Parallel()
			body, err := Read(os.DirFS(filepath.Dir(file)), filepath.Base(file))
			require.NoError(t, err)
			_, err = parse.Parse(strings.NewReader(body), file)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(body, "-- "+filepath.Base(file)+": "), "the first line does not say what the file does")
			if IsPart(body) {
				assert.True(t, included[file], "neither a script, as it has no header, nor a part of one")
				return
			}
			header, err := ParseHeader(body)
			require.NoError(t, err)
			assert.NoError(t, agrees("KEYS", header.Keys, body))
			assert.NoError(t, agrees("ARGV", header.Args, body))
		})
	}
}

var use = map[string]*regexp.Regexp{
	"KEYS": regexp.MustCompile(`KEYS\[(\d+)\]`),
	"ARGV": regexp.MustCompile(`ARGV\[(\d+)\]`),
}

// agrees compares the indexes that a header names with those that the code
// below it uses. A header with an open end is only asked to name something.
func agrees(kind string, named []string, body string) error {
	var want []string
	for i := range named {
		want = append(want, strconv.Itoa(i+1))
	}
	if len(named) > 0 && named[len(named)-1] != want[len(want)-1] {
		return nil // an open end
	}
	if !slices.Equal(named, want) {
		return fmt.Errorf("the header numbers its %s %v", kind, named)
	}
	want = slices.DeleteFunc(want, func(i string) bool { return idle(kind, i, body) })
	if used := usedIn(kind, body, len(named)); !slices.Equal(used, want) {
		return fmt.Errorf("the header names %s %v, the code uses %v", kind, want, used)
	}
	return nil
}

// idle says whether the header gives the index only because the scripts beside it do.
func idle(kind, index, body string) bool {
	return regexp.MustCompile(`(?m)^--\s+` + kind + `\[` + index + `\]\s+of no use here`).MatchString(body)
}

// usedIn is the indexes that the code of a script uses, in order, once each; last
// is that of KEYS[#KEYS].
func usedIn(kind, body string, last int) []string {
	var used []int
	for line := range strings.Lines(body) {
		code, _, _ := strings.Cut(line, "--")
		code = strings.ReplaceAll(code, kind+"[#"+kind+"]", fmt.Sprintf("%s[%d]", kind, last))
		for _, m := range use[kind].FindAllStringSubmatch(code, -1) {
			n, _ := strconv.Atoi(m[1])
			used = append(used, n)
		}
	}
	slices.Sort(used)
	var texts []string
	for _, n := range slices.Compact(used) {
		texts = append(texts, strconv.Itoa(n))
	}
	return texts
}

// TestAgreesSeesWhatItIsThereFor: the check above would be worth nothing if
// it could not fail.
func TestAgreesSeesWhatItIsThereFor(t *testing.T) {
	t.Parallel()
	body := "-- KEYS[3]  only a comment\nreturn redis.call('get', KEYS[1], KEYS[2])"
	assert.NoError(t, agrees("KEYS", []string{"1", "2"}, body))
	assert.NoError(t, agrees("KEYS", []string{"i"}, body))
	assert.NoError(t, agrees("ARGV", nil, body))
	assert.NoError(t, agrees("KEYS", []string{"1", "2", "3"}, body+"\nredis.call('get', KEYS[#KEYS])"))
	assert.NoError(t, agrees("KEYS", []string{"1", "2", "3"}, "-- KEYS[3]  of no use here\n"+body))
	assert.Error(t, agrees("KEYS", []string{"1"}, body), "one that is not named")
	assert.Error(t, agrees("KEYS", []string{"1", "2", "3"}, body), "one that is not used")
	assert.Error(t, agrees("KEYS", []string{"2", "2"}, body), "one that is named twice")
	assert.Error(t, agrees("ARGV", []string{"1"}, body))
}
