package reliable

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDuplicateTellsTheMessageThatHasTheKey, also after that is done, so that its result can be awaited.
func TestDuplicateTellsTheMessageThatHasTheKey(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		other := func(opts ...AddOption) int64 {
			_, err := r.Add(t.Context(), "again", opts...)
			var duplicate *DuplicateError
			require.ErrorIs(t, err, ErrDuplicate)
			require.True(t, errors.As(err, &duplicate), "%v", err)
			return duplicate.ID
		}
		unique := r.adds("unique", WithUnique("u"))
		once := r.adds("once", WithDedup("o", time.Hour))
		r.acks("unique")
		require.NoError(t, r.gets("once").AckWith(t.Context(), []byte("done"), time.Hour))
		require.Equal(t, once, other(WithDedup("o", time.Hour)))
		text, err := r.Await(t.Context(), other(WithDedup("o", time.Hour), WithUnique("u")))
		require.NoError(t, err)
		require.Equal(t, "done", string(text))
		second := r.adds("unique", WithUnique("u"))
		require.NotEqual(t, unique, second)
		require.Equal(t, second, other(WithUnique("u"), WithDedup("p", time.Hour)))
		r.adds("p is free", WithDedup("p", time.Hour))
	})
}
