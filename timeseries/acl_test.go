package timeseries

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	k := kitOn(enginetest.On(t, user.Client(t)), "orders:series")
	k.to = "orders:{orders:series}"
	for what, one := range effects {
		old(t, user.Admin, k.name)
		_, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
		for _, name := range []string{k.name, k.to} {
			redistest.Do(t, user.Admin, append([]string{"DEL"}, keys.Series(name)...)...)
		}
	}
	old(t, user.Admin, k.name)
	for what, one := range looks {
		_, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
	}
	require.NoError(t, k.s.Check(t.Context()))
	require.NoError(t, swept{hubOf(k.s.b.Engine), k.name}.Visit().Err)
	user.NothingDenied(t)
}

// TestWhatTheACLRefusesInTheMiddleChangesNothing: one of the two keys, or one of the commands.
func TestWhatTheACLRefusesInTheMiddleChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		for user, may := range map[string][]string{
			"entries": {"~s", "+@all"}, "ends": {"~redisson__ts_ttl:{s}", "~redisson__ts_seq:{s}", "+@all"},
			"adds": {"~*", "+@all", "-zrem"}, "reads": {"~*", "+@all", "-zadd", "-zremrangebyrank"},
			"writes entries": {"~s", "%R~*", "+@all"}, "writes ends": {"%RW~redisson__ts_*", "%R~*", "+@all"},
		} {
			redistest.Do(t, raw, append([]string{"ACL", "SETUSER", "u", "reset", "on", ">password", "&*"}, may...)...)
			e := enginetest.On(t, server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "u", "password" }))
			redistest.Do(t, raw, append([]string{"DEL"}, keys.Series("s")...)...)
			old(t, raw, "s")
			k := kitOn(e, "s")
			refused := 0
			for what, one := range effects {
				if one.foreign == moves {
					continue
				}
				if _, err := one.do(t.Context(), k); err == nil {
					require.Equal(t, one.left, state(t, raw, "s"), "%s: %s", user, what)
					redistest.Do(t, raw, append([]string{"DEL"}, keys.Series("s")...)...)
					old(t, raw, "s")
					continue
				}
				refused++
				require.Equal(t, first, state(t, raw, "s"), "%s: %s", user, what)
			}
			require.NotZero(t, refused, user)
		}
	})
}
