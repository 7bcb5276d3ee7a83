package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// guarded is a number in memory that processes share. What a lock guards is changed in two steps, so that two holders at a time
// lose a change.
type guarded struct {
	value   *atomic.Int64 // in the file
	changes atomic.Int64  // of this process
}

// size of the file: one page.
const size = 4096

// newGuarded shares the number of a file, and makes the file if it is missing.
func newGuarded(path string) (*guarded, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	memory, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &guarded{value: (*atomic.Int64)(unsafe.Pointer(&memory[0]))}, nil
}

// ownGuarded is for the goroutines of one process.
func ownGuarded(t testing.TB) *guarded {
	t.Helper()
	v, err := newGuarded(filepath.Join(t.TempDir(), "guarded"))
	require.NoError(t, err)
	return v
}

func (v *guarded) change() {
	was := v.value.Load()
	v.changes.Add(1)
	v.value.Store(was + 1)
}

// lost returns how many of the changes of all processes are not in the number.
func (v *guarded) lost(changes int64) int64 { return changes - v.value.Load() }

// TestLostUpdatesAreCounted: two holders at a time lose a change, also of two processes with the same file.
func TestLostUpdatesAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "guarded")
	one, err := newGuarded(path)
	require.NoError(t, err)
	other, err := newGuarded(path)
	require.NoError(t, err)
	one.change()
	other.change()
	require.Zero(t, one.lost(one.changes.Load()+other.changes.Load()))
	was := one.value.Load() // as one reads, another changes
	other.change()
	one.changes.Add(1)
	one.value.Store(was + 1)
	require.EqualValues(t, 1, other.lost(one.changes.Load()+other.changes.Load()))
}
