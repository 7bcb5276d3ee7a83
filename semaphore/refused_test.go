package semaphore

import (
	"context"
	"maps"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// refusal is an order that is refused where so many permits stood, and would not be where so
// many stand.
type refusal struct {
	stood, stands string // "": no permits are set
	do            func(r *rig, held *PermitSemaphore) error
	err           error
}

var refusals = map[string]refusal{
	"try set": {"9", "", func(r *rig, _ *PermitSemaphore) error {
		did, err := r.TrySetPermits(context.Background(), 4)
		require.False(r.T, did)
		return err
	}, nil},
	"delete": {"", "5", func(r *rig, _ *PermitSemaphore) error {
		did, err := r.Delete(context.Background())
		require.False(r.T, did)
		return err
	}, nil},
	"drain": {"0", "5", func(r *rig, _ *PermitSemaphore) error {
		n, err := r.Drain(context.Background())
		require.Zero(r.T, n)
		return err
	}, nil},
	"add":                      {decimal(most), "5", func(r *rig, _ *PermitSemaphore) error { return r.AddPermits(context.Background(), 1) }, ErrInvalidArgument},
	"give":                     {decimal(most), "5", func(r *rig, _ *PermitSemaphore) error { return r.Release(context.Background(), 1) }, ErrInvalidArgument},
	"give where none are set":  {"", "5", func(r *rig, _ *PermitSemaphore) error { return r.Release(context.Background(), 1) }, ErrNotSet},
	"gives":                    {decimal(most), "5", func(r *rig, _ *PermitSemaphore) error { return r.twoGives() }, ErrInvalidArgument},
	"gives where none are set": {"", "5", func(r *rig, _ *PermitSemaphore) error { return r.twoGives() }, ErrNotSet},
	"try set permits with leases": {"9", "", func(r *rig, held *PermitSemaphore) error {
		did, err := held.TrySetPermits(context.Background(), 4)
		require.False(r.T, did)
		return err
	}, nil},
	"delete permits with leases": {"", "5", func(r *rig, held *PermitSemaphore) error {
		did, err := held.Delete(context.Background())
		require.False(r.T, did)
		return err
	}, nil},
	"add permits with leases": {decimal(most), "5", func(_ *rig, held *PermitSemaphore) error {
		return held.AddPermits(context.Background(), 1)
	}, ErrInvalidArgument},
}

// twoGives are one exchange, of unequal requests; it returns the error of the second.
func (r *rig) twoGives() error {
	b := batch{{Ask: ask{of: r.of, kind: give, n: 1}}, {Ask: ask{of: r.of, kind: give, n: 2}}}
	if err := r.h.send(r.of.key, 0, b); err != nil {
		return err
	}
	return b[1].Answer.err
}

// stand sets the key by hand.
func (r *rig) stand(text string) {
	r.T.Helper()
	if r.Ask("DEL", r.of.key); text != "" {
		r.Ask("SET", r.of.key, text)
	}
}

// stood is the key as it is.
func (r *rig) stood() string {
	r.T.Helper()
	msg := r.Ask("GET", r.of.key)
	text, _ := msg.ToString()
	return text
}

// TestSemaphoreLateCopyOfARefusedOrderChangesNothing: what it was refused for has changed
// when it arrives.
func TestSemaphoreLateCopyOfARefusedOrderChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, copies := recorded(t)
			r.stand(c.stood)
			require.ErrorIs(t, c.do(r, NewPermits(r.E, r.of.key)), c.err)
			r.stand(c.stands)
			copies()
			require.Equal(t, c.stands, r.stood())
		})
	}
}

// TestSemaphoreFurtherSendOfARefusedOrderChangesNothing: the reply to the first was lost, and
// what it was refused for has changed when the client sends again. The answer is the first's.
func TestSemaphoreFurtherSendOfARefusedOrderChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			through, proxy := redistest.ThroughProxy(t, server)
			recorder := learned(t, through)
			r := rigOn(t, recorder, redistest.Name(t))
			r.Raw = server.Client(t)
			r.stand(c.stood)
			lost := proxy.DropReply(redistest.All(redistest.Command("EVAL", "EVALSHA"), redistest.Arg(r.of.key)), 1)
			changed := false
			recorder.Around(nil, func(string) {
				if !changed && lost.Dropped() == 1 {
					changed = true
					r.stand(c.stands)
				}
			})
			require.ErrorIs(t, c.do(r, NewPermits(r.E, r.of.key)), c.err)
			require.True(t, changed)
			redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond)
			require.Equal(t, c.stands, r.stood())
		})
	}
}

// learned is raw with a recorder that knows the scripts, as the server may.
func learned(t *testing.T, raw rueidis.Client) *redistest.ScriptRecorder {
	t.Helper()
	recorder := redistest.RecordScripts(t, raw)
	for _, script := range append(slices.Collect(maps.Values(alone)), takeScript, giveScript, moveScript) {
		recorder.Learn(script.Body())
	}
	return recorder
}

// recorded is a semaphore, and the arrival of a copy of the only call that was made about
// it since.
func recorded(t *testing.T) (r *rig, copies func()) {
	t.Helper()
	raw := redistest.Shared(t).Client(t)
	recorder := learned(t, raw)
	e, err := locking.New(t.Context(), recorder, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { _ = locking.Close(context.Background(), e) })
	recorder.Take()
	return &rig{New(e, redistest.Name(t)), enginetest.Rig{T: t, Raw: raw, E: e}}, func() {
		t.Helper()
		calls := recorder.Take()
		c := calls[0] // the server may have asked for the text
		require.Equal(t, c, calls[len(calls)-1])
		body, err := scripts.Read(lua, path.Join("lua", c.Script))
		require.NoError(t, err)
		cmd := raw.B().Eval().Script(body).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(c.Args...).Build()
		if err := raw.Do(t.Context(), cmd).Error(); !rueidis.IsRedisNil(err) {
			require.NoError(t, err)
		}
	}
}

// TestPermitFurtherSendOfAReleaseThatFoundNoneSetGivesNothing: permits were set when the client
// sends again.
func TestPermitFurtherSendOfAReleaseThatFoundNoneSetGivesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	through, proxy := redistest.ThroughProxy(t, server)
	recorder := redistest.RecordScripts(t, through)
	recorder.Learn(releaseScript.Body())
	r := permitRigOn(t, recorder, redistest.Name(t))
	r.Raw = server.Client(t)
	r.set(3)
	p := r.take()
	r.Ask("DEL", r.of.key)
	lost := proxy.DropReply(redistest.All(redistest.MatchScript(releaseScript.Body()), redistest.Arg(r.of.key)), 1)
	other, set := r.beside(), false
	recorder.Around(nil, func(string) {
		if !set && lost.Dropped() == 1 {
			set = true
			other.set(3)
		}
	})
	require.NoError(t, p.Release(t.Context()), "its first send gave it back")
	require.True(t, set)
	r.stands(3, 0)
}
