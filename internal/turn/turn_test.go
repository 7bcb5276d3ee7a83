package turn

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// number is a value in the process.
type number struct {
	claim  string // its key
	before func(c *Claim) (others bool, err error)

	mu      sync.Mutex
	n       int
	changes int
}

func (s *number) Read(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, nil
}

func (s *number) Change(_ context.Context, old, to int, c *Claim) (there int, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	if s.before != nil {
		if others, err := s.before(c); err != nil || others {
			return 0, c.May(0), err
		}
	}
	if c.Looks() || s.n != old {
		return s.n, false, nil
	}
	s.n = to
	return 0, c.May(1), nil
}

func (s *number) Claim() string { return s.claim }

func turnsOn(t *testing.T) (*Turns[string, int], rueidis.Client) {
	t.Helper()
	raw := redistest.MiniredisClient(t)
	return New(Config[string, int]{Engine: enginetest.On(t, raw), Unheard: func(string, error) { t.Error("a panic was not heard") }}), raw
}

func (s *number) add(ctx context.Context, ts *Turns[string, int], calls *int) error {
	return ts.Do(ctx, "n", &Change[int]{Context: ctx, At: s, Apply: func(old int) (int, bool, error) {
		if calls != nil {
			*calls++
		}
		return old + 1, true, nil
	}})
}

// TestNoChangeIsLost of several processes, each with several goroutines.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	s := &number{}
	var all sync.WaitGroup
	for range 3 {
		ts, _ := turnsOn(t)
		for range 8 {
			all.Go(func() {
				for range 50 {
					assert.NoError(t, s.add(t.Context(), ts, nil))
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, 3*8*50, s.n)
}

// TestATurnThatLosesClaims the value after a few tries, and goes first then.
func TestATurnThatLosesClaims(t *testing.T) {
	t.Parallel()
	ts, _ := turnsOn(t)
	s := &number{}
	claims := 0
	s.before = func(c *Claim) (bool, error) {
		if c.Millis() != "0" {
			if claims++; claims == 2 { // the first one leaves the claim, and others stand back since
				return false, nil
			}
		}
		s.n++ // another client is faster
		return false, nil
	}
	calls := 0
	require.NoError(t, s.add(t.Context(), ts, &calls))
	require.Equal(t, 2, claims)
	require.Equal(t, calls, s.n, "each but the last found another number")
}

// TestATurnStandsBack while another one goes first, and its functions are not called again.
func TestATurnStandsBack(t *testing.T) {
	t.Parallel()
	ts, _ := turnsOn(t)
	left := 5
	s := &number{before: func(c *Claim) (bool, error) {
		if c == nil {
			return false, nil
		}
		left--
		return left > 0, nil
	}}
	calls := 0
	require.NoError(t, s.add(t.Context(), ts, &calls))
	require.Equal(t, 1, calls)
	require.Equal(t, 5, s.changes)
}

// TestAClaimIsDropped by a turn that writes nothing in the end.
func TestAClaimIsDropped(t *testing.T) {
	t.Parallel()
	ts, raw := turnsOn(t)
	s := &number{claim: "claim"}
	redistest.Do(t, raw, "SET", "claim", "mine")
	ts.Contest("n").Sticks.Store(int64(ts.cfg.Engine.Mono() + time.Hour)) // turns have lost for long before
	refusal := errors.New("it is enough")
	err := ts.Do(t.Context(), "n", &Change[int]{Context: t.Context(), At: s, Apply: func(int) (int, bool, error) { return 0, false, refusal }})
	require.ErrorIs(t, err, refusal)
	require.Equal(t, 1, s.changes, "it looked, and claimed")
	redistest.Eventually(t, func() bool {
		msg := redistest.Do(t, raw, "EXISTS", "claim")
		n, err := msg.AsInt64()
		return err == nil && n == 0
	}, redistest.Soon, time.Millisecond)
}

// TestAnErrorOfTheWrite is that of all that rest on it, and of no others.
func TestAnErrorOfTheWrite(t *testing.T) {
	t.Parallel()
	ts, _ := turnsOn(t)
	lost, own := errors.New("lost"), errors.New("own")
	s := &number{before: func(*Claim) (bool, error) { return false, lost }}
	of := func(f func(old int) (int, bool, error)) *Change[int] {
		return &Change[int]{Context: t.Context(), At: s, Apply: f}
	}
	early := of(func(int) (int, bool, error) { return 0, false, own })
	writer := of(func(old int) (int, bool, error) { return old + 1, true, nil })
	late := of(func(old int) (int, bool, error) { return old, false, own })
	reader := of(func(old int) (int, bool, error) { return old, false, nil })
	ts.Take(t.Context(), "n", early, writer, late, reader)
	require.ErrorIs(t, early.Outcome(), own)
	for _, c := range []*Change[int]{writer, late, reader} {
		require.ErrorIs(t, c.Outcome(), lost)
		require.NotErrorIs(t, c.Outcome(), own)
	}
}

// TestAReasonToWriteNothing ends a turn before the write.
func TestAReasonToWriteNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.MiniredisClient(t)
	why := errors.New("the lock is lost")
	ts := New(Config[string, int]{Engine: enginetest.On(t, raw), Within: func(ctx context.Context, key string, turn *Turn[int]) error {
		wrote, err := turn.Run(ctx, func() error { return why })
		assert.False(t, wrote)
		assert.Equal(t, "n", key)
		return err
	}})
	s := &number{}
	require.ErrorIs(t, s.add(t.Context(), ts, nil), why)
	require.Zero(t, s.changes)
}
