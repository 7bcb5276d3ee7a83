package semaphore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// world is a semaphore, a client of it whose requests are sent again, arrive
// late and lose their replies, and what that client thinks it has.
type world struct {
	t      testing.TB
	raw    rueidis.Client
	rnd    *rand.Rand
	name   string
	bodies map[string]string

	total, held int64
	lanes       redistest.Lanes
	late        redistest.Late[copied]
	unsettled   []copied
	refusedLate int
	settledSome int
}

// copied is one send.
type copied struct {
	script string
	lane   string
	flight int // of a settle of the flight's own lane; -1: none
	args   []string
}

// scriptBodies are the scripts as they are sent.
func scriptBodies() map[string]string {
	return map[string]string{"take": takeScript.Body(), "give": giveScript.Body(), "move": moveScript.Body(), "settle": settleScript.Body()}
}

func newWorld(t testing.TB, seed uint64, bodies map[string]string) *world {
	w := &world{
		t: t, raw: redistest.Shared(t).Client(t), rnd: rand.New(rand.NewPCG(seed, 1)), name: redistest.Name(t),
		bodies: bodies, total: 12,
	}
	w.lanes.Prefix = keys.Lane(w.name, "c")
	require.NoError(t, w.raw.Do(context.Background(), w.raw.B().Set().Key(w.name).Value("12").Build()).Error())
	return w
}

// deliver has a send arrive.
func (w *world) deliver(c copied) []int64 {
	on := []string{w.name, c.lane}
	if c.script == "settle" {
		on = append(on, keys.SemaphoreSet(w.name))
	}
	res := w.raw.Do(context.Background(), w.raw.B().Eval().Script(w.bodies[c.script]).Numkeys(int64(len(on))).Key(on...).Arg(c.args...).Build())
	msg, err := res.ToMessage()
	require.NoError(w.t, err)
	if msg.IsInt64() {
		n, _ := msg.AsInt64()
		return []int64{n}
	}
	numbers, err := msg.AsIntSlice()
	require.NoError(w.t, err)
	return numbers
}

// step is one thing that happens.
func (w *world) step() {
	switch p := w.rnd.IntN(100); {
	case p < 20 && len(w.late) > 0:
		if said := w.deliver(w.late.Arrives(w.rnd)); len(said) == 1 && said[0] == -1 {
			w.refusedLate++
		}
	case p < 45 && len(w.unsettled) > 0:
		w.settle(w.rnd.IntN(len(w.unsettled)))
	default:
		w.request()
	}
}

// settle says what is to be settled, perhaps more than once.
func (w *world) settle(i int) {
	c := w.unsettled[i]
	w.deliver(c)
	w.settledSome++
	if w.rnd.IntN(3) == 0 {
		w.late.Add(c)
	}
	if w.rnd.IntN(3) == 0 {
		return // its reply was lost: it is said again
	}
	w.unsettled = slices.Delete(w.unsettled, i, i+1)
	w.lanes.Back(c.flight)
}

// request is one of a random flight: up to three sends, of which the last may be
// answered.
func (w *world) request() {
	flight := w.rnd.IntN(3)
	lane, number := w.lanes.Next(flight)
	n := decimal(number)
	var c copied
	var runs []run
	switch size, count := 1+w.rnd.Int64N(4), 1+w.rnd.Int64N(4); {
	case w.rnd.IntN(3) == 0:
		runs = []run{{kind: take, size: size, count: count}}
		c = copied{"take", lane, -1, []string{decimal(size), n, memory, decimal(count)}}
	case w.rnd.IntN(3) == 0 && w.held >= size*count:
		runs = []run{{kind: give, size: size, count: count}}
		c = copied{"give", lane, -1, []string{decimal(size), n, memory, decimal(count), keys.SemaphoreChannel(w.name), "publish"}}
	default:
		runs = w.runs()
		c = copied{"move", lane, -1, []string{n, memory, keys.SemaphoreChannel(w.name), "publish"}}
		for _, one := range runs {
			c.args = append(c.args, one.kind.word(), decimal(one.size), decimal(one.count))
		}
	}
	w.send(c, runs, flight)
}

// runs are takes, and gives of what it has.
func (w *world) runs() (runs []run) {
	has := w.held
	for range 1 + w.rnd.IntN(4) {
		one := run{kind: kind(w.rnd.IntN(3)), size: 1 + w.rnd.Int64N(3), count: 1 + w.rnd.Int64N(4)}
		if one.kind == give {
			if has < one.size*one.count {
				continue
			}
			has -= one.size * one.count
		}
		runs = append(runs, one)
	}
	if len(runs) == 0 {
		return []run{{kind: waitTake, size: 1, count: 1}}
	}
	return runs
}

func (w *world) send(c copied, runs []run, flight int) {
	var gives int64
	for _, one := range runs {
		if one.kind == give {
			gives += one.size * one.count
		}
	}
	for sends := 1; ; sends++ {
		fate := w.rnd.IntN(6)
		switch {
		case fate == 0: // it is on its way still
			w.late.Add(c)
		case fate == 1: // its reply is lost
			w.deliver(c)
			if w.rnd.IntN(2) == 0 {
				w.late.Add(c)
			}
		default:
			if w.answered(c, runs, w.deliver(c)) || sends == 1 {
				return
			}
			w.doubt(c, flight, -gives)
			return
		}
		if sends == 3 || w.rnd.IntN(2) == 0 {
			w.held -= gives // which goes on until it is done
			w.doubt(c, flight, gives)
			return
		}
	}
}

// answered takes an answer, and reports whether anything was done.
func (w *world) answered(c copied, runs []run, said []int64) (did bool) {
	if c.script != "take" { // how many heard of it
		said = said[1:]
	}
	if len(said) != len(runs) {
		w.held += 1 << 40 // nobody answers a request that is under way like that
		return true
	}
	for i, k := range said {
		did = did || k > 0
		if runs[i].kind == give {
			w.held -= k * runs[i].size
		} else {
			w.held += k * runs[i].size
		}
	}
	return did
}

// doubt is for a request that may have run, or may run yet.
func (w *world) doubt(c copied, flight int, gives int64) {
	n, _, _ := strings.Cut(c.args[0], " ")
	if c.script != "move" {
		n, _, _ = strings.Cut(c.args[1], " ")
	}
	w.unsettled = append(w.unsettled, copied{"settle", c.lane, w.lanes.Leave(flight, c.lane), []string{n, memory, keys.SemaphoreChannel(w.name), "publish", decimal(gives), "1000"}})
}

// check compares what there is with what there was, if nothing is in doubt.
func (w *world) check() error {
	free, err := w.raw.Do(context.Background(), w.raw.B().Get().Key(w.name).Build()).AsInt64()
	require.NoError(w.t, err)
	if free < 0 {
		return fmt.Errorf("%d are free", free)
	}
	if len(w.unsettled) == 0 && free+w.held != w.total {
		return fmt.Errorf("%d are free and %d taken, of %d", free, w.held, w.total)
	}
	return nil
}

// run makes steps until something is wrong.
func (w *world) run(steps int) error {
	for i := range steps {
		w.step()
		if err := w.check(); err != nil {
			return fmt.Errorf("after %d steps: %w", i+1, err)
		}
	}
	for len(w.unsettled) > 0 {
		w.settle(0)
	}
	for _, c := range w.late {
		w.deliver(c)
	}
	return w.check()
}

func TestNothingIsLostOrMintedWhateverArrivesTwiceOrLate(t *testing.T) {
	t.Parallel()
	redistest.EachSeed(t, func(t *testing.T, seed uint64, steps int) {
		w := newWorld(t, seed, scriptBodies())
		require.NoError(t, w.run(steps))
		require.NotZero(t, w.refusedLate)
		require.NotZero(t, w.settledSome)
	})
}

// TestTheModelSeesWhatItIsThereFor: the check above would be worth nothing if it
// could not fail.
func TestTheModelSeesWhatItIsThereFor(t *testing.T) {
	t.Parallel()
	redistest.SeesMutations(t, scriptBodies, map[string]redistest.Mutation{
		"one too few for three or more":  {"move", "took = now - size * k, took", "took = now - size * k + (k > 2 and 1 or 0), took"},
		"one too few for three alike":    {"take", "string.format('%.0f', took * k)", "string.format('%.0f', took * k - (k > 2 and 1 or 0))"},
		"one too few for one alone":      {"take", "'decrby', KEYS[1], took)", "'decrby', KEYS[1], took - (k == '1' and 1 or 0))"},
		"gives again at a second run":    {"move", "local answer = known()\n", "local answer = nil\n"},
		"takes again at a second run":    {"take", "if older >= 0 then", "if older > 0 then"},
		"gives alone at a second run":    {"give", "if older >= 0 then", "if older > 0 then"},
		"an old copy gives":              {"give", "if older >= 0 then", "if older == 0 or older > 10 then"},
		"an old copy takes":              {"take", "if older >= 0 then", "if older == 0 or older > 10 then"},
		"an old copy moves":              {"move", "return {-1}", "return nil"},
		"a settle gives again":           {"settle", "if n == ARGV[1] then", "if false then"},
		"a settle leaves nothing behind": {"settle", "redis.call('set', KEYS[2], ARGV[1] .. (gone and ' 0 gone' or ' 0 settled'), 'PX', ARGV[2])", ""},
		"a settle keeps what was taken":  {"settle", "grow, gone = tonumber(took),", "grow, gone = 0,"},
		"a settle forgets to give":       {"settle", "grow = math.max(give, 0)", "grow = 0"},
		"a settle takes it for too old":  {"settle", "set == 0 and age > memory", "set == 0 and age > 0"},
	}, func(t *testing.T, seed uint64, bodies map[string]string, steps int) error {
		return newWorld(t, seed, bodies).run(steps)
	})
}
