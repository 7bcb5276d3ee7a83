package semaphore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// permitWorld is a semaphore, clients whose requests about permits are sent again,
// arrive late and lose their replies, and what they think they hold. Leases do not
// end by themselves in it, but when it says so.
type permitWorld struct {
	t      testing.TB
	raw    rueidis.Client
	rnd    *rand.Rand
	bodies map[string]string

	name   string
	total  int64
	number uint64
	held   map[string]bool // ids that a client holds and trusts
	doubt  []string        // ids of which nobody knows what became of their acquire
	maybe  map[string]bool // of those, not settled yet
	late   redistest.Late[func()]

	refusedLate, reclaimed, replays int
}

func permitBodies() map[string]string {
	bodies := make(map[string]string)
	for _, name := range []string{"acquire", "release", "exchange", "bury"} {
		body, err := scripts.Read(lua, path.Join("lua", "permit_"+name+".lua"))
		if err != nil {
			panic(err)
		}
		bodies[name] = body
	}
	return bodies
}

func newPermitWorld(t testing.TB, seed uint64, bodies map[string]string) *permitWorld {
	w := &permitWorld{
		t: t, raw: redistest.Shared(t).Client(t), rnd: rand.New(rand.NewPCG(seed, 1)), bodies: bodies,
		name: redistest.Name(t), total: 6, held: make(map[string]bool), maybe: make(map[string]bool),
	}
	require.NoError(t, w.raw.Do(t.Context(), w.raw.B().Set().Key(w.name).Value(decimal(w.total)).Build()).Error())
	t.Cleanup(func() {
		w.raw.Do(context.Background(), w.raw.B().Del().Key(w.name, keys.PermitLeases(w.name), keys.Tombstones(w.name), keys.PermitLabels(w.name)).Build())
	})
	return w
}

func (w *permitWorld) eval(script string, on, args []string) []int64 {
	cmd := w.raw.B().Eval().Script(w.bodies[script]).Numkeys(int64(len(on))).Key(on...).Arg(args...).Build()
	msg, err := w.raw.Do(context.Background(), cmd).ToMessage()
	require.NoError(w.t, err, script)
	if n, err := msg.AsInt64(); err == nil {
		return []int64{n}
	}
	said, err := msg.AsIntSlice()
	require.NoError(w.t, err, script)
	return said
}

const longLease = "600000"

// one is one request; it returns of each id that is given whether it is gone now,
// and of each group that is wanted whether it was taken.
func (w *permitWorld) one(gives []string, wants [][]string) (gave, took []bool) {
	leases, gone, channel := keys.PermitLeases(w.name), keys.Tombstones(w.name), keys.SemaphoreChannel(w.name)
	switch {
	case len(gives) == 0 && len(wants) == 1 && len(wants[0]) == 1:
		said := w.eval("acquire", []string{w.name, leases, gone}, []string{wants[0][0], longLease, channel, "publish"})
		if said[0] == -2 {
			w.refusedLate++
		}
		return nil, []bool{said[0] == 0}
	case len(gives) == 1 && len(wants) == 0 && w.rnd.IntN(2) == 0:
		said := w.eval("release", []string{w.name, leases}, []string{gives[0], channel, "publish"})
		return []bool{said[0] >= 0}, nil
	}
	args := append([]string{channel, "publish", strconv.Itoa(len(gives))}, gives...)
	for n, ids := range wants {
		args = append(args, []string{"take", "wait"}[n%2], longLease, []string{"", "me"}[len(ids)%2], strconv.Itoa(len(ids)))
		args = append(args, ids...)
	}
	said := w.eval("exchange", []string{w.name, leases, gone, keys.PermitLabels(w.name)}, args)[2:]
	for _, n := range said[:len(gives)] {
		gave = append(gave, n == 1)
	}
	for _, n := range said[len(gives):] {
		took = append(took, n == 1)
	}
	return gave, took
}

func (w *permitWorld) newID() string {
	w.number++
	return fmt.Sprintf("%016x", w.number)
}

// some are ids that are held.
func (w *permitWorld) some(n int) (ids []string) {
	for id := range w.held {
		if len(ids) == n {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

func (w *permitWorld) step() {
	switch w.rnd.IntN(12) {
	case 0: // something late arrives
		if len(w.late) > 0 {
			w.late.Arrives(w.rnd)()
		}
	case 1, 2: // what nobody knows of is given back
		if len(w.doubt) > 0 {
			w.settle()
		}
	case 3: // a lease ends
		for _, id := range w.some(1) {
			delete(w.held, id)
			w.reclaimed++
			w.end(id)
		}
	default:
		w.request()
	}
}

// end has leases end.
func (w *permitWorld) end(ids ...string) {
	for _, id := range ids {
		cmd := w.raw.B().Zadd().Key(keys.PermitLeases(w.name)).Xx().ScoreMember().ScoreMember(1, id).Build()
		require.NoError(w.t, w.raw.Do(context.Background(), cmd).Error())
	}
}

func (w *permitWorld) settle() {
	id := w.doubt[0]
	w.doubt = w.doubt[1:]
	w.eval("bury", []string{keys.Tombstones(w.name)}, []string{"600000", id})
	w.one([]string{id}, nil)
	delete(w.maybe, id)
}

func (w *permitWorld) request() {
	gives := w.some(w.rnd.IntN(3))
	var wants [][]string
	var all []string
	for range w.rnd.IntN(4) {
		var ids []string
		for range 1 + w.rnd.IntN(3)*w.rnd.IntN(2) {
			ids = append(ids, w.newID())
		}
		wants, all = append(wants, ids), append(all, ids...)
	}
	if len(gives)+len(wants) == 0 {
		return
	}
	send := func() (gave, took []bool) { return w.one(gives, wants) }
	for _, id := range gives {
		delete(w.held, id) // who gives works with it no more
	}
	lost := false
	for range 3 {
		switch w.rnd.IntN(6) {
		case 0: // on its way still
			w.late.Add(func() { send() })
			lost = true
			continue
		case 1: // its reply is lost
			send()
			w.replays++
			if w.rnd.IntN(3) == 0 { // for longer than the leases that it began
				w.end(all...)
			}
			if w.rnd.IntN(2) == 0 {
				w.late.Add(func() { send() })
			}
			lost = true
			continue
		}
		gave, took := send()
		for n, id := range gives {
			if !gave[n] && !lost {
				w.held["lost "+id] = true // nobody was told of that
			}
		}
		for n, ids := range wants {
			for _, id := range ids {
				switch {
				case lost: // its release leaves a tombstone
					w.doubt, w.maybe[id] = append(w.doubt, id), true
				case took[n]:
					w.held[id] = true
				}
			}
		}
		return
	}
	for _, id := range append(gives, all...) {
		w.doubt, w.maybe[id] = append(w.doubt, id), true
	}
}

// check compares what there is with what there was.
func (w *permitWorld) check() error {
	free, err := w.raw.Do(context.Background(), w.raw.B().Get().Key(w.name).Build()).AsInt64()
	require.NoError(w.t, err)
	stand, err := w.raw.Do(context.Background(), w.raw.B().Zrange().Key(keys.PermitLeases(w.name)).Min("0").Max("-1").Build()).AsStrSlice()
	require.NoError(w.t, err)
	if free < 0 || free+int64(len(stand)) != w.total {
		return fmt.Errorf("%d are free and %d held, of %d", free, len(stand), w.total)
	}
	there := make(map[string]bool)
	for _, id := range stand {
		there[id] = true
	}
	labels, err := w.raw.Do(context.Background(), w.raw.B().Hlen().Key(keys.PermitLabels(w.name)).Build()).AsInt64()
	require.NoError(w.t, err)
	if labels > 2*w.total+4 {
		return fmt.Errorf("%d labels stand, for %d permits", labels, w.total)
	}
	for id := range w.held {
		if !there[id] {
			return fmt.Errorf("%q is trusted, and not there", id)
		}
	}
	return nil
}

func (w *permitWorld) run(steps int) error {
	for i := range steps {
		w.step()
		if err := w.check(); err != nil {
			return fmt.Errorf("after %d steps: %w", i+1, err)
		}
	}
	for len(w.doubt) > 0 {
		w.settle()
	}
	for _, late := range w.late {
		late()
	}
	if err := w.check(); err != nil {
		return err
	}
	// Those of a lease that has ended are taken in with the next request.
	_, took := w.one(nil, [][]string{{w.newID()}, {w.newID()}})
	stand, err := w.raw.Do(context.Background(), w.raw.B().Zcount().Key(keys.PermitLeases(w.name)).Min("2").Max("+inf").Build()).AsInt64()
	require.NoError(w.t, err)
	mine := int64(len(w.held))
	for _, ok := range took {
		if ok {
			mine++
		}
	}
	if stand != mine {
		return fmt.Errorf("%d stand, of which %d are known", stand, mine)
	}
	return nil
}

func TestNoPermitIsLostOrMintedWhateverArrivesTwiceOrLate(t *testing.T) {
	t.Parallel()
	redistest.EachSeed(t, func(t *testing.T, seed uint64, steps int) {
		w := newPermitWorld(t, seed, permitBodies())
		require.NoError(t, w.run(steps))
		require.NotZero(t, w.refusedLate)
		require.NotZero(t, w.reclaimed)
		require.NotZero(t, w.replays)
	})
}

// TestTheModelOfPermitsSeesWhatItIsThereFor: the check above would be worth
// nothing if it could not fail.
func TestTheModelOfPermitsSeesWhatItIsThereFor(t *testing.T) {
	t.Parallel()
	redistest.SeesMutations(t, permitBodies, map[string]redistest.Mutation{
		"one too few is taken":           {"exchange", "room, took = room - need,", "room, took = room - math.min(need, 2),"},
		"takes some of several":          {"exchange", "need <= room and", "need - 1 <= room and"},
		"takes again at a second run":    {"exchange", "if not stands or tonumber(stands) <= now then", "if true then"},
		"takes a dead one for a live":    {"exchange", "if not stands or tonumber(stands) <= now then", "if not stands then"},
		"one takes again":                {"acquire", "dead - new)", "dead - 1)"},
		"a late copy takes":              {"acquire", "return -2", "if now < 0 then return -2 end"},
		"a late copy of several takes":   {"exchange", "if buried and", "if false and"},
		"gives again at a second run":    {"release", "elseif held == 0 then", "elseif false then"},
		"gives what is gone":             {"exchange", "local live = ends and", "local live = not ends or"},
		"dead ones come back twice":      {"exchange", "redis.call('zremrangebyscore', KEYS[2], 0, whole(now))", ""},
		"dead ones do not come back":     {"acquire", "dead = redis.call('zremrange", "dead = 0 * redis.call('zremrange"},
		"a tombstone stands for nothing": {"bury", "redis.call('zadd', KEYS[1], whole(now), ARGV[i])", ""},
	}, func(t *testing.T, seed uint64, bodies map[string]string, steps int) error {
		return newPermitWorld(t, seed, bodies).run(steps)
	})
}
