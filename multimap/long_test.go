package multimap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// A send may take a second here, and rueidis closes a connection whose PING takes longer.
// What is long takes a second and a half.
const (
	longBytes = 3 << 20
	longRate  = 2 << 20
)

func slowClient(t *testing.T, server *redistest.Server) rueidis.Client {
	t.Helper()
	return server.Client(t, redistest.Slow(longRate), func(o *rueidis.ClientOption) { o.ConnWriteTimeout = time.Second })
}

// TestListRangeReadsWhatTakesLongerThanASend, as Get does.
func TestListRangeReadsWhatTakesLongerThanASend(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	want := []string{strings.Repeat("x", longBytes/2), strings.Repeat("y", longBytes/2)}
	raw := NewList[string, string](engineOn(t, server.Client(t)), name, textual)
	t.Cleanup(func() { _, _ = raw.Delete(context.Background()) })
	require.NoError(t, raw.PutAll(t.Context(), "long", want...))
	m := NewList[string, string](engineOn(t, slowClient(t, server), shortSends), name, textual)
	got, err := m.Range(context.Background(), "long", 0, -1)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
