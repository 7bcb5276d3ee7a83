package rwlock_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// What Redisson's threads do, step by step as wire/locks.md 7 has it: the state
// that they leave is what the scripts of this package have to live with.
const (
	javaRead = `
local mode = redis.call('hget', KEYS[1], 'mode')
if mode and mode ~= 'read' and redis.call('hexists', KEYS[1], ARGV[1] .. ':write') == 0 then return 0 end
if not mode then redis.call('hset', KEYS[1], 'mode', 'read') end
local i = redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('set', ARGV[2] .. ':' .. ARGV[1] .. ':rwlock_timeout:' .. i, 1, 'px', ARGV[3])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[3]))
return 1`
	javaReadUnlock = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
local prefix = ARGV[2] .. ':'
local c = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if c == 0 then redis.call('hdel', KEYS[1], ARGV[1]) end
redis.call('del', prefix .. ARGV[1] .. ':rwlock_timeout:' .. (c + 1))
if redis.call('hlen', KEYS[1]) > 1 then
	local all, longest = redis.call('hgetall', KEYS[1]), -3
	for i = 1, #all, 2 do
		for level = 1, tonumber(all[i + 1]) or 0 do
			longest = math.max(longest, redis.call('pttl', prefix .. all[i] .. ':rwlock_timeout:' .. level))
		end
	end
	if longest > 0 then redis.call('pexpire', KEYS[1], longest) return 1 end
	if redis.call('hget', KEYS[1], 'mode') == 'write' then return 1 end
end
redis.call('del', KEYS[1])
return 1`
	javaWrite = `
local mode, w = redis.call('hget', KEYS[1], 'mode'), ARGV[1] .. ':write'
if not mode then redis.call('hset', KEYS[1], 'mode', 'write', w, 1) redis.call('pexpire', KEYS[1], ARGV[3]) return 1 end
if mode == 'write' and redis.call('hexists', KEYS[1], w) == 1 then redis.call('hincrby', KEYS[1], w, 1) return 1 end
return 0`
	javaWriteUnlock = `
local w = ARGV[1] .. ':write'
if redis.call('hexists', KEYS[1], w) == 0 then return 0 end
if redis.call('hincrby', KEYS[1], w, -1) > 0 then return 1 end
redis.call('hdel', KEYS[1], w)
if redis.call('hlen', KEYS[1]) == 1 then redis.call('del', KEYS[1]) else redis.call('hset', KEYS[1], 'mode', 'read') end
return 1`
)

// model is who holds the lock, by what was answered.
type model struct {
	*bench
	readers map[string]int  // owner -> levels
	dead    map[string]bool // of those, whose own keys are gone
	writer  string
	levels  int // of the writer
	next    int
	late    []func() // sends that may arrive once more
}

func (m *model) java(script, thread string) bool {
	m.t.Helper()
	return m.do(m.raw.B().Eval().Script(script).Numkeys(1).Key(m.name).Arg(thread, "{"+m.name+"}", strconv.Itoa(leaseMs)).Build()) == "1"
}

// fresh is an owner of ours.
func (m *model) fresh() string {
	m.next++
	return fmt.Sprintf("g%d", m.next)
}

// ours is one of the owners that are ours, and not a thread of Java's.
func ours(owner string) bool { return strings.HasPrefix(owner, "g") }

// pick is one of the readers.
func (m *model) pick(t *rapid.T, which func(owner string) bool) string {
	var all []string
	for _, owner := range slices.Sorted(maps.Keys(m.readers)) {
		if which(owner) {
			all = append(all, owner)
		}
	}
	if len(all) == 0 {
		t.Skip("nobody")
	}
	return rapid.SampledFrom(all).Draw(t, "owner")
}

func (m *model) thread(t *rapid.T) string {
	return rapid.SampledFrom([]string{"j1", "j2"}).Draw(t, "thread")
}

// alone reports whether nobody but owner holds anything.
func (m *model) alone(owner string) bool {
	for reader := range m.readers {
		if reader != owner {
			return false
		}
	}
	return m.writer == "" || m.writer == owner
}

func (m *model) steps() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"read": func(t *rapid.T) {
			owner := m.fresh()
			got := m.read(owner) == "nil"
			require.Equal(t, m.writer == "", got)
			if got {
				m.readers[owner] = 1
			} else {
				m.bury(owner) // as the client does with what may arrive late
			}
			m.late = append(m.late, func() {
				if m.read(owner) == "nil" {
					delete(m.dead, owner) // it puts its own key back
				}
			})
		},
		"read unlock": func(t *rapid.T) {
			owner := m.pick(t, ours)
			m.bury(owner)
			require.NotEqual(t, "-1", m.leave(owner))
			delete(m.readers, owner)
			delete(m.dead, owner)
			m.late = append(m.late, func() { m.leave(owner) })
		},
		"write": func(t *rapid.T) {
			owner := m.fresh()
			got := m.write(owner) == "nil"
			require.Equal(t, m.alone(owner), got)
			if got {
				m.writer, m.levels = owner, 1
			} else {
				m.bury(owner + ":write")
			}
			m.late = append(m.late, func() { m.write(owner) })
		},
		"write unlock": func(t *rapid.T) {
			if !ours(m.writer) {
				t.Skip("nobody")
			}
			owner := m.writer
			m.bury(owner + ":write")
			require.NotEqual(t, "-1", m.done(owner))
			m.writer = ""
			m.late = append(m.late, func() { m.done(owner) })
		},
		"downgrade": func(t *rapid.T) {
			if !ours(m.writer) {
				t.Skip("nobody")
			}
			owner, to := m.writer, m.fresh()
			m.bury(owner + ":write")
			require.NotEqual(t, "-1", m.downgrade(owner, to))
			m.writer, m.readers[to] = "", 1
			m.late = append(m.late, func() { m.downgrade(owner, to) })
		},
		"renew": func(t *rapid.T) {
			owner := m.pick(t, ours)
			require.Equal(t, "1", m.renew(owner, leaseMs))
			delete(m.dead, owner)
		},
		"a reader's own key ends": func(t *rapid.T) {
			owner := m.pick(t, ours)
			m.cmd("DEL", m.mark(owner, 1))
			m.dead[owner] = true
		},
		"clear": func(t *rapid.T) {
			owner := m.pick(t, func(string) bool { return true })
			said := m.clear(owner, m.readers[owner])
			if m.dead[owner] && m.writer == "" {
				require.Equal(t, "1", said)
				m.bury(owner) // its client finds it lost, and gives it back
				delete(m.readers, owner)
				delete(m.dead, owner)
			} else {
				require.Equal(t, "0", said)
			}
		},
		"a late send": func(t *rapid.T) {
			if len(m.late) == 0 {
				t.Skip("none")
			}
			rapid.SampledFrom(m.late).Draw(t, "send")()
		},
		"java reads": func(t *rapid.T) {
			thread := m.thread(t)
			got := m.java(javaRead, thread)
			require.Equal(t, m.writer == "" || m.writer == thread, got)
			if got {
				m.readers[thread]++
			}
		},
		"java unlocks a read": func(t *rapid.T) {
			thread := m.pick(t, func(owner string) bool { return !ours(owner) })
			if len(m.dead) > 0 && m.othersAreDead(thread) {
				t.Skip("it takes the lock from readers whose own keys are gone, as the format has it")
			}
			require.True(t, m.java(javaReadUnlock, thread))
			if m.readers[thread]--; m.readers[thread] == 0 {
				delete(m.readers, thread)
			}
		},
		"java writes": func(t *rapid.T) {
			thread := m.thread(t)
			got := m.java(javaWrite, thread)
			require.Equal(t, m.writer == thread || m.alone("") && len(m.readers) == 0, got)
			if got {
				if m.writer != thread {
					m.levels = 0
				}
				m.writer = thread
				m.levels++
			}
		},
		"java unlocks a write": func(t *rapid.T) {
			if m.writer == "" || ours(m.writer) {
				t.Skip("nobody")
			}
			require.True(t, m.java(javaWriteUnlock, m.writer))
			if m.levels--; m.levels == 0 {
				m.writer = ""
			}
		},
		"": m.check,
	}
}

// othersAreDead reports whether only dead readers stay when thread goes.
func (m *model) othersAreDead(thread string) bool {
	for owner := range m.readers {
		if owner != thread && !m.dead[owner] {
			return false
		}
	}
	return m.readers[thread] == 1
}

// check compares the server with the model: who was told that it holds the lock
// stands there, with a key of its own and a lease, and nobody else does.
func (m *model) check(t *rapid.T) {
	want := map[string]string{}
	for owner, levels := range m.readers {
		want[owner] = strconv.Itoa(levels)
		if !m.dead[owner] {
			require.Positive(t, m.left(m.mark(owner, levels)), owner)
		}
	}
	if m.writer != "" {
		want[m.writer+":write"] = strconv.Itoa(m.levels)
	}
	if len(want) > 0 {
		want["mode"] = "read"
		if m.writer != "" {
			want["mode"] = "write"
		}
		require.Positive(t, m.left(m.name))
	}
	there, err := m.raw.Do(m.t.(*testing.T).Context(), m.raw.B().Hgetall().Key(m.name).Build()).AsStrMap()
	require.NoError(t, err)
	require.Equal(t, want, there)
}

// Whatever our holders and Redisson's do, in whatever order, and whatever of it
// arrives once more: the lock is held by those who were told so.
func TestTheScriptsKeepToTheModelBesideRedissonsSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		b.name = redistest.Name(b.t)
		m := &model{bench: b, readers: map[string]int{}, dead: map[string]bool{}}
		t.Repeat(m.steps())
	})
}
