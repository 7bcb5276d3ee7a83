package latch

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// suite is what every server must do.
var suite = map[string]func(t *testing.T, r *rig){
	"arms, counts down, opens": func(t *testing.T, r *rig) {
		r.arm(3)
		did, err := r.TrySetCount(t.Context(), 5)
		require.NoError(t, err)
		require.False(t, did)
		r.down(2)
		n, err := r.Count(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		r.down(1)
		require.Equal(t, "1", r.stored())
		r.down(0)
		require.False(t, r.exists(r.of.key))
		r.down(0)
		require.False(t, r.exists(r.of.key))
		n, err = r.Count(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		r.arm(1)
	},
	"open is who was never armed": func(t *testing.T, r *rig) {
		require.NoError(t, r.Await(t.Context()))
		r.Ask("SET", r.of.key, "0")
		require.NoError(t, r.Await(t.Context()), "what Redisson's trySetCount(0) leaves")
		did, err := r.TrySetCount(t.Context(), 2)
		require.NoError(t, err)
		require.False(t, did, "as there")
		r.down(0)
		require.False(t, r.exists(r.of.key))
		r.arm(2)
	},
	"waiting": func(t *testing.T, r *rig) {
		other := r.beside()
		r.arm(2)
		a, b := r.awaiting(t.Context()), other.awaiting(t.Context())
		r.waiting(1)
		other.waiting(1)
		r.down(1)
		redistest.Waits(t, a)
		redistest.Waits(t, b)
		other.down(0)
		got(t, a)
		got(t, b)
		r.arm(1)
		ctx, cancel := context.WithCancel(t.Context())
		done := r.awaiting(ctx)
		r.waiting(1)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		r.waiting(0)
	},
	"parties count once": func(t *testing.T, r *rig) {
		other := r.beside()
		r.arm(4)
		r.once("a", 3)
		other.once("a", 3)
		r.once("b", 2)
		r.down(1)
		r.once("b", 1)
		other.once("c", 0)
		require.False(t, r.exists(r.of.parties))
		r.once("d", 0)
		require.False(t, r.exists(r.of.parties))
		r.arm(2)
		r.once("a", 1)
		_, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, r.exists(r.of.parties))
		r.arm(2)
		r.once("a", 1)
		r.Ask("SET", r.of.key, "9") // armed by another, with more than can be left
		r.once("a", 8)
		r.once("a", 8)
		r.Ask("DEL", r.of.key) // opened by another
		r.down(0)
		require.False(t, r.exists(r.of.parties))
		r.arm(2)
		r.once("a", 1)
		r.Ask("DEL", r.of.key)
		r.arm(2)
		r.once("a", 1)
		r.once("\x00 {}\xff", 0)
	},
	"what Java leaves of the parties goes": func(t *testing.T, r *rig) {
		for name, do := range map[string]func(){
			"count":      func() { _, err := r.Count(t.Context()); require.NoError(t, err) },
			"await":      func() { require.NoError(t, r.Await(t.Context())) },
			"count down": func() { r.down(0) },
			"once":       func() { r.once("b", 0) },
		} {
			r.arm(2)
			r.once("a", 1)
			r.Ask("DEL", r.of.key) // as Java opens it
			require.True(t, r.exists(r.of.parties))
			do()
			require.False(t, r.exists(r.of.parties), name)
		}
		r.arm(2)
		r.once("a", 1)
		require.NotZero(t, func() int64 { n, _ := r.Count(t.Context()); return n }())
		r.once("a", 1)
	},
	"what is no time of an opening keeps nobody waiting": func(t *testing.T, r *rig) {
		for _, junk := range [][]string{{"HSET", r.of.opened, "f", "v"}, {"SET", r.of.opened, "no time"}} {
			r.Ask("DEL", r.of.opened)
			r.Ask(junk...)
			r.arm(1)
			done := r.awaiting(t.Context())
			r.waiting(1)
			r.down(0)
			got(t, done)
			r.arm(1)
			did, err := r.Delete(t.Context())
			require.NoError(t, err)
			require.True(t, did)
		}
	},
	"delete lets pass": func(t *testing.T, r *rig) {
		did, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, did)
		r.arm(2)
		done := r.awaiting(t.Context())
		r.waiting(1)
		did, err = r.beside().Delete(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		got(t, done)
		require.False(t, r.exists(r.of.key))
	},
	"armed again at once": func(t *testing.T, r *rig) {
		r.arm(1)
		done := r.awaiting(t.Context())
		r.waiting(1)
		other := r.beside()
		other.down(0)
		other.arm(1)
		got(t, done)
		done = r.awaiting(t.Context())
		r.waiting(1)
		redistest.Waits(t, done) // of the next round
		other.down(0)
		got(t, done)
	},
	"another type": func(t *testing.T, r *rig) {
		const noInteger = "string that is no integer"
		for _, c := range []struct{ say, what, kind string }{
			{"HSET", "", "hash"},
			{"SET", "1.5", noInteger},
			{"SET", "", noInteger},
			{"SET", "007", noInteger},
			{"SET", "-0", noInteger},
			{"SET", "0x10", noInteger},
			{"SET", "99999999999999999999", noInteger},
		} {
			if c.say == "HSET" {
				r.Ask("HSET", r.of.key, "f", "v")
			} else {
				r.Ask("SET", r.of.key, c.what)
			}
			for op, do := range operations {
				err := do(t.Context(), r.Latch)
				require.ErrorContains(t, err, r.of.key, op)
				require.ErrorContains(t, err, c.kind, op)
				require.NotErrorIs(t, err, ErrOutcomeUnknown, op)
			}
			msg := r.Ask("DEL", r.of.key)
			n, err := msg.AsInt64()
			require.NoError(t, err)
			require.EqualValues(t, 1, n, "it is there still")
		}
	},
}

func TestSuite(t *testing.T) {
	t.Parallel()
	redistest.OnEveryServer(t, func(t *testing.T, client func(t testing.TB) rueidis.Client) {
		for name, test := range suite {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, rigOn(t, client(t), redistest.Name(t)))
			})
		}
	})
}

func TestNothingOfANameStaysBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 1000 {
		l := New(r.E, redistest.Name(t))
		_, err := l.TrySetCount(t.Context(), 1)
		require.NoError(t, err)
		if i%2 == 0 {
			_, err = l.CountDownOnce(t.Context(), "p")
		} else {
			_, err = l.Delete(t.Context())
		}
		require.NoError(t, err)
		require.NoError(t, l.Await(t.Context()))
		for _, key := range []string{l.of.key, l.of.parties} {
			require.False(t, r.exists(key), key)
		}
		for _, key := range []string{l.of.opened, l.of.lane + ":0"} {
			msg := r.Ask("PTTL", key)
			ttl, err := msg.AsInt64()
			require.NoError(t, err)
			require.Greater(t, ttl, int64(0), key)
		}
	}
	require.Zero(t, r.h.places.Len())
}

func TestWaitsEndWithTheClient(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).arm(2)
	var all []<-chan error
	for range 10 {
		all = append(all, r.awaiting(t.Context()))
	}
	r.waiting(10)
	require.NoError(t, locking.Close(t.Context(), r.E))
	for _, done := range all {
		require.ErrorIs(t, <-done, ErrClosed)
	}
	for name, op := range operations {
		require.ErrorIs(t, op(t.Context(), r.Latch), ErrClosed, name)
	}
	require.Equal(t, "2", r.stored())
}

// TestHeadsThatLeave: the first of those who wait looks for all, until it leaves.
func TestHeadsThatLeave(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).arm(1)
	var leave []context.CancelFunc
	var all []<-chan error
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		leave, all = append(leave, cancel), append(all, r.awaiting(ctx))
	}
	r.waiting(20)
	before := server.ScriptCalls(t)
	for i := range 15 {
		leave[i]()
		require.ErrorIs(t, <-all[i], context.Canceled)
	}
	r.waiting(5)
	require.LessOrEqual(t, server.ScriptCalls(t)-before, int64(2), "a new head need not look")
	r.beside().down(0)
	for _, done := range all[15:] {
		got(t, done)
	}
	for _, cancel := range leave {
		cancel()
	}
}

func TestOneLookForAllWhoWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).arm(1)
	other := r.beside()
	before := server.ScriptCalls(t)
	var all []<-chan error
	for range 1000 {
		all = append(all, r.awaiting(t.Context()))
	}
	r.waiting(1000)
	require.Less(t, server.ScriptCalls(t)-before, int64(500), "those who come together look together")
	time.Sleep(10 * time.Millisecond) // nothing is under way
	before = server.ScriptCalls(t)
	other.down(0)
	for _, done := range all {
		got(t, done)
	}
	require.LessOrEqual(t, server.ScriptCalls(t)-before, int64(2+1), "a count down and a look")
}
