package election

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Those of the fair lock, whose holds terms are.
var (
	acquireScript = scripts.Must(os.DirFS("../fairlock"), "lua/acquire.lua")
	releaseScript = scripts.Must(os.DirFS("../fairlock"), "lua/release.lua")
	leaveScript   = scripts.Must(os.DirFS("../fairlock"), "lua/leave.lua")
)

const (
	modelLease = int64(30_000)
	modelTomb  = int64(45_000)
	modelKept  = int64(24 * time.Hour / time.Millisecond)
)

// candidate is one acquisition, and what it knows of itself.
type candidate struct {
	owner   string
	token   int64
	version int
	ended   bool // it has said so, or another has: it announces nothing new any more
}

// reigns is what the scripts are compared with: an election in plain Go.
type reigns struct {
	now, micro int64
	holder     string
	until      int64
	counter    int64
	gone       map[string]int64 // since when
	forgotten  int64

	last    int64 // token of the last term
	owner   string
	after   int64
	version int
	value   string
	kept    int64
}

// pass lets time pass, and forgets what the server forgets by itself.
func (r *reigns) pass(ms int64) {
	r.now, r.micro = r.now+ms, r.micro+ms*1000
	if r.now >= r.until {
		r.holder = ""
	}
	if r.now >= r.forgotten {
		clear(r.gone)
	}
	if r.now >= r.kept {
		r.last, r.owner, r.after, r.version, r.value = 0, "", 0, 0, ""
	}
}

func (r *reigns) acquire(owner string) int64 {
	switch {
	case r.holder == owner:
		r.until = max(r.until, r.now+modelLease)
		if r.counter > 0 {
			return r.counter
		}
	case r.holder != "" || r.buried(owner):
		return -1
	}
	r.holder, r.until = owner, max(r.until, r.now+modelLease)
	r.counter = max(r.counter, r.micro-1) + 1
	return r.counter
}

func (r *reigns) buried(owner string) bool {
	_, there := r.gone[owner]
	return there
}

func (r *reigns) release(owner string) {
	if r.holder == owner {
		r.holder, r.until = "", 0
	}
}

func (r *reigns) bury(owner string) {
	r.release(owner)
	r.gone[owner], r.forgotten = r.now, r.now+modelTomb
	maps.DeleteFunc(r.gone, func(_ string, since int64) bool { return since <= r.now-modelTomb })
}

func (r *reigns) announce(owner string, token int64, version int, value string) int64 {
	if r.holder != owner {
		return 0
	}
	if r.last > 0 {
		r.kept = r.now + modelKept
	}
	if r.owner == owner && r.version >= version {
		return 1
	}
	if r.owner != owner {
		r.after = r.last
	}
	r.owner, r.last, r.version, r.value, r.kept = owner, token, version, value, r.now+modelKept
	return 2
}

func (r *reigns) depart(owner string) int64 {
	if r.owner == "" || r.owner != owner {
		return 0
	}
	r.owner, r.after, r.version, r.value = "", 0, 0, ""
	return 1
}

// said is one call that was sent, of which a copy may arrive at any later time.
type said struct {
	what   string
	c      *candidate
	number int
	value  string
}

// run is the model, a server, and an observer that looks after each step.
type run struct {
	*bench
	server *embedded.Server
	r      *reigns
	all    []*candidate
	sent   []said
	o      observer
	told   []int64 // tokens of the leaders that the observer was told
}

func (m *run) keys(more ...string) []string {
	on := []string{m.name, keys.FairQueue(m.name), keys.FairDeadlines(m.name), keys.FairAlive(m.name)}
	return append(on, more...)
}

func (m *run) take(c *candidate) (token int64) {
	on := m.keys(keys.Tombstones(m.name), keys.LockToken(m.name))
	res := acquireScript.Exec(m.t.Context(), m.raw, on, []string{strconv.FormatInt(modelLease, 10), c.owner, "0", "1400", "10000", "0"})
	if token, err := res.AsInt64(); err == nil {
		return token
	}
	require.NoError(m.t, res.Error())
	return -1
}

func (m *run) give(c *candidate, bury bool) {
	args := []string{c.owner, "publish", "0", keys.LockChannel(m.name), keys.FairTurns(m.name), "1400", "0"}
	s, on := releaseScript, m.keys(keys.LockToken(m.name))
	if bury {
		s, on = leaveScript, m.keys(keys.Tombstones(m.name))
		args = append([]string{c.owner, "bury"}, append(args[1:6], strconv.FormatInt(modelTomb, 10))...)
	}
	require.NoError(m.t, s.Exec(m.t.Context(), m.raw, on, args).Error())
}

// send sends what a candidate says, and compares the answer.
func (m *run) send(t *rapid.T, s said) {
	switch s.what {
	case "acquire":
		token := m.take(s.c)
		require.Equal(t, m.r.acquire(s.c.owner), token)
	case "announce":
		require.Equal(t, m.r.announce(s.c.owner, s.c.token, s.number, s.value), m.announce(s.c.owner, int(s.c.token), s.number, s.value))
	case "release":
		m.give(s.c, false)
		m.r.release(s.c.owner)
	case "bury":
		m.give(s.c, true)
		m.r.bury(s.c.owner)
	case "depart":
		require.Equal(t, m.r.depart(s.c.owner), m.depart(s.c.owner))
	}
}

// say sends something once, or twice behind each other.
func (m *run) say(t *rapid.T, s said) {
	m.sent = append(m.sent, s)
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		m.send(t, s)
	}
}

// same compares what an observer is told with the model.
func (m *run) same(t *rapid.T) {
	fields, err := leaderScript.Exec(m.t.Context(), m.raw, []string{m.name, m.term()}, nil).ToArray()
	require.NoError(t, err)
	want := sight{last: m.r.last}
	if m.r.owner != "" && m.r.owner == m.r.holder {
		want.owner, want.after, want.value = m.r.owner, m.r.after, m.r.value
	}
	got := sight{}
	got.last, err = fields[1].AsInt64()
	require.NoError(t, err)
	if len(fields) == 5 {
		got.owner, _ = fields[2].ToString()
		got.after, _ = fields[3].AsInt64()
		got.value, _ = fields[4].ToString()
	}
	require.Equal(t, want, got)
	m.watch(t, got)
}

// watch lets the observer look: the leaders that it is told come in the order of
// their terms, each of them holds the lock, and none is missed without a gap.
func (m *run) watch(t *rapid.T, s sight) {
	leader := Leader{}
	if s.owner != "" {
		token, err := fence.New("x", s.last)
		require.NoError(t, err)
		leader = Leader{Value: s.value, Fence: token}
	}
	before := m.o.last
	if !m.o.news(leader, s) || leader.None() {
		return
	}
	token := leader.Fence.Number()
	if n := len(m.told); n > 0 && m.told[n-1] != token {
		require.Greater(t, token, m.told[n-1])
		require.Equal(t, s.after != before, m.o.told.Gap)
	}
	m.told = append(m.told, token)
}

func (m *run) some(t *rapid.T, ok func(*candidate) bool) *candidate {
	var fit []*candidate
	for _, c := range m.all {
		if ok(c) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		t.Skip("nobody")
	}
	return rapid.SampledFrom(fit).Draw(t, "candidate")
}

// TestTheScriptsDoWhatTheModelDoes sends what candidates and leaders say, in any
// order, each perhaps twice, with late copies of all that was sent and time that
// passes, over leaders that die, are forced out or resign.
func TestTheScriptsDoWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	server, err := embedded.StartManual()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	client, err := rueidis.NewClient(server.ClientOption())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	names, steps := 0, 0
	for enough := redistest.Count(t, 3_000, 30_000); steps < enough; {
		rapid.Check(t, func(rt *rapid.T) {
			names++
			m := newRun(t, server, client, "model"+strconv.Itoa(names))
			rt.Repeat(m.steps(&steps))
		})
	}
}

func newRun(t *testing.T, server *embedded.Server, raw rueidis.Client, name string) *run {
	m := &run{bench: &bench{t: t, raw: raw, name: name}, server: server, r: &reigns{gone: map[string]int64{}}}
	at, err := m.do("TIME").AsStrSlice()
	require.NoError(t, err)
	seconds, _ := strconv.ParseInt(at[0], 10, 64)
	micros, _ := strconv.ParseInt(at[1], 10, 64)
	m.r.micro = seconds*1_000_000 + micros
	m.r.now = m.r.micro / 1000
	return m
}

func (m *run) steps(steps *int) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": func(t *rapid.T) { *steps++; m.same(t) },
		"time": func(t *rapid.T) {
			ms := rapid.SampledFrom([]int64{1, 900, 10_001, 31_000, 46_000, modelKept}).Draw(t, "ms")
			m.server.Forward(time.Duration(ms) * time.Millisecond)
			m.r.pass(ms)
		},
		"acquire": func(t *rapid.T) {
			client := rapid.SampledFrom([]string{a, b}).Draw(t, "client")[:37]
			c := &candidate{owner: client + strconv.FormatInt(int64(1)<<62+int64(len(m.all)), 10)}
			m.say(t, said{what: "acquire", c: c})
			if m.r.holder == c.owner {
				c.token = m.r.counter
				for _, before := range m.all {
					require.Greater(t, c.token, before.token)
				}
				m.all = append(m.all, c)
			} else {
				m.sent = slices.Delete(m.sent, len(m.sent)-1, len(m.sent)) // it has left for good, with a tombstone if it has to
			}
		},
		"announce": func(t *rapid.T) {
			c := m.some(t, func(c *candidate) bool { return !c.ended })
			c.version++
			m.say(t, said{what: "announce", c: c, number: c.version, value: rapid.StringN(0, 3, 9).Draw(t, "value")})
		},
		"resign": func(t *rapid.T) {
			c := m.some(t, func(c *candidate) bool { return !c.ended })
			c.ended = true
			way := rapid.SampledFrom([]string{"release", "bury"}).Draw(t, "way")
			if way == "release" { // then no send of the acquire is under way
				m.sent = slices.DeleteFunc(m.sent, func(s said) bool { return s.c == c && s.what == "acquire" })
			}
			m.say(t, said{what: way, c: c})
			if rapid.Bool().Draw(t, "departs") {
				m.say(t, said{what: "depart", c: c})
			}
		},
		"forced": func(t *rapid.T) {
			m.do("DEL", m.name)
			m.r.holder, m.r.until = "", 0
		},
		"late": func(t *rapid.T) {
			late := func(s said) bool { return s.what != "acquire" || m.r.holder == s.c.owner || m.r.buried(s.c.owner) }
			copies := slices.DeleteFunc(slices.Clone(m.sent), func(s said) bool { return !late(s) })
			if len(copies) == 0 {
				t.Skip("nothing")
			}
			m.send(t, rapid.SampledFrom(copies).Draw(t, "copy"))
		},
	}
}
