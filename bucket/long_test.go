package bucket

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestALongValueOverASlowLink takes longer than a send has, and arrives: it is read again with the time of its length, and what
// returns it after that is given as much.
func TestALongValueOverASlowLink(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	long := strings.Repeat("0123456789abcdef", 3<<20/16)
	fast := New[string](enginetest.Plain(t, raw), fresh(t, raw), WithCodec(codec.Text))
	require.NoError(t, fast.Set(t.Context(), long))
	e := enginetest.Slow(t, server, 2<<20)
	slow := New[string](e, fast.Name(), WithCodec(codec.Text))
	got, there, err := slow.Get(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	require.True(t, got == long)
	all, err := NewMany[string](e, WithCodec(codec.Text)).Get(t.Context(), slow.Name())
	require.NoError(t, err)
	require.True(t, all[slow.Name()] == long)
	old, had, err := slow.Swap(t.Context(), "short")
	require.NoError(t, err)
	require.True(t, had)
	require.True(t, old == long)
}
