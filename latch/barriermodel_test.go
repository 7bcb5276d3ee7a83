package latch

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// meeting is a barrier whose scripts are sent twice and arrive late, and what it
// must be like.
type meeting struct {
	t      testing.TB
	raw    rueidis.Client
	rnd    *rand.Rand
	of     *site
	bodies map[string]string

	last    int64            // party
	gen     int64            // the present generation; 0: none is known
	waiting map[string]bool  // true: its lease is over
	arrived map[string]int64 // generation, or -1
	opened  map[int64]int    // by how many
	seen    map[string]int   // how often what happened
	late    redistest.Late[func() error]
	number  map[string]int64 // as which it arrived
	later   map[string]bool  // who opens its generation later, if it is the last one
	opener  string           // who is to do so for the present one; "": nobody
}

const parties = 3

func newMeeting(t testing.TB, seed uint64, bodies map[string]string) *meeting {
	return &meeting{
		t: t, raw: redistest.Shared(t).Client(t), rnd: rand.New(rand.NewPCG(seed, 2)), of: newSite(redistest.Name(t)), bodies: bodies,
		waiting: map[string]bool{}, arrived: map[string]int64{}, opened: map[int64]int{}, seen: map[string]int{}, number: map[string]int64{}, later: map[string]bool{},
	}
}

func barrierBodies() map[string]string {
	return map[string]string{"arrive": arriveScript.Body(), "leave": leaveScript.Body(), "watch": watchScript.Body(), "pass": passScript.Body()}
}

func (m *meeting) run(script, id string, args ...string) ([]int64, error) {
	on := []string{m.of.key, m.of.waiting, m.of.opened}
	if id != "" {
		on = append(on, keys.BarrierArrival(m.of.key, id))
	}
	if script == "pass" {
		on = append(on, keys.BarrierInside(m.of.key, "1"))
	}
	msg, err := m.raw.Do(context.Background(), m.raw.B().Eval().Script(m.bodies[script]).Numkeys(int64(len(on))).Key(on...).
		Arg(append([]string{memory, m.of.channel, "publish"}, args...)...).Build()).ToMessage()
	if err != nil {
		return nil, err
	}
	if msg.IsInt64() {
		n, err := msg.AsInt64()
		return []int64{n}, err
	}
	return msg.AsIntSlice()
}

// expire is what each script does first, if somebody's lease is over.
func (m *meeting) expire() {
	for _, over := range m.waiting {
		if over {
			m.seen["expired"]++
			m.next()
			return
		}
	}
}

func (m *meeting) next() { m.gen, m.waiting, m.opener = m.gen+1, map[string]bool{}, "" }

func (m *meeting) state(of int64) int64 {
	switch {
	case of == m.gen:
		return present
	case m.opened[of] > 0:
		return opened
	}
	return broken
}

func (m *meeting) arrive(id string) error {
	said, err := m.run("arrive", id, id, decimal(parties), "3600000", map[bool]string{true: "1", false: "0"}[m.later[id]])
	if err != nil {
		return err
	}
	m.expire()
	if m.gen == 0 && len(said) == 4 {
		m.gen = said[0]
	}
	mine, again := m.arrived[id]
	want := []int64{mine, 0, 0}
	switch {
	case again && mine == m.gen:
		m.seen["again"]++
		m.waiting[id] = false
		want = []int64{mine, present, m.number[id]}
		if m.opener == id {
			want[1] = last
		}
	case again:
		m.seen["late"]++
		want[1], want[2] = m.state(mine), m.number[id]
	case m.opener != "":
		m.seen["full"]++
		want = []int64{m.gen, full, 0}
	case len(m.waiting) == parties-1 && m.later[id]:
		m.seen["last"]++
		m.arrived[id], m.waiting[id], m.opener = m.gen, false, id
		m.number[id] = parties
		want = []int64{m.gen, last, parties}
	case len(m.waiting) == parties-1:
		m.seen["opened"]++
		m.arrived[id], m.opened[m.gen] = m.gen, parties
		want = []int64{m.gen, opened, parties}
		m.number[id] = parties
		m.next()
	default:
		m.arrived[id], m.waiting[id] = m.gen, false
		want = []int64{m.gen, present, int64(len(m.waiting))}
		m.number[id] = want[2]
	}
	if len(said) != 4 || !slices.Equal(said[:3], want) {
		return fmt.Errorf("arrival of %s says %v, not %v", id, said, want)
	}
	return nil
}

// generationOf is how the scripts say it; 0: none.
func generationOf(arrived int64) int64 { return max(arrived, 0) }

func (m *meeting) leave(id string) error {
	said, err := m.run("leave", id)
	if err != nil {
		return err
	}
	mine, there := m.arrived[id]
	want := int64(broken)
	switch {
	case !there:
		m.arrived[id], want = -1, never
		m.seen["never"]++
	case mine == -1:
		want = never
	case mine == m.gen:
		m.seen["left"]++
		m.next()
	default:
		m.expire()
		want = m.state(mine)
	}
	if !slices.Equal(said, []int64{want, m.number[id], generationOf(mine)}) {
		return fmt.Errorf("leave of %s says %v, not %d", id, said, want)
	}
	return nil
}

// pass is that of a party that may be the last one of its generation.
func (m *meeting) pass(id string) error {
	said, err := m.run("pass", id, "0")
	if err != nil {
		return err
	}
	mine, there := m.arrived[id]
	want := int64(never)
	switch {
	case !there || mine == -1:
	case mine == m.gen:
		m.expire()
		if want = broken; mine == m.gen {
			m.seen["passed"]++
			m.opened[mine], want = parties, opened
			m.next()
		}
	default:
		want = m.state(mine)
	}
	if !slices.Equal(said, []int64{want, m.number[id], generationOf(mine)}) {
		return fmt.Errorf("pass of %s says %v, not %d", id, said, want)
	}
	return nil
}

func (m *meeting) look() error {
	of := []int64{m.gen, m.gen - int64(m.rnd.IntN(5)), 17}
	var args []string
	for _, g := range of {
		args = append(args, decimal(g))
	}
	said, err := m.run("watch", "", args...)
	if err != nil {
		return err
	}
	m.expire()
	for i, g := range of {
		if want := m.state(g); said[1+i] != want && m.gen > 0 {
			return fmt.Errorf("generation %d of %d is %d, not %d", g, m.gen, said[1+i], want)
		}
	}
	return nil
}

// die has the lease of one who waits be over.
func (m *meeting) die() error {
	for id := range m.waiting {
		m.waiting[id] = true
		return m.raw.Do(context.Background(), m.raw.B().Zadd().Key(m.of.waiting).ScoreMember().ScoreMember(1, id).Build()).Error()
	}
	return nil
}

func (m *meeting) step() error {
	p := m.rnd.IntN(100)
	switch {
	case p < 25 && len(m.late) > 0:
		return m.late.Arrives(m.rnd)()
	case p < 28:
		return m.die()
	case p < 40:
		return m.look()
	case p < 58 && m.opener != "":
		id := m.opener
		m.late.Add(func() error { return m.pass(id) })
		return m.pass(id)
	case p < 48 && m.last > 0:
		id := decimal(1 + max(m.last-int64(m.rnd.IntN(5)), 0))
		m.late.Add(func() error { return m.leave(id) })
		return m.leave(id)
	}
	m.last++
	id := decimal(m.last)
	m.later[id] = m.rnd.IntN(2) == 0
	m.late.Add(func() error { return m.arrive(id) })
	if m.rnd.IntN(6) == 0 {
		return nil // it is on its way still
	}
	return m.arrive(id)
}

func (m *meeting) check() error {
	got := m.raw.DoMulti(context.Background(), m.raw.B().Hget().Key(m.of.key).Field("gen").Build(),
		m.raw.B().Zrange().Key(m.of.waiting).Min("0").Max("-1").Build())
	gen, _ := got[0].AsInt64()
	waiting, err := got[1].AsStrSlice()
	require.NoError(m.t, err)
	slices.Sort(waiting)
	switch want := slices.Sorted(maps.Keys(m.waiting)); {
	case gen != m.gen:
		return fmt.Errorf("the generation is %d, not %d", gen, m.gen)
	case !slices.Equal(waiting, want):
		return fmt.Errorf("%v wait, not %v", waiting, want)
	}
	return nil
}

func (m *meeting) steps(n int) error {
	for i := range n {
		err := m.step()
		if err == nil {
			err = m.check()
		}
		if err != nil {
			return fmt.Errorf("after %d steps: %w", i+1, err)
		}
	}
	return nil
}

func TestNoGenerationEndsBothWaysWhateverArrivesTwiceOrLate(t *testing.T) {
	t.Parallel()
	redistest.EachSeed(t, func(t *testing.T, seed uint64, steps int) {
		m := newMeeting(t, seed, barrierBodies())
		require.NoError(t, m.steps(steps))
		for _, what := range []string{"again", "late", "opened", "left", "never", "expired", "full", "last", "passed"} {
			require.NotZero(t, m.seen[what], what)
		}
	})
}

func TestTheModelOfABarrierSeesWhatItIsThereFor(t *testing.T) {
	t.Parallel()
	redistest.SeesMutations(t, barrierBodies, map[string]redistest.Mutation{
		"an arrival that counts twice":        {"arrive", "if mine then", "if false then"},
		"opens with one too few":              {"arrive", "local last = n >= tonumber(ARGV[5])", "local last = n >= tonumber(ARGV[5]) - 1"},
		"waits on behind a dead one":          {"arrive", "elseif left == 0 then", "elseif false then"},
		"keeps those of a broken one":         {"arrive", "redis.call('zrem', KEYS[2], party)", "local _ = party"},
		"an opening that nobody knows of":     {"arrive", "redis.call('zadd', KEYS[3], whole(now), gen)", ""},
		"a leave that breaks nothing":         {"leave", "if gen and (mine == gen or", "if gen and (false or"},
		"a leave that breaks the next one":    {"leave", "(mine == gen or", "(true or"},
		"a leave that leaves no stone behind": {"leave", "redis.call('set', KEYS[4], '-1', 'PX', ARGV[1])", ""},
		"a look that sees no death":           {"watch", "answer[1] == 0 then", "false then"},
		"a last party that opens at once":     {"arrive", "if last and ARGV[7] == '0' then", "if last then"},
		"one party too many":                  {"arrive", "n > tonumber(ARGV[5]) and opener(gen)", "false"},
		"a last party that is not told":       {"arrive", "opener(gen) == ARGV[4] and 4 or 0", "0"},
		"a pass beside a dead one":            {"pass", "elseif first() == 0 then", "elseif false then"},
	}, func(t *testing.T, seed uint64, bodies map[string]string, steps int) error {
		return newMeeting(t, seed, bodies).steps(steps)
	})
}
