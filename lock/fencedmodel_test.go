package lock_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// What Redisson's fenced lock does, step by step as wire/locks.md 2 and 4 have it.
const (
	javaFencedLock = `
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
local token = redis.call('incr', KEYS[2])
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return token`
	javaFencedUnlock = `
if redis.call('hincrby', KEYS[1], ARGV[1], -1) <= 0 then redis.call('del', KEYS[1]) end
return 1`
)

// fenceModel is who holds a fenced lock, and which numbers have been given.
type fenceModel struct {
	*bench
	holder  string
	levels  int                // of a holder in Java
	ahead   bool               // of the server's time
	forgot  bool               // the counter was lost, as by a failover
	left    map[string][]int64 // the numbers that an owner of ours may still give to those behind it
	used    map[int64]bool
	highest int64 // of those that holders have had
	next    int
	late    []func(t *rapid.T)
}

// give is a new holder's number: it is above those of all holders before.
func (m *fenceModel) give(t *rapid.T, number int64) {
	require.Greater(t, number, m.highest)
	m.highest, m.used[number] = number, true
}

// block is the n numbers up to last.
func block(last int64, n int) (all []int64) {
	for number := last - int64(n) + 1; number <= last; number++ {
		all = append(all, number)
	}
	return all
}

func (m *fenceModel) java(script, thread string) int64 {
	m.t.Helper()
	n, err := do(m.t, m.raw, "EVAL", script, "2", m.name, counter(m.name), thread, strconv.Itoa(leaseMs)).AsInt64()
	require.NoError(m.t, err)
	return n
}

func (m *fenceModel) ours() bool { return strings.HasPrefix(m.holder, "go") }

// bury is what a client does with an owner of which a send may arrive yet.
func (m *fenceModel) bury(owner string) { m.run("bury", []string{m.gone()}, owner, "45000") }

// end says that a hold has ended: its owner's late requests are refused from then on.
func (m *fenceModel) end(owner string) {
	m.bury(owner)
	m.late = append(m.late,
		func(t *rapid.T) { require.LessOrEqual(t, m.acquireFenced(owner, 3), int64(0)) },
		func(t *rapid.T) { require.Zero(t, m.reserve(owner, 3)) })
	m.holder, m.levels = "", 0
}

func (m *fenceModel) steps() map[string]func(*rapid.T) {
	tokens := rapid.IntRange(1, 4)
	return map[string]func(*rapid.T){
		"lock": func(t *rapid.T) {
			m.next++
			owner, n := "go"+strconv.Itoa(m.next), tokens.Draw(t, "tokens")
			last := m.acquireFenced(owner, n)
			if m.holder != "" {
				require.Negative(t, last)
				return
			}
			require.Equal(t, last, m.acquireFenced(owner, n), "sent twice, it has the same numbers")
			all := block(last, n)
			m.give(t, all[0])
			m.holder, m.forgot, m.left[owner] = owner, false, all[1:]
		},
		"reserve": func(t *rapid.T) {
			if !m.ours() {
				t.Skip("nobody")
			}
			n := tokens.Draw(t, "tokens")
			last := m.reserve(m.holder, n)
			m.left[m.holder] = append(m.left[m.holder], block(last, n)...)
		},
		"hand over": func(t *rapid.T) {
			if !m.ours() || len(m.left[m.holder]) == 0 {
				t.Skip("nobody, or nothing to give")
			}
			m.give(t, m.left[m.holder][0])
			m.left[m.holder] = m.left[m.holder][1:]
		},
		"unlock": func(t *rapid.T) {
			if !m.ours() {
				t.Skip("nobody")
			}
			require.NotEqual(t, "-1", m.release(m.holder))
			m.end(m.holder)
		},
		"a lease ends": func(t *rapid.T) {
			if m.holder == "" {
				t.Skip("nobody")
			}
			do(m.t, m.raw, "DEL", m.name)
			if m.ours() {
				m.end(m.holder)
			}
			m.holder, m.levels = "", 0
		},
		"a holder that was lost hands over": func(t *rapid.T) {
			for owner, numbers := range m.left {
				if owner == m.holder || len(numbers) == 0 {
					continue
				}
				require.False(t, m.used[numbers[0]], "a number that another has had")
				m.used[numbers[0]] = true
				m.left[owner] = numbers[1:]
				if m.holder != "" {
					require.Less(t, numbers[0], m.highest, "guards refuse it")
				}
				return
			}
			t.Skip("none")
		},
		"java locks": func(t *rapid.T) {
			if m.forgot {
				t.Skip("it would begin with 1 again")
			}
			thread := rapid.SampledFrom([]string{"java1", "java2"}).Draw(t, "thread")
			number := m.java(javaFencedLock, thread)
			if m.holder != "" && m.holder != thread {
				require.Zero(t, number)
				return
			}
			m.give(t, number)
			m.holder = thread
			m.levels++
		},
		"java unlocks": func(t *rapid.T) {
			if m.holder == "" || m.ours() {
				t.Skip("nobody")
			}
			m.java(javaFencedUnlock, m.holder)
			if m.levels--; m.levels == 0 {
				m.holder = ""
			}
		},
		"the clock goes back": func(*rapid.T) {
			do(m.t, m.raw, "INCRBY", counter(m.name), "3600000000") // the counter is ahead of it
			m.ahead = true
		},
		"the server forgets": func(t *rapid.T) {
			if m.ahead {
				t.Skip("both at once cost order")
			}
			do(m.t, m.raw, "DEL", counter(m.name))
			m.forgot = true
		},
		"a late send": func(t *rapid.T) {
			if len(m.late) > 0 {
				rapid.SampledFrom(m.late).Draw(t, "send")(t)
			}
		},
		"": m.check,
	}
}

// check compares the server with the model.
func (m *fenceModel) check(t *rapid.T) {
	want := ""
	if m.holder != "" {
		want = m.holder + "=" + strconv.Itoa(max(m.levels, 1))
		require.Positive(t, m.bench.left())
	}
	require.Equal(t, want, m.state())
}

// Whatever our holders and Redisson's do, in whatever order, and whatever of it
// arrives late: each holder's number is above those of all before, and none is
// used twice.
func TestTheFencedScriptsKeepToTheModelBesideRedissonsSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		b.name = redistest.Name(b.t)
		m := &fenceModel{bench: b, left: map[string][]int64{}, used: map[int64]bool{}}
		t.Repeat(m.steps())
	})
}
