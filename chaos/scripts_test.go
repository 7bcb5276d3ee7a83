package chaos

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// scriptError matches what a server says of a script that is wrong. Refusals, such as OOM, name a line of the script, too, but at
// their end.
var scriptError = regexp.MustCompile(`(^|[^@])user_script:\d+:|command arguments must be|Wrong number of args|WRONGTYPE|is not an integer|not a valid float`)

// scriptErrors returns the errors with which scripts of the library fail, each once: no caller is promised one.
func scriptErrors(events []event) (found []string) {
	seen := map[string]bool{}
	for _, e := range events {
		for _, said := range []string{e.Outcome, e.Error} {
			if what := scriptError.FindString(said); what != "" && !seen[what] {
				seen[what] = true
				found = append(found, fmt.Sprintf("a script fails in process %d, worker %d, hold %d: %s", e.Proc, e.Worker, e.Hold, said))
			}
		}
	}
	return found[:min(len(found), mostShown)]
}

func TestScriptErrorsAreFound(t *testing.T) {
	t.Parallel()
	for said, found := range map[string]int{
		"": 0,
		"lock \"a\": OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:12.":                      0,
		"lock \"a\": ERR user_script:3: Script attempted to access nonexistent global variable 'n' script: 1f, on @user_script:3.": 1,
		"user_script:3: attempt to compare nil with number script: 1f, on @user_script:3.":                                         1,
		"ERR Lua redis lib command arguments must be strings or integers script: 1f, on @user_script:3.":                           1,
		"ERR value is not an integer or out of range script: 1f, on @user_script:3.":                                               1,
	} {
		require.Len(t, scriptErrors([]event{{Kind: refused, Outcome: said}, {Kind: ends}}), found, said)
		require.Len(t, scriptErrors([]event{{Kind: ends, Error: said}, {Kind: fails, Error: said}}), found, said)
	}
}

// library returns the texts of all scripts, as they are sent, by their paths in the repository.
var library = sync.OnceValues(func() (map[string]string, error) {
	root := os.DirFS("..")
	all := map[string]string{}
	err := fs.WalkDir(root, ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(at) != ".lua":
			return nil
		}
		text, err := fs.ReadFile(root, at)
		if err != nil || scripts.IsPart(string(text)) {
			return err
		}
		body, err := scripts.Read(root, at)
		all[filepath.ToSlash(at)] = body
		return err
	})
	return all, err
})

// texts returns the texts of all scripts by their paths.
func texts(t testing.TB) map[string]string {
	t.Helper()
	all, err := library()
	require.NoError(t, err)
	require.Greater(t, len(all), 150)
	return all
}
