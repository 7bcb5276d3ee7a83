package bucket

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestALostReply drops the reply to each write once.
func TestALostReply(t *testing.T) { faulty().LosesReplies(t) }

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) { faulty().ReadsAgain(t) }

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) { faulty().Refuses(t) }

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) { faulty().Closed(t) }

// faulty is a bucket whose operations are tried under faults.
func faulty() enginetest.Object {
	o := enginetest.Object{
		Old: old, State: state, Before: "old hour", Needs: []string{"set", "update"}, Read: "update",
		Writes: map[string]enginetest.Write{}, Reads: map[string]enginetest.Read{},
	}
	for what, one := range effects {
		o.Writes[what] = enginetest.Write{Do: on(one.do), Sends: one.sends, Left: one.left}
	}
	for what, one := range reads {
		o.Reads[what] = enginetest.Read{Do: on(one.do), Sends: one.sends, Answer: one.answer}
	}
	return o
}

// on runs an operation on the buckets of a name.
func on(do func(ctx context.Context, k kit) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) (any, error) { return do(ctx, kitOn(e, name)) }
}

// TestAKeyOfAnotherType keeps what it has, and how long, unless an operation writes over any key.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		list := func(t testing.TB, name string) {
			t.Helper()
			redistest.Do(t, raw, "RPUSH", name, "a", "b")
			redistest.Do(t, raw, "PEXPIRE", name, decimal(hour.Milliseconds()))
		}
		isList := func(t testing.TB, name, what string) {
			t.Helper()
			msg := redistest.Do(t, raw, "LRANGE", name, "0", "-1")
			all, err := msg.AsStrSlice()
			require.NoError(t, err, what)
			require.Equal(t, []string{"a", "b"}, all, what)
			require.Equal(t, "hour", ends(t, raw, name), what)
		}
		for _, what := range slices.Sorted(maps.Keys(effects)) {
			one, k := effects[what], kitOn(e, fresh(t, raw))
			list(t, k.name)
			_, err := one.do(t.Context(), k)
			switch one.foreign {
			case refuses:
				require.ErrorContains(t, err, "WRONGTYPE", what)
				require.ErrorContains(t, err, "is no string", what)
				require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
				if !strings.HasPrefix(what, "get and ") || !strings.Contains(t.Name(), "miniredis") { // whose GETEX changes the time nevertheless
					isList(t, k.name, what)
				}
			case leaves:
				require.NoError(t, err, what)
				isList(t, k.name, what)
			case overwrites:
				require.NoError(t, err, what)
				require.Equal(t, one.left, state(t, raw, k.name), what)
			case moves:
				require.NoError(t, err, what)
			}
		}
		k := kitOn(e, fresh(t, raw))
		list(t, k.name)
		_, _, err := k.b.Get(t.Context())
		require.ErrorContains(t, err, "WRONGTYPE")
		_, err = k.b.Size(t.Context())
		require.ErrorContains(t, err, "WRONGTYPE")
		_, err = k.bytes.ReadAt(t.Context(), make([]byte, 1), 0)
		require.ErrorContains(t, err, "WRONGTYPE")
		other := fresh(t, raw)
		old(t, raw, other)
		all, err := k.many.Get(t.Context(), k.name, other)
		require.NoError(t, err)
		require.Equal(t, map[string]string{other: "old"}, all, "as Redisson, it leaves that out")
		did, err := k.many.SetAllIfAbsent(t.Context(), map[string]string{k.name: "new", fresh(t, raw): "new"})
		require.NoError(t, err)
		require.False(t, did)
		isList(t, k.name, "")
	})
}

// TestAnOutageIsReportedToAll: also to the callers that share an exchange.
func TestAnOutageIsReportedToAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	e := enginetest.On(t, client, enginetest.ShortSends)
	b := New[string](e, "b")
	require.NoError(t, b.Set(t.Context(), "v"))
	proxy.Refuse()
	proxy.CutAll()
	const each = 20
	errs := make(chan error, 3*each)
	for range each {
		go func() { _, _, err := b.Get(t.Context()); errs <- err }()            // ends with the outage's error
		go func() { _, _, err := b.Update(t.Context(), longer); errs <- err }() // as above
		go func() { errs <- b.Set(t.Context(), "w") }()                         // as above
	}
	for range 3 * each {
		require.Error(t, redistest.Done(t, errs))
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, there, err := b.Get(t.Context()); return err == nil && there }, redistest.Soon, time.Millisecond)
}
