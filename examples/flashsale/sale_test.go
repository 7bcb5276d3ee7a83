package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// onEachServer runs a test on the embedded server and on a real one, on which
// nothing may be left of it.
func onEachServer(t *testing.T, test func(t *testing.T, flags ...string)) {
	t.Run("embedded", func(t *testing.T) { test(t) })
	t.Run("real", func(t *testing.T) {
		s := redistest.Start(t)
		test(t, "-addr", s.Addr())
		redis := s.Client(t)
		keys, err := redis.Do(t.Context(), redis.B().Keys().Pattern("flashsale:*").Build()).AsStrSlice()
		require.NoError(t, err)
		assert.Empty(t, keys)
	})
}

// held is a sale with -json: its exit code and its result.
func held(t *testing.T, flags ...string) (code int, r result) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append(flags, "-json"), &out, &errs)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r), "%s\n%s", &out, &errs)
	return code, r
}

func TestUnderALockNothingIsOversold(t *testing.T) {
	onEachServer(t, func(t *testing.T, flags ...string) {
		code, r := held(t, append(flags, "-stock", "150", "-buyers", "200", "-procs", "3")...)
		assert.Equal(t, 0, code)
		assert.Empty(t, r.Problems)
		assert.Equal(t, "lock", r.Strategy)
		assert.Equal(t, 150, r.Sold)
		assert.Zero(t, r.Left)
		assert.Zero(t, r.Oversold)
		assert.Equal(t, 200, r.Served)
		assert.Positive(t, r.SalesPerSecond)
		assert.LessOrEqual(t, r.WaitP50, r.WaitP99)
		assert.GreaterOrEqual(t, r.CommandsPerSale, 2.0, "each sale reads and writes")
		assert.Nil(t, r.Killed)
	})
}

func TestThePermitsOfASemaphoreAreSold(t *testing.T) {
	onEachServer(t, func(t *testing.T, flags ...string) {
		code, r := held(t, append(flags, "-strategy", "semaphore", "-stock", "150", "-buyers", "200", "-procs", "3")...)
		assert.Equal(t, 0, code)
		assert.Empty(t, r.Problems)
		assert.Equal(t, "semaphore", r.Strategy)
		assert.Equal(t, 150, r.Sold)
		assert.Zero(t, r.Left)
		assert.Zero(t, r.Oversold)
		assert.Equal(t, 200, r.Served)
	})
}

func TestPermitsThatNobodyBuysAreLeft(t *testing.T) {
	_, r := held(t, "-strategy", "semaphore", "-stock", "50", "-buyers", "20", "-procs", "2", "-think", "0s")
	assert.Equal(t, 20, r.Sold)
	assert.Equal(t, 30, r.Left)
}

func TestTheTableHasEveryStrategyThatWasRun(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"-strategy", "semaphore", "-stock", "30", "-buyers", "40", "-procs", "2"}, &out, &errs)
	assert.Equal(t, 0, code)
	assert.Contains(t, out.String(), "│      lock │   30 │    0 │        0 │")
	assert.Contains(t, out.String(), "│ semaphore │   30 │    0 │        0 │")
	assert.Contains(t, out.String(), "\nlock: Nothing was oversold")
	assert.Contains(t, out.String(), "\nsemaphore: Nothing was oversold")
}

func TestWhatNobodyBuysIsLeft(t *testing.T) {
	code, r := held(t, "-stock", "50", "-buyers", "20", "-procs", "2", "-think", "0s")
	assert.Equal(t, 0, code)
	assert.Equal(t, 20, r.Sold)
	assert.Equal(t, 30, r.Left)
}

func TestMoreProcessesThanBuyers(t *testing.T) {
	code, r := held(t, "-stock", "5", "-buyers", "2", "-procs", "3")
	assert.Equal(t, 0, code)
	assert.Equal(t, 2, r.Sold)
	assert.Equal(t, 2, r.Served)
}

// All buyers think for longer than it takes them to come: all read before the
// first one writes.
func TestWithoutALockOneStockIsSoldSeveralTimes(t *testing.T) {
	onEachServer(t, func(t *testing.T, flags ...string) {
		code, r := held(t, append(flags, "-strategy", "none", "-stock", "10", "-buyers", "40", "-procs", "2", "-think", "500ms")...)
		assert.Equal(t, 0, code, "overselling is what none is there for")
		assert.Equal(t, "none", r.Strategy)
		assert.Greater(t, r.Sold, r.Stock)
		assert.Equal(t, r.Sold+r.Left-r.Stock, r.Oversold)
		assert.Positive(t, r.Oversold)
		assert.Empty(t, r.Problems)
	})
}

func TestTheSaleGoesOnWhenAHolderIsKilled(t *testing.T) {
	onEachServer(t, func(t *testing.T, flags ...string) {
		code, r := held(t, append(flags, "-kill", "-stock", "120", "-buyers", "120", "-procs", "3")...)
		assert.Equal(t, 0, code)
		assert.Empty(t, r.Problems)
		require.NotNil(t, r.Killed)
		assert.Equal(t, victim, r.Killed.Process)
		assert.Positive(t, r.Killed.Unserved, "the holder is one of them")
		assert.Equal(t, 120-r.Killed.Unserved, r.Served, "all buyers of the other processes, and those before the kill")
		assert.Equal(t, r.Served+r.Killed.Unreported, r.Sold)
		assert.Equal(t, 120, r.Sold+r.Left)
		assert.Zero(t, r.Oversold)
		assert.Greater(t, r.Killed.Standstill, millis(killWatchdog/2), "the lock of the dead stands until its lease is over")
	})
}

func TestPeopleGetATableAndAChart(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"-stock", "30", "-buyers", "40", "-procs", "2"}, &out, &errs)
	assert.Equal(t, 0, code)
	for _, want := range []string{"strategy", "commands/sale", "│     lock │   30 │    0 │        0 │", "\nNothing was oversold: 30 sold and 0 left", "by how long they waited"} {
		assert.Contains(t, out.String(), want)
	}
	assert.Empty(t, errs.String(), "no progress bar where there is no terminal")
}

func TestAServerThatIsNotThere(t *testing.T) {
	addr := redistest.NobodyThere(t)
	var out, errs bytes.Buffer
	assert.Equal(t, exitFailed, run([]string{"-addr", "redis://user:secret@" + addr}, &out, &errs))
	assert.Empty(t, out.String())
	assert.Contains(t, errs.String(), addr)
	assert.NotContains(t, errs.String(), "secret")
}

func TestNothingOutlivesAKilledSale(t *testing.T) {
	s := redistest.Start(t)
	redis := s.Client(t, func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 })
	alone := s.Connections(t)
	sale := redistest.StartChild(t, "sale")
	sale.Send("-addr %s -think 50ms -procs 2", s.Addr())
	selling := func() bool {
		keys, err := redis.Do(t.Context(), redis.B().Keys().Pattern("flashsale:*:lock").Build()).AsStrSlice()
		require.NoError(t, err)
		return len(keys) == 1
	}
	require.Eventually(t, selling, redistest.Soon, time.Millisecond)
	require.Greater(t, s.Connections(t), alone)
	sale.Kill()
	redistest.Eventually(t, func() bool { return s.Connections(t) == alone }, redistest.Soon, 5*time.Millisecond)
}
