package semaphore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
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
		r.Ask("DEL", r.of.key)
		_, err := r.TrySetPermits(context.Background(), 4)
		return err
	}},
	"add":    {do: func(r *rig, _ *PermitSemaphore) error { return r.AddPermits(context.Background(), 3) }},
	"reduce": {do: func(r *rig, _ *PermitSemaphore) error { return r.AddPermits(context.Background(), -3) }},
	"drain":  {do: func(r *rig, _ *PermitSemaphore) error { _, err := r.Drain(context.Background()); return err }},
	"delete": {do: func(r *rig, _ *PermitSemaphore) error { _, err := r.Delete(context.Background()); return err }},

	"set permits with leases": {do: func(_ *rig, held *PermitSemaphore) error { return held.SetPermits(context.Background(), 4) }},
	"try set permits with leases": {do: func(r *rig, held *PermitSemaphore) error {
		r.Ask("DEL", r.of.key)
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
				recorder.Learn(script.Body()) // which the server may know already
			}
			e, err := locking.New(t.Context(), recorder, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute})
			require.NoError(t, err)
			defer locking.Close(context.Background(), e)
			key := redistest.Name(t)
			r := &rig{New(e, key), enginetest.Rig{T: t, Raw: raw, E: e}}
			r.set(10)
			recorder.Take()
			require.NoError(t, o.do(r, NewPermits(e, key)))
			calls := recorder.Take()
			c := calls[len(calls)-1] // the server may have asked for the text
			require.Equal(t, c, calls[0])
			body, err := scripts.Read(lua, path.Join("lua", c.Script))
			require.NoError(t, err)
			arrive := func(body string, on, args []string) {
				t.Helper()
				cmd := raw.B().Eval().Script(body).Numkeys(int64(len(on))).Key(on...).Arg(args...).Build()
				require.NoError(t, raw.Do(t.Context(), cmd).Error())
			}
			unchanged := func(when string) {
				t.Helper()
				before := r.Ask("GET", key)
				arrive(body, c.Keys, c.Args)
				after := r.Ask("GET", key)
				require.Equal(t, before.String(), after.String(), when)
			}
			unchanged("at once")
			r.set(10)
			r.take(1)
			last := recorder.Take()
			require.Equal(t, c.Keys[1], last[len(last)-1].Keys[1], "the same flight")
			unchanged("behind a later one")

			r.Ask("DEL", c.Keys[1])
			number, _, _ := strings.Cut(c.Args[0], " ")
			if c.Script == "take.lua" || c.Script == "give.lua" {
				number, _, _ = strings.Cut(c.Args[1], " ")
			}
			text, err := scripts.Read(lua, "lua/settle.lua")
			require.NoError(t, err)
			settle := func() {
				on := []string{key, c.Keys[1], r.of.set}
				arrive(text, on, []string{number, memory, r.of.channel, "publish", decimal(o.gives), "0"})
			}
			settle()
			require.Equal(t, 9+o.gives, r.free(), "it had not run, and what it was to give is given")
			unchanged("behind its settle")
			settle()
			require.Equal(t, 9+o.gives, r.free())
		})
	}
}

// TestSemaphoreLateCopyOfARefusedRequest: a refusal leaves nothing on the server. The
// client settles what it sent again itself. A copy by the transport, which the client
// does not know of, is refused after a later request of its flight that changed
// something, and may take permits before that: doc.go says so.
func TestSemaphoreLateCopyOfARefusedRequest(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(r *rig) error{
		"take": func(r *rig) error { return r.TryAcquire(context.Background(), 3) },
		"crowd": func(r *rig) error {
			b := batch{{Ask: ask{of: r.of, kind: take, n: 3}}, {Ask: ask{of: r.of, kind: take, n: 4}}}
			if err := r.h.send(r.of.key, 0, b); err != nil {
				return err
			}
			return map[bool]error{true: ErrNotAcquired}[b[0].Answer.n == 0 && b[1].Answer.n == 0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t).Client(t)
			recorder := redistest.RecordScripts(t, raw)
			for _, script := range append(slices.Collect(maps.Values(alone)), takeScript, moveScript) {
				recorder.Learn(script.Body())
			}
			e, err := locking.New(t.Context(), recorder, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute})
			require.NoError(t, err)
			defer locking.Close(context.Background(), e)
			r := &rig{New(e, redistest.Name(t)), enginetest.Rig{T: t, Raw: raw, E: e}}
			r.set(2)
			recorder.Take()
			require.ErrorIs(t, do(r), ErrNotAcquired)
			c := recorder.Take()[0]
			body, err := scripts.Read(lua, path.Join("lua", c.Script))
			require.NoError(t, err)
			copies := func() {
				cmd := raw.B().Eval().Script(body).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(c.Args...).Build()
				require.NoError(t, raw.Do(t.Context(), cmd).Error())
			}
			copies()
			require.EqualValues(t, 2, r.free(), "refused again")
			r.Ask("INCRBY", r.of.key, "8")
			r.take(1)
			copies()
			require.EqualValues(t, 9, r.free(), "after a later request that took")
		})
	}
}

// TestSemaphoreRefusalOfAnOrderOnAFullServerIsNoError: what remembers it is not what the
// caller asked for.
func TestSemaphoreRefusalOfAnOrderOnAFullServerIsNoError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).set(0)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	did, err := r.TrySetPermits(t.Context(), 4)
	require.NoError(t, err)
	require.False(t, did)
	n, err := r.Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	r.Ask("CONFIG", "SET", "maxmemory", "0")
	r.set(most)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	require.ErrorIs(t, r.Release(t.Context(), 1), ErrInvalidArgument)
	require.ErrorIs(t, r.AddPermits(t.Context(), 1), ErrInvalidArgument)
}

// TestSemaphoreSettleOfAnEarlierLifeDoesNothing: the request carries its age, and the
// semaphore knows when it was set.
func TestSemaphoreSettleOfAnEarlierLifeDoesNothing(t *testing.T) {
	t.Parallel()
	const hour, minute, second = 3_600_000_000, 60_000_000, 1_000_000
	for name, c := range map[string]struct {
		set  int64 // µs ago; 0: nobody knows
		age  int64
		lane string // what the lane has of the request
		left time.Duration
		free int64
		gave string // what it was to give; "": 3, and a take nothing
		told bool   // that it is given up
	}{
		"a give older than the setting":                         {set: minute, age: hour, free: 10},
		"a give younger than the setting":                       {set: hour, age: minute, free: 13},
		"a give, set by Java, remembered":                       {age: 30 * second, free: 13},
		"a give, set by Java, given up":                         {age: minute, free: 10, told: true},
		"a give, set by Java where this library had set before": {set: hour, age: minute, free: 13},
		"a give that was done":                                  {set: hour, age: minute, lane: "7 0 1", left: 30 * time.Second, free: 10},
		"a give that is taken back":                             {set: hour, age: second, lane: "7 0 1", left: 44 * time.Second, free: 7, gave: "-3"},
		"a give that was refused":                               {set: hour, age: second, lane: "7 0 0", left: 44 * time.Second, free: 10, gave: "-3"},
		"gives that were refused":                               {set: hour, age: second, lane: "7 0 0 0", left: 44 * time.Second, free: 10, gave: "-3"},
		"a take before the setting":                             {set: 5 * second, age: 20 * second, lane: "7 2 1", left: 35 * time.Second, free: 10},
		"a take after the setting":                              {set: 15 * second, age: 20 * second, lane: "7 2 1", left: 35 * time.Second, free: 12},
		"a take, set by Java":                                   {age: 20 * second, lane: "7 2 1", left: 35 * time.Second, free: 12},

		"a give, the clock went back":                         {set: -hour, age: second, free: 13},
		"a give, the clock went back, given up":               {set: -hour, age: minute, free: 10, told: true},
		"a give, the clock went back by little":               {set: -second / 2, age: second, free: 10, told: true},
		"a take, the clock had gone back":                     {set: -hour, age: 20 * second, lane: "7 2 1", left: 35 * time.Second, free: 12},
		"a take before the setting, the clock went back":      {set: -9 * second, age: 20 * second, lane: "7 2 1", left: 44 * time.Second, free: 10},
		"a take after the setting, the clock went back":       {set: -40 * second, age: 20 * second, lane: "7 2 1", left: 90 * time.Second, free: 12},
		"a take, the clock went back, and the setting":        {set: 5 * second, age: 20 * second, lane: "7 2 1", left: time.Hour, free: 10},
		"a take, the setting long ago, and the clock is back": {set: hour, age: 20 * second, lane: "7 2 1", left: time.Hour, free: 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).set(10)
			msg := r.Ask("GET", r.of.set)
			now, err := msg.AsInt64()
			require.NoError(t, err)
			if r.Ask("SET", r.of.set, decimal(now-c.set)); c.set == 0 {
				r.Ask("DEL", r.of.set)
			}
			lane, gives := r.of.lane+":9", "3"
			if c.lane != "" {
				r.Ask("SET", lane, c.lane, "PX", decimal(c.left.Milliseconds()))
			}
			if strings.HasPrefix(c.lane, "7 2") {
				gives = "0"
			}
			gives = cmp.Or(c.gave, gives)
			for range 2 {
				cmd := r.Raw.B().Eval().Script(settleScript.Body()).Numkeys(3).Key(r.of.key, lane, r.of.set).
					Arg("7", memory, r.of.channel, "publish", gives, decimal(c.age)).Build()
				grew, err := r.Raw.Do(t.Context(), cmd).AsInt64()
				require.NoError(t, err)
				require.Equal(t, c.told, grew == -1)
				require.Equal(t, c.free, r.free())
			}
		})
	}
}

// TestSemaphoreReleaseThatCameTooLateIsGivenUp, and told: Java has set the permits, and nobody
// knows when.
func TestSemaphoreReleaseThatCameTooLateIsGivenUp(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	r := newRig(t, func(c *core.Config) { c.Deferrals = told })
	r.Ask("SET", r.of.key, "10")
	old := send.Request{Lane: r.of.lane + ":9", Number: "7"}
	require.Greater(t, old.Age(), time.Hour)
	work := core.Work{Kind: label, Name: r.of.key, Op: "release", Amount: 3}
	settling := (&request{h: r.h, of: r.of}).settling(3)
	require.ErrorIs(t, r.E.SeeThrough(old, work, errors.New("refused for now"), settling), core.ErrDeferred)
	redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond)
	require.Equal(t, []string{"gave up semaphore " + r.of.key + ": release 3"}, told.Take())
	require.EqualValues(t, 10, r.free())
	require.ErrorIs(t, settling(t.Context(), old), ErrInvalidArgument, "said twice")
}

// TestSemaphoreReleaseToAKeyThatHoldsSomethingElseIsGivenUp, and told, also if the reply that
// says so is lost. It gives nothing later.
func TestSemaphoreReleaseToAKeyThatHoldsSomethingElseIsGivenUp(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	r, proxy := faulty(t, enginetest.ShortSends, func(c *core.Config) { c.Deferrals = told })
	r.set(3).take(1)
	proxy.BlackHole()
	require.ErrorIs(t, r.Release(t.Context(), 1), ErrOutcomeUnknown)
	r.Ask("DEL", r.of.key)
	r.Ask("LPUSH", r.of.key, "x")
	lost := proxy.DropReply(r.sent(settleScript), 1)
	proxy.Restore()
	lost.Await(t)
	redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond)
	require.Equal(t, []string{"gave up semaphore " + r.of.key + ": release 1"}, told.Take())
	r.stand("2")
	require.EqualValues(t, 2, r.free())
}

// TestSemaphoreReplayOfATakeLeavesTheTimeOfItsRun: the permits were set after the take ran, and
// before it was sent again, so nothing goes back.
func TestSemaphoreReplayOfATakeLeavesTheTimeOfItsRun(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]*scripts.Script{"one": takeScript, "crowd": moveScript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).set(10)
			lane := r.of.lane + ":9"
			args := []string{"2", "7", memory, "1"}
			if name == "crowd" {
				args = []string{"7", memory, r.of.channel, "publish", "take", "2", "1"}
			}
			take := func() {
				t.Helper()
				cmd := r.Raw.B().Eval().Script(script.Body()).Numkeys(2).Key(r.of.key, lane).Arg(args...).Build()
				require.NoError(t, r.Raw.Do(t.Context(), cmd).Error())
			}
			take()
			require.EqualValues(t, 8, r.free())
			r.Ask("PEXPIRE", lane, "35000") // it ran 10 s ago
			r.set(10)
			msg := r.Ask("GET", r.of.set)
			now, err := msg.AsInt64()
			require.NoError(t, err)
			r.Ask("SET", r.of.set, decimal(now-5_000_000))
			take()
			require.EqualValues(t, 10, r.free())
			cmd := r.Raw.B().Eval().Script(settleScript.Body()).Numkeys(3).Key(r.of.key, lane, r.of.set).
				Arg("7", memory, r.of.channel, "publish", "0", "20000000").Build()
			require.NoError(t, r.Raw.Do(t.Context(), cmd).Error())
			require.EqualValues(t, 10, r.free())
		})
	}
}

// TestSemaphoreDeleteLeavesNoTimeOfTheSetting.
func TestSemaphoreDeleteLeavesNoTimeOfTheSetting(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(r *rig) error{
		"set":     func(r *rig) error { return r.SetPermits(context.Background(), 1) },
		"add":     func(r *rig) error { return r.AddPermits(context.Background(), 1) },
		"try set": func(r *rig) error { _, err := r.TrySetPermits(context.Background(), 1); return err },
		"try set for a time": func(r *rig) error {
			_, err := r.TrySetPermits(context.Background(), 1, WithTTL(time.Hour))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, set(r))
			msg := r.Ask("PTTL", r.of.set)
			ttl, err := msg.AsInt64()
			require.NoError(t, err)
			require.Equal(t, name == "try set for a time", ttl > 0)
			require.NotEqualValues(t, -2, ttl)
			did, err := r.Delete(t.Context())
			require.NoError(t, err)
			require.True(t, did)
			msg = r.Ask("EXISTS", r.of.set)
			n, err := msg.AsInt64()
			require.NoError(t, err)
			require.Zero(t, n)
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
						r.Ask("SET", r.of.lane+":"+strconv.Itoa(flight), "9007199254740991 0 1")
					}
				}
				require.NoError(t, o.do(r, NewPermits(r.E, r.of.key)))
				msg := r.Ask("GET", r.of.key)
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
	r.Ask("SET", r.of.key, decimal(most+5)) // by Java
	cmd := r.Raw.B().Eval().Script(settleScript.Body()).Numkeys(3).Key(r.of.key, r.of.lane+":0", r.of.set).
		Arg("7", memory, r.of.channel, "publish", "3", "0").Build()
	require.NoError(t, r.Raw.Do(t.Context(), cmd).Error())
	require.EqualValues(t, most+5, r.free())
}

// TestANumberThatRedisCannotCountIsNone: nothing is changed before that is seen.
func TestANumberThatRedisCannotCountIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1.5", "007", "-0", "+5", " 5", "0x10", "1e3", "inf", "99999999999999999999", ""} {
		r := newPermitRig(t)
		r.Ask("SET", r.of.key, text)
		r.wrongType(r.of.key, "string that is no integer")
		require.Equal(t, text, must(r.Raw.Do(t.Context(), r.Raw.B().Get().Key(r.of.key).Build()).ToString()))
		require.Zero(t, r.held())
		for op, do := range operations {
			require.ErrorContains(t, do(t.Context(), r.plain, 1), "string that is no integer", op)
		}
		require.Equal(t, text, must(r.Raw.Do(t.Context(), r.Raw.B().Get().Key(r.of.key).Build()).ToString()))
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
	p.Ask("SET", p.of.key, "0")
	var plain []<-chan error
	var leased []<-chan acquired
	for range callers {
		plain, leased = append(plain, r.acquiring(ctx, 1)), append(leased, p.acquiring(ctx))
	}
	r.waiting(callers)
	p.waiting(callers)
	// Goroutines that have just worked go when they have idled for a second.
	require.Eventually(t, func() bool {
		return runtime.NumGoroutine()-before <= 2*callers+own
	}, redistest.Soon, 100*time.Millisecond, "more than the callers and %d", own)
	leave()
	for n := range callers {
		require.ErrorIs(t, <-plain[n], context.Canceled)
		require.ErrorIs(t, (<-leased[n]).err, context.Canceled)
	}
	for _, one := range permits {
		require.NoError(t, one.Release(t.Context()))
	}
}

// TestAHeadThatLeavesHavingHeardLeavesTheLookToTheNext: it stands back for others after a message, and goes without asking.
func TestAHeadThatLeavesHavingHeardLeavesTheLookToTheNext(t *testing.T) {
	t.Parallel()
	for range 10 {
		r := newRig(t, enginetest.NoLooks).set(0)
		other := r.beside()
		ctx, leave := context.WithCancel(t.Context())
		head := r.acquiring(ctx, 1)
		r.waiting(1)
		heir := r.acquiring(t.Context(), 1)
		r.waiting(2)
		p := r.h.places.Get(r.of.key)
		for range 60 { // others come each time: the head stands back for 3 ms
			p.Courtesy.Released(100, false, p.Courtesy.Mark())
			for range 12 {
				p.Courtesy.Message()
			}
		}
		p.Courtesy.Released(100, false, p.Courtesy.Mark())
		other.give(1)
		time.Sleep(time.Millisecond) // the message is heard, and the head stands back
		leave()
		if err := <-head; err == nil {
			r.give(1)
		}
		require.NoError(t, redistest.Done(t, heir))
		r.h.places.Put(r.of.key, p)
	}
}
