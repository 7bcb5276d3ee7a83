package set

import (
	"context"
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
func TestALostReply(t *testing.T) { eachFaulty(t, enginetest.Object.LosesReplies) }

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) { eachFaulty(t, enginetest.Object.ReadsAgain) }

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) { eachFaulty(t, enginetest.Object.Refuses) }

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) {
	eachFaulty(t, enginetest.Object.Closed)
	e := enginetest.On(t, redistest.MiniredisClient(t))
	require.NoError(t, locking.Close(context.Background(), e))
	for _, err := range NewCache[string](e, "b").Expired(t.Context()) {
		require.ErrorIs(t, err, ErrClosed)
	}
}

// eachFaulty tries the operations of a set, and of one with times to live, under faults.
func eachFaulty(t *testing.T, try func(enginetest.Object, *testing.T)) {
	t.Parallel()
	for kind, of := range kinds {
		o := enginetest.Object{
			Old: of.old, State: of.state, Before: of.first, Writes: map[string]enginetest.Write{}, Reads: map[string]enginetest.Read{},
			Needs: map[string][]string{"set": {"add", "add all", "unite"}, "cache": {"add", "add if absent"}}[kind],
			Read:  map[string]string{"set": "expire", "cache": "add if absent what is there"}[kind],
		}
		for what, one := range of.effects {
			o.Writes[what] = enginetest.Write{Do: on(one.do), Sends: one.sends, Left: strings.TrimPrefix(one.left, "one")}
		}
		for what, one := range of.looks {
			o.Reads[what] = enginetest.Read{Do: on(one.do), Sends: one.sends, Answer: one.answer}
		}
		t.Run(kind, func(t *testing.T) { try(o, t) })
	}
}

// on runs an operation on the sets of a name.
func on(do func(ctx context.Context, k kit) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) (any, error) { return do(ctx, kitOn(e, name)) }
}

// TestAKeyOfAnotherType keeps what it has, and how long.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		refused := func(what, name string, err error) {
			t.Helper()
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, "is no s", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			msg := redistest.Do(t, raw, "LRANGE", name, "0", "-1")
			all, err := msg.AsStrSlice()
			require.NoError(t, err, what)
			require.Equal(t, []string{"a", "b"}, all, what)
			left := redistest.Left(t, raw, name)
			require.True(t, left > hour/2 && left <= hour, what)
		}
		for kind, of := range kinds {
			k := kitOn(e, fresh(t, raw))
			redistest.Do(t, raw, "RPUSH", k.name, "a", "b")
			redistest.Do(t, raw, "PEXPIRE", k.name, decimal(hour.Milliseconds()))
			for what, one := range of.effects {
				if one.foreign == refuses {
					_, err := one.do(t.Context(), k)
					refused(kind+" "+what, k.name, err)
				}
			}
			for what, one := range of.looks {
				if what != "exists" && what != "remaining" && what != "remaining all" {
					_, err := one.do(t.Context(), k)
					refused(kind+" "+what, k.name, err)
				}
			}
		}
		k := kitOn(e, fresh(t, raw))
		oldSet(t, raw, k.name)
		redistest.Do(t, raw, "RPUSH", k.to, "a")
		for what, err := range map[string]error{
			"union": last(all(k.s.Union(t.Context(), k.to))),
			"inter": last(all(k.s.Inter(t.Context(), k.to))),
			"move":  last(k.s.Move(t.Context(), k.to, "a")),
			"into":  last(k.s.UnionInto(t.Context(), "x:{"+k.name+"}", k.to)),
		} {
			require.ErrorContains(t, err, "one of the keys is no set", what)
		}
		require.Equal(t, "a b", stateOfSet(t, raw, k.name))
		n, err := k.s.UnionInto(t.Context(), k.to)
		require.NoError(t, err, "it writes over any key")
		require.EqualValues(t, 2, n)
		require.Equal(t, "a b", stateOfSet(t, raw, k.to))
	})
}

// TestAnOutageIsReportedToAll: also to the callers that share an exchange.
func TestAnOutageIsReportedToAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	k := kitOn(enginetest.On(t, client, enginetest.ShortSends), "s")
	oldSet(t, client, k.name)
	proxy.Refuse()
	proxy.CutAll()
	const each = 20
	errs := make(chan error, 3*each)
	for range each {
		go func() { errs <- last(k.s.Has(t.Context(), "a")) }() // ends with the outage's error
		go func() { errs <- last(k.c.Has(t.Context(), "a")) }() // as above
		go func() { errs <- last(k.c.Add(t.Context(), "a")) }() // as above
	}
	for range 3 * each {
		require.Error(t, redistest.Done(t, errs))
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { has, err := k.s.Has(t.Context(), "a"); return err == nil && has }, redistest.Soon, time.Millisecond)
}

// TestAUserWithoutTransactions has the commands of an Add run one by one, and is told that the outcome is unknown.
func TestAUserWithoutTransactions(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	redistest.Do(t, raw, "ACL", "SETUSER", "orders", "on", ">password", "~*", "&*", "+@all", "-multi")
	c := NewCache[string](enginetest.On(t, server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })), "c")
	_, err := c.Add(t.Context(), "a")
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "grant multi and exec by the ACL")
	require.Equal(t, "a:forever", stateOfCache(t, raw, "c"))
	require.Error(t, c.Check(t.Context()))
}
