package topic

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// window is how many messages of a topic may be on their way through a client:
// delivered, and not acknowledged by all who listen.
const window = 300

type feedKey struct{ key, group string }

// entry is a message of a stream, on its way through the ears.
type entry struct {
	id, payload string
	whole       bool // it has the field of a message
	left        int  // ears that are not done with it
	handled     bool // by one of them
}

// feed is a topic as this client reads it, in one group, for all ears.
type feed struct {
	h       *reliables
	of      stream
	group   string
	durable bool
	users   int // guarded by reliables.mu: ears, and who is about to be one

	mu       sync.Mutex
	joined   bool
	failed   bool // for good: nobody is to hear more of it
	ears     []*ear
	flight   map[string]*entry
	acks     []string // of what is handled, in flight until the server knows
	flushing bool
	claim    bool      // what is pending has to be asked for
	claiming bool      // it is asked for: what the answer has may be settled meanwhile
	late     []string  // what was settled meanwhile, and is in flight until the answer was read
	tended   time.Time // when it was said last that it lives
	held     time.Time // when it was said last that this process is at work
	claimed  time.Time // when pending messages of the dead were asked for

	sick time.Time // until when it is left alone since it cannot be read; of the reader
}

// lease is how long a message of a durable group may be with a process that is
// silent.
func (f *feed) lease() time.Duration { return f.h.e.WatchdogTimeout }

// enter has an ear hear what the group is given from now on. While the slot moves it
// goes on until the caller has left.
func (h *reliables) enter(of stream, group string, durable bool, r *ear, left *atomic.Bool) (*feed, error) {
	h.mu.Lock()
	k := feedKey{of.key, group}
	f := h.feeds[k]
	if f == nil {
		f = &feed{h: h, of: of, group: group, durable: durable, flight: map[string]*entry{}}
		h.feeds[k] = f
	}
	f.users++
	h.mu.Unlock()
	r.f = f
	err := ErrClosed
	h.e.During(func() {
		for again := true; again; again = engine.Moving(err) && !left.Load() && h.e.Open() == nil {
			_, err = h.member(membership{f: f, ear: r, join: true})
		}
	})
	if err != nil {
		f.exit(r)
		return nil, err
	}
	return f, nil
}

// exit takes an ear out; with the last one the feed leaves its group.
func (f *feed) exit(r *ear) {
	f.drop(r)
	f.h.mu.Lock()
	f.users--
	last := f.users == 0
	f.h.mu.Unlock()
	if last {
		f.h.members.Post(f.of.key, membership{f: f})
	}
}

// unused reports whether nobody listens; then it is forgotten.
func (f *feed) unused() bool {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	if f.users > 0 {
		return false
	}
	if k := (feedKey{f.of.key, f.group}); f.h.feeds[k] == f {
		delete(f.h.feeds, k)
	}
	return true
}

// until is when the group ends, unless it is kept.
func (f *feed) until() string {
	if f.durable {
		return never
	}
	return strconv.FormatInt(f.h.e.Wall()+keptFor.Milliseconds(), 10)
}

// idle reports whether nobody listens, or is about to.
func (f *feed) idle() bool {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	return f.users == 0
}

// join makes the group, unless this feed is in it, and has an ear hear. Without one
// it makes the group again that was found gone, unless nobody listens any more. It
// returns 1 if there was no such group. A client that closes meanwhile leaves it.
func (f *feed) join(r *ear) (made int64, err error) {
	if r == nil && f.idle() {
		return 0, nil
	}
	f.mu.Lock()
	joined := f.joined && !f.failed && r != nil
	f.mu.Unlock()
	if !joined {
		made, err = f.h.numbered(&f.of, joining, joinScript, []string{f.of.timeout}, f.group, f.until())
		if err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	if !joined {
		f.joined, f.failed, f.claim, f.tended = true, false, true, time.Now()
	}
	if r != nil {
		f.ears = append(f.ears[:len(f.ears):len(f.ears)], r)
		for _, it := range f.orphans() {
			f.share(it, []*ear{r})
		}
	}
	f.mu.Unlock()
	f.h.attach(f)
	if err = f.h.e.Open(); err != nil {
		_ = f.leave(departing)
	}
	return made, err
}

// orphans is what nobody here has, in the order of the topic.
func (f *feed) orphans() (all []*entry) {
	for _, it := range f.flight {
		if it.left == 0 && !it.handled {
			all = append(all, it)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return compareIDs(a.id, b.id) })
	return all
}

// compareIDs compares ids of entries, two decimal numbers.
func compareIDs(a, b string) int {
	aMs, aSeq, _ := strings.Cut(a, "-")
	bMs, bSeq, _ := strings.Cut(b, "-")
	return cmp.Or(cmp.Compare(len(aMs), len(bMs)), cmp.Compare(aMs, bMs), cmp.Compare(len(aSeq), len(bSeq)), cmp.Compare(aSeq, bSeq))
}

// leave takes the group away, if nobody has come meanwhile. That of a durable one
// stays, and what is in flight can be claimed at once.
func (f *feed) leave(flight int) (err error) {
	if flight == joining && !f.unused() {
		return nil
	}
	f.h.detach(f)
	f.mu.Lock()
	was, acks := f.joined, slices.Clone(f.acks)
	f.joined = false
	f.mu.Unlock()
	switch {
	case !was:
	case f.durable:
		err = f.release(f.unsettled())
	default:
		if _, err = f.acknowledge(acks); engine.Passing(err) {
			break
		}
		if _, err = f.destroy(flight); err != nil {
			f.h.e.Logger.Debug("a group of a reliable topic is left to its end", "name", f.of.key, "err", err)
		}
	}
	return err
}

func (f *feed) destroy(flight int) (int64, error) {
	return f.h.numbered(&f.of, flight, leaveScript, []string{f.of.timeout}, f.group)
}

// release makes messages look as if nobody had been at work on them for a day.
func (f *feed) release(ids []string) (err error) {
	for len(ids) > 0 && err == nil {
		n := min(len(ids), 1000)
		args := append([]string{f.group, consumer, "0"}, ids[:n]...)
		_, err = f.h.e.Run(context.Background(), claim, []string{f.of.key}, append(args, "IDLE", "86400000", "JUSTID"))
		ids = ids[n:]
	}
	return err
}

// unsettled is what is in flight, and neither handled nor in the hands of a loop.
func (f *feed) unsettled() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range f.orphans() {
		ids = append(ids, it.id)
		delete(f.flight, it.id)
	}
	return ids
}

// takes reports whether more may come; under f.mu.
func (f *feed) takes() bool {
	return f.joined && !f.failed && len(f.flight) <= window-most && len(f.ears) > 0
}

// room reports whether more may come.
func (f *feed) room() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes()
}

// well reports whether it is time to read it.
func (f *feed) well(now time.Time) bool { return !f.sick.After(now) }

// deliver gives messages to all ears. Those of a durable group for which none is
// here any more go back.
func (f *feed) deliver(entries []rueidis.XRangeEntry) {
	var stray []string
	defer func() { _ = f.release(stray) }()
	f.mu.Lock()
	ears := f.ears
	for _, got := range entries {
		switch {
		case f.flight[got.ID] != nil: // it came before
		case len(ears) == 0 && f.durable:
			stray = append(stray, got.ID)
		case len(ears) == 0:
			f.claim = true
		default:
			payload, whole := got.FieldValues["m"]
			it := &entry{id: got.ID, payload: payload, whole: whole}
			f.flight[got.ID] = it
			f.share(it, ears)
		}
	}
	f.mu.Unlock()
}

// cut tells all ears that messages may have been missed.
func (f *feed) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.ears {
		r.interrupt()
	}
}

// fail ends all ears. Who listens anew finds out whether it can be read again.
func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.ears {
		r.fail(err)
	}
	f.ears, f.failed = nil, true
}

// done says that an ear has no more use for a message: it was handled, or the ear
// has gone.
func (f *feed) done(it *entry, handled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it.handled = it.handled || handled
	if it.left--; it.left > 0 || f.flight[it.id] != it {
		return
	}
	switch {
	case it.handled:
		f.acks = append(f.acks, it.id)
		f.settle()
	case !f.joined && f.durable: // it is not to wait for its lease
		delete(f.flight, it.id)
		f.h.e.Spawn(func() { _ = f.release([]string{it.id}) })
	default:
		f.share(it, f.ears)
	}
}

// share gives a message that nobody has handled to others. Without any it waits.
func (f *feed) share(it *entry, ears []*ear) {
	it.left = len(ears)
	for _, r := range ears {
		r.hear(it)
	}
}

// settle has the server told, unless somebody is about to.
func (f *feed) settle() {
	if !f.flushing {
		f.flushing = f.h.e.Spawn(f.flush)
	}
}

// mostSettled bounds how long one call keeps the server.
const mostSettled = 1000

// flush acknowledges until nothing is left, or the client closes.
func (f *feed) flush() {
	for {
		ids := f.handled()
		if len(ids) == 0 {
			return
		}
		n, err := f.acknowledge(ids)
		if err != nil && !engine.Hopeless(err) {
			if !f.pause() {
				return
			}
			continue
		}
		f.settled(ids, err == nil && n < int64(len(ids)))
	}
}

// acknowledge tells the server what was handled. That comes before a group is taken
// away: without one the server would keep it for the next who comes.
func (f *feed) acknowledge(ids []string) (int64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	args := append([]string{f.group, strconv.FormatInt(f.h.e.Wall(), 10)}, ids...)
	return engine.Number(f.h.e.Run(context.Background(), settleScript, []string{f.of.key, f.of.timeout}, args))
}

func (f *feed) handled() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushing = len(f.acks) > 0
	return f.acks[:min(len(f.acks), mostSettled):min(len(f.acks), mostSettled)]
}

// pause is before what failed is tried again. It is false once the client closes.
func (f *feed) pause() bool {
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-f.h.e.Closing():
	}
	f.mu.Lock()
	f.flushing = false
	f.mu.Unlock()
	return false
}

// settled forgets what the server knows to be done. If it knew less, the group was
// perhaps made again meanwhile, and has given once more what was still in flight here.
func (f *feed) settled(ids []string, less bool) {
	f.mu.Lock()
	full := !f.takes()
	f.late = append(f.late, ids...)
	if !f.claiming {
		f.land()
	}
	f.acks = append([]string(nil), f.acks[len(ids):]...)
	f.claim = f.claim || less
	again := less || full && f.takes()
	f.mu.Unlock()
	if again {
		f.h.wake(f)
	}
}

// land forgets what was settled.
func (f *feed) land() {
	for _, id := range f.late {
		delete(f.flight, id)
	}
	f.late = nil
}

// claimDone says that the answer about what is pending was read.
func (f *feed) claimDone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claiming = false
	f.land()
}

// hush takes all ears out, and what they had.
func (f *feed) hush() {
	f.mu.Lock()
	ears := f.ears
	f.mu.Unlock()
	for _, r := range ears {
		f.drop(r)
	}
}

// drop takes an ear out, and what it had.
func (f *feed) drop(r *ear) {
	f.mu.Lock()
	for i, other := range f.ears {
		if other == r {
			f.ears = append(append([]*ear(nil), f.ears[:i]...), f.ears[i+1:]...)
			break
		}
	}
	f.mu.Unlock()
	for _, it := range r.close() {
		f.done(it, false)
	}
}
