package scripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommandsOfEveryScriptAreSeen: a name in double quotes, or in brackets, would be missed, and a check would not ask for it.
func TestCommandsOfEveryScriptAreSeen(t *testing.T) {
	t.Parallel()
	unseen, n := regexp.MustCompile(`call\(\s*(?:"|\[\[)`), 0
	root := filepath.Join("..", "..")
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".lua"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		n++
		assert.NotRegexp(t, unseen, string(text), path)
		return nil
	}))
	require.Greater(t, n, 100)
}

func TestCommandsInTheTextOfAScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"redis.call('GET', KEYS[1])":                                 {"get"},
		"redis.pcall('xgroup', 'create', KEYS[1])":                   {"xgroup create"},
		"local call = redis.call\ncall( 'hset', k, 'set', v)":        {"hset"},
		"redis.pcall(ARGV[1], ARGV[2], '0')":                         {Publishes},
		"-- Runs     rpush lpush\nredis.call(ARGV[1], KEYS[1], 'x')": {"lpush", "rpush"},
		"return 1": nil,
	} {
		assert.Equal(t, want, CommandsIn(text), text)
	}
}
