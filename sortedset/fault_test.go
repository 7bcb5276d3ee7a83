package sortedset

import (
	"context"
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

// faulty is a set whose operations are tried under faults.
func faulty() enginetest.Object {
	o := enginetest.Object{
		Old: old, State: state, Before: before, Needs: []string{"add", "add much to a score"}, Read: "add",
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

// on runs an operation on the sets of a name.
func on(do func(ctx context.Context, k kit) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) (any, error) { return do(ctx, kitOn(e, name)) }
}

// TestAKeyOfAnotherType keeps what it has, and how long.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		name := fresh(t, raw)
		redistest.Do(t, raw, "RPUSH", name, "a", "b")
		redistest.Do(t, raw, "PEXPIRE", name, decimal(hour.Milliseconds()))
		refused := func(what string, do func(ctx context.Context, k kit) (any, error)) {
			_, err := do(t.Context(), kitOn(e, name))
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, "no sorted set", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			msg := redistest.Do(t, raw, "LRANGE", name, "0", "-1")
			all, err := msg.AsStrSlice()
			require.NoError(t, err, what)
			require.Equal(t, []string{"a", "b"}, all, what)
			require.Equal(t, "hour", ends(t, raw, name), what)
		}
		for what, one := range effects {
			if !one.any && !(one.lacks && miniredis(t)) {
				refused(what, one.do)
			}
		}
		for what, one := range reads {
			if !one.any {
				refused(what, one.do)
			}
		}
	})
}

// TestAnOutageIsReportedToAll: also to the callers that share an exchange.
func TestAnOutageIsReportedToAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	s := kitOn(enginetest.On(t, client, enginetest.ShortSends), "s").s
	_, err := s.Add(t.Context(), 1, "a")
	require.NoError(t, err)
	proxy.Refuse()
	proxy.CutAll()
	const each = 20
	errs := make(chan error, 3*each)
	for range each {
		go func() { _, _, err := s.Score(t.Context(), "a"); errs <- err }() // ends with the outage's error
		go func() { _, err := s.Add(t.Context(), 1, "a"); errs <- err }()   // as above
		go func() { _, err := collect(s.All(t.Context())); errs <- err }()  // as above
	}
	for range 3 * each {
		require.Error(t, redistest.Done(t, errs))
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, there, err := s.Score(t.Context(), "a"); return err == nil && there }, redistest.Soon, time.Millisecond)
}
