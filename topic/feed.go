package topic

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/attempts"
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

	came  time.Time // to the ears
	begun int       // loops that have it
	gone  bool      // it was given back, and is skipped

	dropped   bool // the topic has it no more, and nobody else gets it
	forgotten bool // the server knows of it no more, since it was dropped

	attempt int64      // how often the group was given it
	tried   bool       // a loop was given it, this time
	before  string     // the id that it had, if it was redriven
	failed  *verdict   // what the worst of the loops has made of it
	told    chan error // with one place, of who waits until the server knows that it is handled; or nil
}

// feed is a topic as this client reads it, in one group, for all ears.
type feed struct {
	h       *reliables
	of      stream
	group   string
	durable bool
	users   int     // guarded by reliables.mu: ears, and who is about to be one
	server  *server // guarded by reliables.mu: where it is read, or nil

	serial  string               // among the feeds of its client
	watched atomic.Pointer[link] // on which the next change of the stream is announced, or nil

	mu       sync.Mutex
	joined   bool
	hung     bool // messages waited for too long, and the loops have not moved since
	parting  bool // nobody listens, and it leaves the group when its loops are done with what they have
	failed   bool // for good: nobody is to hear more of it
	ears     []*ear
	flight   map[string]*entry
	owed     int64    // messages that were missed, of which nobody was told
	acks     []string // of what is handled, in flight until the server knows
	flushing bool
	claim    bool      // what is pending has to be asked for
	claiming bool      // it is asked for: what the answer has may be settled meanwhile
	late     []string  // what was settled meanwhile, and is in flight until the answer was read
	tended   time.Time // when it was said last that it lives
	held     time.Time // when it was said last that this process is at work
	claimed  time.Time // when pending messages of the dead were asked for
	acked    time.Time // when the server was told last that messages are handled

	stop   func()    // ends its wait by a cursor; nil: it does not wait so
	silent time.Time // until then nothing says that there are messages

	dues attempts.Dues // when messages that failed here come again

	stageMu sync.Mutex
	stage   stage
	turn    sync.Mutex // of its visits, and of who leaves it for good

	// Of its visits.
	sick     time.Time // until when it is left alone since it cannot be read
	failures int       // visits behind each other that the server did not answer
	more     bool      // the last answer was full
	amount   amount    // of the next
	untold   time.Time // until then it is not asked to have its changes announced, since the user may not
	armed    time.Time // when it was
	vain     int       // announcements behind each other that brought nothing
	bare     time.Time // until then its changes are not announced, as there were so many
}

// lease returns how long a message of a durable group may be with a process that is
// silent.
func (f *feed) lease() time.Duration { return f.h.e.WatchdogTimeout }

// enter has an ear hear what the group is given from now on. While the slot moves it
// goes on until the caller has left.
func (h *reliables) enter(of stream, group string, durable bool, r *ear, left *atomic.Bool) (*feed, error) {
	h.mu.Lock()
	k := feedKey{of.key, group}
	f := h.feeds[k]
	if f == nil {
		h.made++
		f = &feed{h: h, of: of, group: group, durable: durable, flight: map[string]*entry{}, serial: strconv.Itoa(h.made)}
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

// until returns when the group ends, unless it is kept.
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
		f.hung, f.parting = false, false
		f.ears = append(f.ears[:len(f.ears):len(f.ears)], r)
		r.lag(f.owed)
		f.owed = 0
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

// orphans returns what nobody here has, in the order of the topic.
func (f *feed) orphans() (all []*entry) {
	for _, it := range f.flight {
		if it.left == 0 && !it.handled && it.failed == nil {
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
// stays, and what is in flight can be claimed at once. A durable one whose loops are at work leaves when they
// are done: until then it says so to the server.
func (f *feed) leave(flight int) (err error) {
	if flight == joining {
		switch {
		case !f.idle():
			return nil
		case f.parts():
			return f.giveBack(f.unsettled(), 0)
		case !f.unused():
			return nil
		}
	}
	f.h.detach(f)
	f.mu.Lock()
	was, acks, owed := f.joined, slices.Clone(f.acks), f.owed
	f.joined, f.owed = false, 0
	f.mu.Unlock()
	switch {
	case !was:
	case f.durable:
		if _, err = f.acknowledge(acks); engine.Passing(err) && flight == departing { // before the group may be taken away
			f.undone(owed, err)
			break
		}
		err = f.giveBack(f.unsettled(), owed)
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

// parts reports whether the feed waits for its loops before it leaves.
func (f *feed) parts() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parting = f.joined && f.durable && f.busy()
	return f.parting
}

// busy reports whether a loop has a message; under f.mu.
func (f *feed) busy() bool {
	for _, it := range f.flight {
		if it.begun > 0 && it.left > 0 {
			return true
		}
	}
	return false
}

func (f *feed) destroy(flight int) (int64, error) {
	return f.h.numbered(&f.of, flight, leaveScript, []string{f.of.timeout, f.of.holders}, f.group)
}

// release gives messages back, as if nobody had been at work on them for a day. Those that
// no loop was given count as not delivered, and those that were dropped as missed.
func (f *feed) release(all []*entry) (err error) {
	own, again := f.parted(all)
	for i, some := range [][]*entry{own, again} {
		for some := range slices.Chunk(some, 1000) {
			args := []string{f.group, consumer}
			for _, it := range some {
				left := it.attempt
				if !it.tried {
					left--
				}
				args = append(args, f.at(it.id), strconv.FormatInt(it.attempt, 10), strconv.FormatInt(left, 10))
			}
			if _, err = f.h.e.Run(context.Background(), releaseScript, []string{f.streams()[i], f.of.missed}, args); err != nil {
				return err
			}
		}
	}
	return nil
}

// unsettled returns what is in flight, and neither handled nor in the hands of a loop.
func (f *feed) unsettled() []*entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.orphans()
	for _, it := range all {
		delete(f.flight, it.id)
	}
	return all
}

// giveBack gives back what is in flight no more. What the topic has dropped nobody else
// can have: it is missed, beside what is owed.
func (f *feed) giveBack(all []*entry, owed int64) error {
	there, dropped := f.split(all, func(it *entry) bool { return it.dropped })
	err := f.release(there) // at first, since others wait for it
	owed += f.forgotten(dropped)
	if engine.Passing(err) && f.h.e.Open() != nil {
		f.undone(owed, err)
		return err
	}
	return errors.Join(err, f.forgo(owed))
}

// forgotten returns how many messages of those that were dropped the server has pending no more: nobody else counts them.
func (f *feed) forgotten(dropped []*entry) int64 {
	pending, _ := f.split(dropped, func(it *entry) bool { return it.forgotten })
	f.holdAll(pending)
	_, gone := f.split(dropped, func(it *entry) bool { return it.dropped && it.forgotten })
	return int64(len(gone))
}

// split returns those of which is says no, and those of which it says yes; it is asked under f.mu.
func (f *feed) split(all []*entry, is func(*entry) bool) (no, yes []*entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range all {
		if is(it) {
			yes = append(yes, it)
		} else {
			no = append(no, it)
		}
	}
	return no, yes
}

// takes reports whether more may come; under f.mu.
func (f *feed) takes() bool {
	return f.joined && !f.failed && !f.hung && len(f.flight) <= window-most && len(f.ears) > 0
}

// room reports whether more may come.
func (f *feed) room() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes()
}

// well reports whether it is time to read it.
func (f *feed) well(now time.Time) bool { return !f.sick.After(now) }

// deliver gives messages to all ears, each with how often it was delivered; without that, for
// the first time. Those of a durable group for which none is here any more go back.
func (f *feed) deliver(entries []rueidis.XRangeEntry, counts []int64, redriven bool) {
	var stray []*entry
	defer func() { _ = f.release(stray) }()
	f.mu.Lock()
	ears := f.ears
	for i, got := range entries {
		it := newEntry(got, redriven)
		if i < len(counts) {
			it.attempt = counts[i]
		}
		was := f.flight[it.id]
		switch {
		case was != nil && !was.leaving(): // it came before
			was.attempt = it.attempt
		case len(ears) == 0 && f.durable:
			stray = append(stray, it)
		case len(ears) == 0:
			f.claim = true
		default:
			f.flight[it.id] = it
			f.share(it, ears)
		}
	}
	f.mu.Unlock()
}

// leaving reports whether no loop is at work on a message any more, and the server is about to say
// what becomes of it; under f.mu. If it comes meanwhile, it comes again.
func (it *entry) leaving() bool { return it.failed != nil && it.left == 0 }

// cut tells all ears that messages may have been missed.
func (f *feed) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.ears {
		r.interrupt()
	}
}

// lag tells all ears that messages of a durable group were dropped before it had them.
func (f *feed) lag(n int64) {
	if !f.durable || n == 0 {
		return
	}
	untold := int64(0)
	f.mu.Lock()
	for _, r := range f.ears {
		r.lag(n)
	}
	if len(f.ears) == 0 {
		untold = f.owe(n)
	}
	f.mu.Unlock()
	_ = f.forgo(untold) // Close waits for this goroutine
}

// owe notes messages that were missed, of which nobody was told: whoever listens next is. It is
// under f.mu, and returns how many the server is still to count, since the client begins no goroutine any more.
func (f *feed) owe(n int64) (untold int64) {
	switch {
	case f.joined:
		f.owed += n // for the next who joins, or for the server when it leaves
	case !f.h.e.Spawn(func() { _ = f.forgo(n) }):
		return n
	}
	return 0
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
	f.finish(it, handled)
	again := f.moves()
	f.mu.Unlock()
	if again {
		f.h.wake(f)
	}
}

// moves notes that a loop is at work, or has ended. It reports whether more may come now; under f.mu.
func (f *feed) moves() (again bool) {
	again = f.hung
	f.hung = false
	return again && f.takes()
}

// finish does what done does. f.mu is held.
func (f *feed) finish(it *entry, handled bool) {
	it.handled = it.handled || handled
	defer f.departs()
	if it.left--; it.left > 0 || f.flight[it.id] != it {
		return
	}
	switch {
	case it.failed != nil:
		f.h.e.Spawn(func() { _ = f.nack(context.Background(), it) })
	case it.handled:
		f.acks = append(f.acks, it.id)
		f.settle()
	case (!f.joined || f.parting) && f.durable: // it is not to wait for its lease
		delete(f.flight, it.id)
		f.h.e.Spawn(func() { _ = f.giveBack([]*entry{it}, 0) })
	default:
		f.share(it, f.ears)
	}
}

// departs has a feed leave its group that has waited for its loops; under f.mu.
func (f *feed) departs() {
	if f.parting && !f.busy() {
		f.parting = false
		f.h.members.Post(f.of.key, membership{f: f})
	}
}

// begin reports whether a loop is to handle a message that it was given. One that has
// gone back to the server is skipped.
func (f *feed) begin(it *entry) bool {
	f.mu.Lock()
	there := !it.gone
	if there {
		it.begun, it.tried = it.begun+1, true
	}
	again := f.moves()
	f.mu.Unlock()
	if again {
		f.h.wake(f)
	}
	return there
}

// unbegin says that a loop has a message no more.
func (f *feed) unbegin(it *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it.begun, it.came = it.begun-1, time.Now()
}

// overdue takes messages of a durable group out that have waited for a loop for a
// lease. Others are to have them: the loops here may hang. None is read until one of
// them moves. What the topic has dropped stays: others could not get it.
func (f *feed) overdue(now time.Time) (all []*entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, it := range f.flight {
		if it.begun == 0 && it.failed == nil && !it.handled && !it.dropped && it.left > 0 && now.Sub(it.came) >= f.lease() {
			it.gone, f.hung = true, true
			delete(f.flight, id)
			all = append(all, it)
		}
	}
	return all
}

// share gives a message that nobody has handled to others. Without any it waits.
func (f *feed) share(it *entry, ears []*ear) {
	it.left, it.came = len(ears), time.Now()
	for _, r := range ears {
		r.hear(it)
	}
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
	last := false
	for i, other := range f.ears {
		if other == r {
			f.ears = append(append([]*ear(nil), f.ears[:i]...), f.ears[i+1:]...)
			last = len(f.ears) == 0 // else the others were told, too
			break
		}
	}
	left, missed := r.close()
	untold := int64(0)
	if last && missed > 0 {
		untold = f.owe(missed)
	}
	f.mu.Unlock()
	f.undone(untold, ErrClosed)
	for _, it := range left {
		f.done(it, false)
	}
}
