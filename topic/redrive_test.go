package topic

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableRedriveEnds, though what it redrives is put aside again meanwhile.
func TestDurableRedriveEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		d := r.Durable("billing")
		bury := func(n int) {
			for range n {
				redistest.Do(t, raw, "XADD", keys.StreamDead(r.of.key, "billing"), "*", "g", "1-1", "n", "1", "c", "", "=m", "a")
			}
		}
		bury(mostRedriven + 3)
		first, err := d.redriveSome(t.Context(), "+")
		require.NoError(t, err)
		require.EqualValues(t, mostRedriven, first.N)
		require.NotEmpty(t, first.Next)
		bury(mostRedriven)
		second, err := d.redriveSome(t.Context(), first.Till)
		require.NoError(t, err)
		require.EqualValues(t, 3, second.N)
		require.Empty(t, second.Next)
		require.Len(t, dead(t, d), mostRedriven)
		n, err := d.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, mostRedriven, n)
		n, err = d.Redrive(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestDurableRedriveCountsOnce, though the reply is lost, and PurgeDead likewise.
func TestDurableRedriveCountsOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	r := settling(t, raw, redistest.Name(t))
	d := NewReliable[string](engineOn(t, client), r.Name(), WithMaxLength(1000)).Durable("billing")
	of := keys.StreamDead(r.of.key, "billing")
	for what, do := range map[string]func(context.Context) (int64, error){"redrive": d.Redrive, "purge": d.PurgeDead} {
		for range 3 {
			redistest.Do(t, raw, "XADD", of, "*", "g", "1-1", "n", "1", "c", "", "=m", "a")
		}
		lost := proxy.DropReply(redistest.All(redistest.AnyScript(), redistest.Arg(of)), 1)
		n, err := do(t.Context())
		lost.Await(t)
		require.NoError(t, err, what)
		require.EqualValues(t, 3, n, what)
		require.Empty(t, dead(t, d), what)
	}
}

// TestReliableTopicDeleteLeavesNothing of what a name has put aside or redriven, also of another process.
func TestReliableTopicDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		d := r.Durable("billing")
		s, err := d.Listen(t.Context())
		require.NoError(t, err)
		r.publishes(1, "a")
		s.Close()
		dead, again := keys.StreamDead(r.of.key, "billing"), r.of.again("billing")
		for range mostRedriven + 1 {
			redistest.Do(t, raw, "XADD", dead, "*", "g", "1-1", "n", "1", "c", "", "=m", "a")
		}
		first, err := d.redriveSome(t.Context(), "+")
		require.NoError(t, err)
		require.EqualValues(t, mostRedriven, first.N)
		there, err := reliableBy(t, raw, engineOn(t, raw), r.Name()).Delete(t.Context())
		require.NoError(t, err)
		require.True(t, there)
		n := redistest.Do(t, raw, "EXISTS", r.of.key, r.of.timeout, r.of.missed, r.of.holders, dead, again)
		left, err := n.AsInt64()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}
