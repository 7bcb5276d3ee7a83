package reliable

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../../docs/redis.md", "+spublish +ssubscribe")
	r := &rig{t: t, raw: user.Admin, e: engineOn(t, user.Client(t))}
	r.Queue = New[string](r.e, "orders:1", WithLease(redistest.Scaled(6*time.Second)), WithMaxAttempts(2))
	r.everything()
	user.NothingDenied(t)
}

// everything is each path of the scripts.
func (r *rig) everything() {
	t := r.t
	t.Helper()
	got := make(chan *Message[string])
	go func() {
		m, _ := r.Receive(t.Context())
		got <- m
	}()
	time.Sleep(20 * time.Millisecond)
	r.adds("a", WithGroup("g"), WithUnique("u"), WithDedup("d", time.Minute), WithPriority(3), WithExpiry(time.Hour))
	m := redistest.Done(t, got)
	r.adds("b", WithGroup("g"), WithDelay(10*time.Millisecond))
	r.adds("c", WithGroup("g"))
	_, err := r.Add(t.Context(), "d", WithUnique("u"), WithDedup("e", time.Minute))
	require.ErrorIs(t, err, ErrDuplicate)
	time.Sleep(redistest.Scaled(2500 * time.Millisecond)) // the watchdog renews
	require.NoError(t, m.Extend(t.Context(), time.Second))
	require.NoError(t, m.Nack(t.Context(), errors.New("broken"), WithDelay(10*time.Millisecond)))
	m = r.gets("a")
	require.NoError(t, m.Nack(t.Context(), errors.New("broken"))) // buried
	for range 2 {
		ctx, cancel := timeout(t)
		m, err := r.Receive(ctx)
		cancel()
		require.NoError(t, err)
		require.NoError(t, m.Ack(t.Context()))
	}
	r.adds("late", WithExpiry(time.Millisecond))
	time.Sleep(5 * time.Millisecond)
	r.isEmpty()
	r.do("ZADD", r.part("lease"), "1", "7") // a lease that ran out
	r.isEmpty()
	for _, op := range []string{"stats", "find", "remove", "cancel", "pause", "resume", "result", "await", "messages", "purge",
		"terms", "set terms", "redrive all", "reschedule", "run now", "set priority", "ack", "nack", "release"} {
		require.NoError(t, operations[op](t.Context(), r.Queue), op)
	}
	later := r.adds("later")
	require.NoError(t, r.SetPriority(t.Context(), later, 2))
	require.NoError(t, r.SetPriority(t.Context(), later, 0))
	require.NoError(t, r.Reschedule(t.Context(), later, WithDelay(time.Hour)))
	require.NoError(t, r.RunNow(t.Context(), later))
	m = r.gets("later")
	require.NoError(t, r.Ack(t.Context(), m.Token()))
	require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
	id := r.adds("answer")
	require.NoError(t, r.gets("answer").AckWith(t.Context(), []byte("yes"), time.Minute))
	_, err = r.Await(t.Context(), id)
	require.NoError(t, err)
	r.buries("dead")
	n, err := r.RedriveAll(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	r.acks("dead")
	n, err = r.Redrive(t.Context(), r.with(WithDeadLimit(1, time.Hour)).buries("dead"))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	for _, state := range []State{Ready, Delayed, Running, Behind, Dead} {
		for _, err := range r.Messages(t.Context(), state) {
			require.NoError(t, err)
		}
	}
	m = r.gets("dead")
	require.NoError(t, m.SetProgress(t.Context(), 1))
	r.buries("letter", WithUnique("l"))
	letter := r.dead().gets("letter")
	require.NoError(t, letter.Release(t.Context()))
	require.NoError(t, r.dead().gets("letter").Nack(t.Context(), nil, WithDelay(0)))
	require.NoError(t, r.with(WithKeepDone(time.Minute)).SetTerms(t.Context()))
	r.acks("letter")
	r.holds(letter.ID, Done)
	require.NoError(t, r.Check(t.Context()), "the types of all parts that are there")
	for i, key := range r.of.parts {
		m := r.do("TYPE", key)
		is, err := m.ToString()
		require.NoError(t, err)
		require.Contains(t, []string{"none", types[i]}, is, key)
	}
	require.NoError(t, r.Cancel(t.Context(), m.ID))
	require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
	_, err = r.Delete(t.Context())
	require.NoError(t, err)
}
