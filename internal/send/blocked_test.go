package send

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestALookWhetherAKeyCanBePoppedFromTakesNothing, where its answer goes to nobody.
func TestALookWhetherAKeyCanBePoppedFromTakesNothing(t *testing.T) {
	t.Parallel()
	servers := map[string]string{"miniredis": redistest.Miniredis(t).Addr()}
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		servers[version] = redistest.Shared(t, redistest.Version(version)).Addr()
	}
	for server, addr := range servers {
		e := at(t, addr)
		list, scored, other := redistest.Name(t), redistest.Name(t), redistest.Name(t)
		do := func(b rueidis.Completed) int64 {
			t.Helper()
			n, err := e.Redis.Do(t.Context(), b).AsInt64()
			require.NoError(t, err, server)
			return n
		}
		do(e.Redis.B().Rpush().Key(list).Element("a", "b").Build())
		do(e.Redis.B().Zadd().Key(scored).ScoreMember().ScoreMember(1, "a").ScoreMember(2, "b").Build())
		do(e.Redis.B().Sadd().Key(other).Member("a").Build())
		for of, key := range map[*poller.Kind]string{poller.Head: list, poller.Tail: list, poller.Lowest: scored, poller.Highest: scored} {
			pops := &pops{s: e.Sender}
			for _, key := range []string{key, redistest.Name(t)} {
				err := pops.Pop0(of, key)
				require.NoError(t, err, server)
			}
			err := pops.Pop0(of, other)
			require.ErrorContains(t, err, "WRONGTYPE", server)
		}
		require.EqualValues(t, 2, do(e.Redis.B().Llen().Key(list).Build()), server)
		require.EqualValues(t, 2, do(e.Redis.B().Zcard().Key(scored).Build()), server)
		do(e.Redis.B().Del().Key(list, scored, other).Build())
	}
}

// TestALookIsRefusedWhereAPopWouldBe: to who may read a key, and not take from it.
func TestALookIsRefusedWhereAPopWouldBe(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		server := redistest.Shared(t, redistest.Version(version))
		admin := server.Client(t)
		read, taken, user := redistest.Name(t), redistest.Name(t), redistest.Name(t)
		words := []string{"ACL", "SETUSER", user, "on", ">pw", "+@all", "%R~" + read, "~" + taken}
		require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(words...).Build()).Error())
		t.Cleanup(func() { admin.Do(context.Background(), admin.B().Arbitrary("ACL", "DELUSER", user).Build()) })
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{server.Addr()}, Username: user, Password: "pw", DisableCache: true, ForceSingleClient: true,
		})
		require.NoError(t, err)
		e := on(t, client, func(c *core.Config) { c.Owned = true })
		pops := &pops{s: e.Sender}
		for _, kind := range []*poller.Kind{poller.Head, poller.Tail, poller.Lowest, poller.Highest} {
			err := pops.Pop0(kind, read)
			require.ErrorContains(t, err, "NOPERM", "%s %s", version, kind.Pop)
			err = pops.Pop0(kind, taken)
			require.NoError(t, err, "%s %s", version, kind.Pop)
		}
	}
}
