package timeseries

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestALostReply drops the reply to each write once. It was sent once, and says so.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for what, one := range effects {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			k := kitOn(enginetest.On(t, client), fresh(t, raw))
			old(t, raw, k.name)
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(k.name)), 1)
			_, err := one.do(t.Context(), k)
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, k.name)
			require.Equal(t, one.left, state(t, raw, k.name), "it was done, once")
		})
	}
}

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for what, one := range looks {
		if what == "range beyond" || what == "range of nothing" {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			k := kitOn(enginetest.On(t, client), fresh(t, raw))
			old(t, raw, k.name)
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(k.name)), 1)
			answer, err := one.do(t.Context(), k)
			lost.Await(t)
			require.NoError(t, err)
			require.Equal(t, one.answer, answer)
			require.Equal(t, first, state(t, raw, k.name), "it writes nothing")
		})
	}
}

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) { faulty().Refuses(t) }

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) { faulty().Closed(t) }

// faulty returns a series whose operations are tried under faults.
func faulty() enginetest.Object {
	o := enginetest.Object{
		Old: old, State: state, Before: first, Needs: []string{"add", "add what ends", "add many"}, Read: "persist",
		Writes: map[string]enginetest.Write{}, Reads: map[string]enginetest.Read{},
	}
	on := func(do func(ctx context.Context, k kit) (any, error)) enginetest.Do {
		return func(ctx context.Context, e *locking.Engine, name string) (any, error) { return do(ctx, kitOn(e, name)) }
	}
	for what, one := range effects {
		o.Writes[what] = enginetest.Write{Do: on(one.do), Sends: one.sends, Left: one.left}
	}
	for what, one := range looks {
		o.Reads[what] = enginetest.Read{Do: on(one.do), Sends: one.sends, Answer: one.answer}
	}
	return o
}

// TestAKeyOfAnotherType keeps what it has, and how long, also if it is the second key.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		for i, which := range []string{"the entries", "their ends"} {
			k := kitOn(e, fresh(t, raw))
			key := keys.Series(k.name)[i]
			if i == 1 {
				redistest.Do(t, raw, "ZADD", k.name, "2000", packed{value: "a"}.text(idOf("2")))
			}
			redistest.Do(t, raw, "RPUSH", key, "a", "b")
			redistest.Do(t, raw, "PEXPIRE", key, decimal(hour.Milliseconds()))
			refused := func(what string, err error) {
				t.Helper()
				require.ErrorContains(t, err, "WRONGTYPE", what)
				require.ErrorContains(t, err, "is of another type", what)
				require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
				msg := redistest.Do(t, raw, "LRANGE", key, "0", "-1")
				all, err := msg.AsStrSlice()
				require.NoError(t, err, what)
				require.Equal(t, []string{"a", "b"}, all, what)
				left := redistest.Left(t, raw, key)
				require.True(t, left > hour/2 && left <= hour, what)
				if i == 1 {
					msg = redistest.Do(t, raw, "ZCARD", k.name)
					n, err := msg.AsInt64()
					require.NoError(t, err, what)
					require.EqualValues(t, 1, n, what)
				}
			}
			for what, one := range effects {
				if one.foreign == refuses {
					_, err := one.do(t.Context(), k)
					refused(which+" "+what, err)
				}
			}
			for what, one := range looks {
				if what != "exists" && what != "remaining" {
					_, err := one.do(t.Context(), k)
					refused(which+" "+what, err)
				}
			}
			require.ErrorContains(t, swept{hubOf(e), k.name}.Visit().Err, "WRONGTYPE", which)
		}
	})
}

// TestAnOutageIsReportedToAll.
func TestAnOutageIsReportedToAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	k := kitOn(enginetest.On(t, client, enginetest.ShortSends), "s")
	old(t, client, k.name)
	proxy.Refuse()
	proxy.CutAll()
	const each = 10
	errs := make(chan error, 3*each)
	for range each {
		go func() { errs <- last2(k.s.Get(t.Context(), at(2000))) }() // ends with the outage's error
		go func() { errs <- last(k.s.PopFirst(t.Context(), 1)) }()    // as above
		go func() { errs <- k.s.Add(t.Context(), at(1), "a") }()      // as above
	}
	for range 3 * each {
		require.Error(t, redistest.Done(t, errs))
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, there, err := k.s.Get(t.Context(), at(3000)); return err == nil && there }, redistest.Soon, time.Millisecond)
}
