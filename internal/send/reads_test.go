package send

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// declaredReads is a command that Go code declares to change nothing.
var declaredReads = regexp.MustCompile(`NewCommand\("([A-Z_ ]+)", scripts\.Reads\)`)

// TestWhatReadsHasNoCommandThatWrites, of all packages. A server says which commands write. The parts
// that a script includes have functions for others, too: only its own text is looked at.
func TestWhatReadsHasNoCommandThatWrites(t *testing.T) {
	t.Parallel()
	writes := writing(t)
	read, declared := 0, 0
	module := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(module, ".", func(file string, _ fs.DirEntry, err error) error {
		switch filepath.Ext(file) {
		case ".lua":
			text, err := fs.ReadFile(module, file)
			require.NoError(t, err)
			body := string(text)
			if header, err := scripts.ParseHeader(body); err != nil || header.Replay != scripts.Reads {
				return nil
			}
			read++
			for _, name := range scripts.CommandsIn(body) {
				assert.False(t, writes[name], "%s calls %s", file, name)
			}
		case ".go":
			text, err := fs.ReadFile(module, file)
			require.NoError(t, err)
			for _, m := range declaredReads.FindAllStringSubmatch(string(text), -1) {
				declared++
				assert.False(t, writes[strings.ToLower(m[1])], "%s says that %s reads", file, m[1])
			}
		}
		return err
	}))
	require.NotZero(t, read)
	require.NotZero(t, declared)
}

// TestAReadIsNeverUnknown, also if its caller knows what to do while a slot moves, and whatever tells how long it is. A write is.
func TestAReadIsNeverUnknown(t *testing.T) {
	t.Parallel()
	get, set := scripts.NewCommand("GET", scripts.Reads), scripts.NewCommand("SET", scripts.Once)
	for what, one := range map[string]struct {
		op    Operation
		args  []string
		reads bool
	}{
		"read": {get, nil, true}, "steady read": {NoMigrationRetry(get), nil, true}, "steady read of a long value": {Sized(NoMigrationRetry(get), Sizing{}), nil, true},
		"write": {set, []string{"v"}, false}, "steady write": {NoMigrationRetry(set), []string{"v"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
			e, key := at(t, proxy.Addr()), redistest.Name(t)
			_, err := e.Run(t.Context(), get, []string{key}, nil)
			require.NoError(t, err)
			proxy.Refuse()
			lost := proxy.DropReply(redistest.Arg(key), 1)
			_, err = e.Run(t.Context(), one.op, []string{key}, one.args)
			lost.Await(t)
			require.Error(t, err)
			require.Equal(t, !one.reads, errors.Is(err, core.ErrOutcomeUnknown), err)
		})
	}
}

// writing returns the commands that write.
func writing(t *testing.T) map[string]bool {
	t.Helper()
	list := redistest.Do(t, redistest.Shared(t).Client(t), "COMMAND")
	all, err := list.ToArray()
	require.NoError(t, err)
	writes := map[string]bool{}
	for _, one := range all {
		parts, err := one.ToArray()
		require.NoError(t, err)
		name, err := parts[0].ToString()
		require.NoError(t, err)
		flags, err := parts[2].AsStrSlice()
		require.NoError(t, err)
		for _, flag := range flags {
			writes[name] = writes[name] || flag == "write"
		}
	}
	require.True(t, writes["set"])
	require.False(t, writes["get"])
	return writes
}
