package repo

import (
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lifecycle are the names of what starts and ends a floor. A method of a floor is promoted to the engine that objects
// have, and that a program reaches by Client.Engine, so these are functions.
var lifecycle = []string{"Start", "PublishSharded", "Shut", "AwaitHolders", "CutShort", "Stop", "End", "Close"}

// TestTheEngineCannotBeEndedByObjects looks for those methods on the engine and on the exported fields of its floors.
func TestTheEngineCannotBeEndedByObjects(t *testing.T) {
	t.Parallel()
	pkg, err := compiled(t).Import(module + "/internal/locking")
	require.NoError(t, err)
	floors := 0
	var look func(at string, typ types.Type)
	look = func(at string, typ types.Type) {
		pointer, is := typ.(*types.Pointer)
		if !is {
			pointer = types.NewPointer(typ)
		}
		for m := range types.NewMethodSet(pointer).Methods() {
			assert.False(t, slices.Contains(lifecycle, m.Obj().Name()), "%s.%s", at, m.Obj().Name())
		}
		fields, is := pointer.Elem().Underlying().(*types.Struct)
		if !is {
			return
		}
		for f := range fields.Fields() {
			if of, _ := strings.CutPrefix(f.Type().String(), "*"); f.Exported() && ours(of) {
				if f.Embedded() {
					floors++
				}
				look(at+"."+f.Name(), f.Type())
			}
		}
	}
	look("Engine", pkg.Scope().Lookup("Engine").Type())
	require.Equal(t, 5, floors, "wait, lease, send, core and the settings")
}

// ends matches the calls that start and end a floor.
var ends = regexp.MustCompile(`\b(core\.(PublishSharded|Shut|End)|send\.(Start|CutShort|End)|lease\.(Shut|AwaitHolders)|wait\.End|locking\.Close)\(`)

// TestOnlyTheFloorsAndTheClientEndAnEngine finds those calls in other packages.
func TestOnlyTheFloorsAndTheClientEndAnEngine(t *testing.T) {
	t.Parallel()
	found := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		all := ends.FindAllString(text(t, path), -1)
		found += len(all)
		in := filepath.ToSlash(filepath.Dir(path))
		if !slices.Contains([]string{".", "internal/locking", "internal/send", "internal/enginetest"}, in) {
			assert.Empty(t, all, path)
		}
		return nil
	}))
	require.Greater(t, found, 8)
}
