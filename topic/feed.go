package topic

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/attempts"
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
	unsure    bool // the server may know of it no more: it was told to forget it

	attempt int64      // how often the group was given it
	tried   bool       // a loop was given it, this time
	before  string     // the id that it had, if it was redriven
	failed  *verdict   // what the worst of the loops has made of it
	told    chan error // with one place, for a waiter until the server knows that it is handled; or nil
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
	away     bool // the server is not reached, and the ears know
	failed   bool // for good: nobody is to hear more of it
	ears     []*ear
	flight   map[string]*entry
	owed     int64    // messages that were missed, not reported yet
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
	failures int       // visits in a row that the server did not answer
	more     bool      // the last answer was full
	amount   amount    // of the next
	untold   time.Time // until then it is not asked to have its changes announced, since the user may not
	armed    time.Time // when it was
	vain     int       // announcements in a row that brought nothing
	bare     time.Time // until then its changes are not announced, as there were so many
}

// lease returns how long a message of a durable group may be with a process that is
// silent.
func (f *feed) lease() time.Duration { return f.h.e.WatchdogTimeout }

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
		// Of a message at which no loop is at work any more the server is about to say what becomes of it: it comes again.
		case was != nil && (was.failed == nil || was.left > 0): // it came before
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

// owe notes messages that were missed and not reported to a loop: the next subscriber gets them reported. It is
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
		if f.flushing { // the server is about to be told
			break
		}
		if f.flushing = f.h.e.Spawn(f.flush); !f.flushing {
			f.tell(f.acks, ErrClosed)
		}
	case (!f.joined || f.parting) && f.durable: // it is not to wait for its lease
		delete(f.flight, it.id)
		if !f.h.e.Spawn(func() { _ = f.giveBack([]*entry{it}, 0) }) && it.dropped {
			f.h.e.Logger.Warn("a message was dropped and is not counted as missed: the client closes", "name", f.of.key, "group", f.group, "id", it.id)
		}
	default:
		f.share(it, f.ears)
	}
}

// begin reports whether a loop is to handle a message that it was given. One that has
// gone back to the server is skipped, and one that comes to the loop when the durable name is left goes back.
func (f *feed) begin(it *entry) bool {
	f.mu.Lock()
	there := !it.gone && (f.joined || !f.durable)
	if there {
		it.begun, it.tried = it.begun+1, true
	} else {
		f.finish(it, false)
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

// share gives a message that nobody has handled to others. Without any it waits.
func (f *feed) share(it *entry, ears []*ear) {
	it.left, it.came = len(ears), time.Now()
	for _, r := range ears {
		r.with(func() { r.queue = append(r.queue, it) })
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
