package list

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhatAUserMayDoInPartChangesNothing: a script that is refused in the middle leaves the list as it was.
func TestWhatAUserMayDoInPartChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	redistest.Do(t, raw, "ACL", "SETUSER", "some", "on", ">secret", "~*", "&*", "+@all", "-linsert", "-lrem", "-lpush", "-rpush")
	some := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "some", "secret" })
	abac(t, raw, "l")
	l := listOn(enginetest.On(t, some), "l")
	many := make([]string, 300)
	for what, do := range map[string]func() error{
		"insert":           func() error { _, err := l.Insert(t.Context(), 1, "x"); return err },
		"insert many":      func() error { _, err := l.Insert(t.Context(), 1, many...); return err },
		"insert many late": func() error { _, err := l.Insert(t.Context(), 3, many...); return err },
		"remove":           func() error { _, _, err := l.RemoveAt(t.Context(), 1); return err },
	} {
		require.ErrorContains(t, do(), "run this command", what)
		require.Equal(t, "abac hour", state(t, raw, "l"), what)
	}
}
