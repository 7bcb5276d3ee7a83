package rmap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// TestObjectsOfAnEntryHaveRedissonsNames, and those of a key that cannot be used refuse it.
func TestObjectsOfAnEntryHaveRedissonsNames(t *testing.T) {
	t.Parallel()
	m, e := fresh(t, WithCodec(codec.Text))
	const of = ":BhA5LsZVetaLy1jDRVlHJg:" // abc
	name := "{" + m.Name() + "}" + of
	require.Equal(t, name+"fairlock", m.FairLock("abc").Name())
	require.Equal(t, name+"rw_lock", m.RWLock("abc").Name())
	require.Equal(t, name+"semaphore", m.Semaphore("abc").Name())
	require.Equal(t, name+"permitexpirablesemaphore", m.PermitSemaphore("abc").Name())
	require.Equal(t, name+"countdownlatch", m.Latch("abc").Name())
	require.Equal(t, "{u1}:m"+of+"semaphore", NewCache[string, int](e, "{u1}:m").Semaphore("abc").Name())

	s, ctx := m.Semaphore("abc"), t.Context()
	_, err := s.TrySetPermits(ctx, 2)
	require.NoError(t, err)
	n, err := NewCache[string, int](e, m.Name(), WithCodec(codec.Text)).Semaphore("abc").Available(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, n, "it is that of the key, whatever the map is")
	_, err = s.Delete(ctx)
	require.NoError(t, err)

	_, err = m.Semaphore("\xff").Available(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = New[string, int](e, "").FairLock("k").Lock(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument)
}
