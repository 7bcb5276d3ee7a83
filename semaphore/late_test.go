package semaphore

import (
	"context"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// order is something that is asked for under a lane.
type order struct {
	do    func(r *rig, held *PermitSemaphore) error
	gives int64
}

var orders = map[string]order{
	"take": {do: func(r *rig, _ *PermitSemaphore) error { return r.TryAcquire(context.Background(), 3) }},
	"wait": {do: func(r *rig, _ *PermitSemaphore) error { return r.Acquire(context.Background(), 3) }},
	"give": {do: func(r *rig, _ *PermitSemaphore) error { return r.Release(context.Background(), 3) }, gives: 3},
	"set":  {do: func(r *rig, _ *PermitSemaphore) error { return r.SetPermits(context.Background(), 4) }},
	"try set": {do: func(r *rig, _ *PermitSemaphore) error {
		r.do("DEL", r.of.key)
		_, err := r.TrySetPermits(context.Background(), 4)
		return err
	}},
	"add":    {do: func(r *rig, _ *PermitSemaphore) error { return r.AddPermits(context.Background(), 3) }},
	"reduce": {do: func(r *rig, _ *PermitSemaphore) error { return r.AddPermits(context.Background(), -3) }},
	"drain":  {do: func(r *rig, _ *PermitSemaphore) error { _, err := r.Drain(context.Background()); return err }},
	"delete": {do: func(r *rig, _ *PermitSemaphore) error { _, err := r.Delete(context.Background()); return err }},

	"set permits with leases": {do: func(_ *rig, held *PermitSemaphore) error { return held.SetPermits(context.Background(), 4) }},
	"try set permits with leases": {do: func(r *rig, held *PermitSemaphore) error {
		r.do("DEL", r.of.key)
		_, err := held.TrySetPermits(context.Background(), 4)
		return err
	}},
	"add permits with leases":    {do: func(_ *rig, held *PermitSemaphore) error { return held.AddPermits(context.Background(), 3) }},
	"delete permits with leases": {do: func(_ *rig, held *PermitSemaphore) error { _, err := held.Delete(context.Background()); return err }},
}

// TestALateCopyChangesNothing: one of a request that was done, at once, behind a
// later one of its flight, and behind its settle.
func TestALateCopyChangesNothing(t *testing.T) {
	t.Parallel()
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t).Client(t)
			recorder := redistest.RecordScripts(t, raw)
			for _, script := range append(slices.Collect(maps.Values(alone)), takeScript, giveScript, moveScript) {
				recorder.Learn(script.Body) // which the server may know already
			}
			e, err := engine.New(t.Context(), recorder, engine.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute})
			require.NoError(t, err)
			defer e.Close(context.Background())
			key := redistest.Name(t)
			r := &rig{New(e, key), t, raw, e}
			r.set(10)
			recorder.Take()
			require.NoError(t, o.do(r, NewPermits(e, key)))
			calls := recorder.Take()
			c := calls[len(calls)-1] // the server may have asked for the text
			require.Equal(t, c, calls[0])
			body, err := scripts.Read(lua, path.Join("lua", c.Script))
			require.NoError(t, err)
			arrive := func(body string, args []string) {
				t.Helper()
				cmd := raw.B().Eval().Script(body).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(args...).Build()
				require.NoError(t, raw.Do(t.Context(), cmd).Error())
			}
			unchanged := func(when string) {
				t.Helper()
				before := r.do("GET", key)
				arrive(body, c.Args)
				after := r.do("GET", key)
				require.Equal(t, before.String(), after.String(), when)
			}
			unchanged("at once")
			r.set(10)
			r.take(1)
			last := recorder.Take()
			require.Equal(t, c.Keys[1], last[len(last)-1].Keys[1], "the same flight")
			unchanged("behind a later one")

			r.do("DEL", c.Keys[1])
			number, _, _ := strings.Cut(c.Args[0], " ")
			if c.Script == "take.lua" || c.Script == "give.lua" {
				number, _, _ = strings.Cut(c.Args[1], " ")
			}
			settle, err := scripts.Read(lua, "lua/settle.lua")
			require.NoError(t, err)
			arrive(settle, []string{number, memory, r.of.channel, "publish", decimal(o.gives)})
			require.Equal(t, 9+o.gives, r.free(), "it had not run, and what it was to give is given")
			unchanged("behind its settle")
			arrive(settle, []string{number, memory, r.of.channel, "publish", decimal(o.gives)})
			require.Equal(t, 9+o.gives, r.free())
		})
	}
}

// TestAClientIDThatWasUsedBefore is what a clock that was ahead brings: the server
// remembers later requests of it. What is asked for is done all the same, once.
func TestAClientIDThatWasUsedBefore(t *testing.T) {
	t.Parallel()
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands := func(used bool) int64 {
				r := newRig(t).set(9)
				for flight := range flights {
					if used {
						r.do("SET", r.of.lane+":"+strconv.Itoa(flight), "9007199254740991 0 1")
					}
				}
				require.NoError(t, o.do(r, NewPermits(r.e, r.of.key)))
				msg := r.do("GET", r.of.key)
				n, _ := msg.AsInt64()
				return n
			}
			require.Equal(t, stands(false), stands(true))
		})
	}
}

// TestASettleTakesNothingAway where more are free than there can be.
func TestASettleTakesNothingAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.do("SET", r.of.key, decimal(most+5)) // by Java
	cmd := r.raw.B().Eval().Script(settleScript.Body).Numkeys(2).Key(r.of.key, r.of.lane+":0").
		Arg("7", memory, r.of.channel, "publish", "3").Build()
	require.NoError(t, r.raw.Do(t.Context(), cmd).Error())
	require.EqualValues(t, most+5, r.free())
}

// TestANumberThatRedisCannotCountIsNone: nothing is changed before that is seen.
func TestANumberThatRedisCannotCountIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1.5", "007", "-0", "+5", " 5", "0x10", "1e3", "inf", "99999999999999999999", ""} {
		r := newPermitRig(t)
		r.do("SET", r.of.key, text)
		r.wrongType(r.of.key, "string that is no integer")
		require.Equal(t, text, must(r.raw.Do(t.Context(), r.raw.B().Get().Key(r.of.key).Build()).ToString()))
		require.Zero(t, r.held())
		for op, do := range operations {
			require.ErrorContains(t, do(t.Context(), r.plain, 1), "string that is no integer", op)
		}
		require.Equal(t, text, must(r.raw.Do(t.Context(), r.raw.B().Get().Key(r.of.key).Build()).ToString()))
	}
}

// TestNoGoroutineWaitsBesideTheCallers: those who wait cost the client none of its
// own, whatever their number, and neither do permits.
func TestNoGoroutineWaitsBesideTheCallers(t *testing.T) {
	const callers, own = 2_000, 25
	raw := redistest.Shared(t).Client(t)
	r := rigOn(t, raw, redistest.Name(t)).set(1)
	p := permitRigOn(t, raw, redistest.Name(t)).set(callers)
	r.take(1)
	ctx, leave := context.WithCancel(t.Context())
	before := runtime.NumGoroutine()
	permits := make([]*Permit, callers/2)
	for n := range permits {
		var err error
		permits[n], err = p.Acquire(t.Context())
		require.NoError(t, err)
	}
	require.LessOrEqual(t, runtime.NumGoroutine()-before, own)
	p.do("SET", p.of.key, "0")
	var plain []<-chan error
	var leased []<-chan acquired
	for range callers {
		plain, leased = append(plain, r.acquiring(ctx, 1)), append(leased, p.acquiring(ctx))
	}
	r.waiting(callers)
	p.waiting(callers)
	require.LessOrEqual(t, runtime.NumGoroutine()-before, 2*callers+own)
	leave()
	for n := range callers {
		require.ErrorIs(t, <-plain[n], context.Canceled)
		require.ErrorIs(t, (<-leased[n]).err, context.Canceled)
	}
	for _, one := range permits {
		require.NoError(t, one.Release(t.Context()))
	}
}
