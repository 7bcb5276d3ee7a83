package multimap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
)

// TestObjectsOfAKeyHaveRedissonsNames, which are those of an entry of a map, and those of a key that cannot be used refuse
// it.
func TestObjectsOfAKeyHaveRedissonsNames(t *testing.T) {
	t.Parallel()
	e, name := engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t)
	m := NewList[string, int](e, name, textual)
	of := "{" + name + "}:BhA5LsZVetaLy1jDRVlHJg:" // abc
	require.Equal(t, of+"fairlock", m.FairLock("abc").Name())
	require.Equal(t, of+"rw_lock", m.RWLock("abc").Name())
	require.Equal(t, of+"semaphore", m.Semaphore("abc").Name())
	require.Equal(t, of+"permitexpirablesemaphore", m.PermitSemaphore("abc").Name())
	require.Equal(t, of+"countdownlatch", m.Latch("abc").Name())

	s, ctx := rmap.New[string, int](e, name).Semaphore("abc"), t.Context()
	_, err := s.TrySetPermits(ctx, 2)
	require.NoError(t, err)
	n, err := m.Semaphore("abc").Available(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, n, "it is that of the key, whatever the map is")
	_, err = s.Delete(ctx)
	require.NoError(t, err)

	_, err = m.Semaphore("\xff").Available(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = NewSet[string, int](e, "").FairLock("k").Lock(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument)
}
