package topic

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// claimEvery is how often a durable group is asked for what nobody is at work on.
	claimEvery = time.Second
	// sickFor is how long a topic is left alone that the server refuses to read.
	sickFor = time.Second
	// lookEvery is how often a topic without announcements is read, but not more
	// than one of a client in lookEach: its group may have been destroyed, or its server
	// cut off, without an announcement.
	lookEvery = time.Second
	lookEach  = 10 * time.Millisecond
	// bareEach bounds how many topics of a client are read in a second if nothing announces their changes.
	bareEach = time.Millisecond
	// lookGrid is what these times are rounded to: a client that wakes up for each of its
	// topics needs ten times as much of a core as one that reads some together.
	lookGrid = 250 * time.Millisecond
)

// attach has a feed read.
func (h *reliables) attach(f *feed) {
	h.mu.Lock()
	if !h.reads(f) {
		h.reading[f.of.key] = append(h.reading[f.of.key], f)
		h.read++
	}
	h.mu.Unlock()
	f.post()
}

// reads reports whether a feed is read. The mutex is held.
func (h *reliables) reads(f *feed) bool {
	return slices.Contains(h.reading[f.of.key], f)
}

func (h *reliables) isRead(f *feed) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reads(f)
}

// detach has a feed not read any more. A visit under way is the last.
func (h *reliables) detach(f *feed) {
	h.mu.Lock()
	if all := h.reading[f.of.key]; slices.Contains(all, f) {
		all = slices.DeleteFunc(slices.Clone(all), func(other *feed) bool { return other == f })
		if h.reading[f.of.key] = all; len(all) == 0 {
			delete(h.reading, f.of.key)
		}
		h.read--
	}
	h.mu.Unlock()
	f.deafen()
	if f.turn.TryLock() {
		defer f.turn.Unlock()
		h.unsettle(f)
	}
}

// unsettle notes that a feed needs no connection any more, unless it is read.
func (h *reliables) unsettle(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reads(f) {
		f.deafen() // it may have begun to wait since it is not read
		h.settleAt(f, nil)
		h.e.NotDue(f.due())
	}
}

// endAll leaves all groups, since the client closes. Each server is asked by itself.
func (h *reliables) endAll() {
	h.mu.Lock()
	h.closed = true
	at, servers := map[string][]*feed{}, h.servers
	for _, f := range h.feeds {
		node := h.e.Node(f.of.key)
		at[node] = append(at[node], f)
	}
	h.servers = map[string]*server{}
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, feeds := range at {
		all.Go(func() { leaveAll(feeds) })
	}
	all.Wait()
	for _, s := range servers {
		s.end()
	}
}

// leaveAll leaves all groups when the client closes. A server that is not there is asked once.
func leaveAll(feeds []*feed) {
	var silent error
	for _, f := range feeds {
		f.turn.Lock() // after the visit that is under way
		f.mu.Lock()
		ears := f.ears
		f.mu.Unlock()
		for _, r := range ears {
			f.drop(r)
		}
		if silent != nil { // the server will not be told of what is owed
			f.mu.Lock()
			owed := f.owed
			f.owed = 0
			f.mu.Unlock()
			f.undone(owed, silent)
		} else if err := f.leave(departing); send.Transient(err) {
			silent = err
		}
		f.turn.Unlock()
	}
}

// atOnce is how many feeds of a server are visited at the same time.
const atOnce = 32

// stage is where the visits of a feed are.
type stage int

const (
	resting stage = iota
	posted        // a worker is to visit it
	visited       // one does
	again         // one does, and is to visit it once more
)

// post has a feed visited at once, or once more after the visit that is under way.
func (f *feed) post() {
	f.stageMu.Lock()
	defer f.stageMu.Unlock()
	switch f.stage {
	case resting:
		f.stage = posted
		f.h.visits.Give(f.h.e.Node(f.of.key), f)
	case visited:
		f.stage = again
	}
}

// due names a feed among what is due later.
func (f *feed) due() core.Key { return core.Key{Kind: "reliable topics", Name: f.serial} }

// later has a feed visited in d, or earlier if that is due already.
func (f *feed) later(d time.Duration) {
	f.h.e.Due(f.due(), d, func() time.Duration {
		if d < lookGrid {
			f.post()
		} else {
			f.h.join(f)
		}
		return -1
	})
}

// wake says that a feed has room again, or that something of it is to be asked for.
func (h *reliables) wake(f *feed) {
	if h.isRead(f) {
		f.post()
	}
}

// visit does what is due for a feed: it says that its subscriber lives, and reads pending
// messages, and then new ones.
func (f *feed) visit() {
	f.stageMu.Lock()
	f.stage = visited
	f.stageMu.Unlock()
	f.turn.Lock()
	if f.h.isRead(f) && f.h.e.Open() == nil {
		now := time.Now()
		err, reads := f.tend(now), f.well(now) && f.room()
		if err == nil && reads {
			err = f.read(now)
		}
		f.ends(err, reads)
	}
	f.leaves()
}

// ends notes what has become of a visit, and when the next is due. A visit that has not read says nothing of the server.
func (f *feed) ends(err error, read bool) {
	if err == nil {
		f.failures = 0
		if read {
			f.connected(true)
		}
		f.later(f.rest(time.Now()))
		return
	}
	if errors.Is(err, errCrowded) {
		f.later(crowdedFor)
		return
	}
	f.mu.Lock()
	f.claim = true // what the connection was given has perhaps not come
	f.mu.Unlock()
	if send.Unreached(err) {
		f.connected(false)
	}
	f.failures++
	f.h.e.MarkStale()
	f.h.e.Logger.Debug("reading messages was interrupted", "name", f.of.key, "err", err)
	f.later(pause(f.failures))
}

// connected tells the ears when the server is not reached any more, and when it is again.
func (f *feed) connected(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away != yes {
		return
	}
	f.away = !yes
	for _, r := range f.ears {
		r.connected(yes)
	}
}

// leaves ends a visit.
func (f *feed) leaves() {
	f.turn.Unlock()
	f.h.unsettle(f)
	f.stageMu.Lock()
	more := f.stage == again
	f.stage = resting
	f.stageMu.Unlock()
	if more {
		f.post()
	}
}

// pause returns how long to wait after so many failures.
func pause(failures int) time.Duration {
	return min(20*time.Millisecond<<min(failures, 6), time.Second)
}

// born is what lookGrid counts from.
var born = time.Now()

// rest returns in how long a feed is visited if nothing is announced.
func (f *feed) rest(now time.Time) time.Duration {
	f.h.mu.Lock()
	read := time.Duration(f.h.read)
	f.h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.looksIn(now, read)
	if f.durable && f.joined && len(f.flight) > 0 {
		d = min(d, max(f.lease()/3-now.Sub(f.held), time.Millisecond)) // to say that this process is at work
	}
	return d
}

// looksIn returns in how long a feed is read, of so many that the client reads; under f.mu.
func (f *feed) looksIn(now time.Time, read time.Duration) time.Duration {
	d := max(lookEvery, read*lookEach)
	switch {
	case !f.well(now):
		return f.sick.Sub(now)
	case !f.takes():
		return min(d, lookEvery)
	case f.claim || f.more:
		return 0
	case now.Before(f.silent):
		d = max(silentEvery, read*bareEach)
	case now.Before(f.bare), f.watched.Load() == nil && f.stop == nil: // nothing tells of messages
		d = max(lookGrid, read*bareEach)
	}
	if f.durable {
		d = min(d, claimEvery-now.Sub(f.claimed))
	}
	if d > 4*lookGrid {
		d -= rand.N(d / 4) // those that began together are not all to be read together
	}
	d = max(d, time.Millisecond)
	if past := (now.Sub(born) + d) % lookGrid; d >= lookGrid {
		d -= past
	}
	return max(min(d, f.dues.Left()), time.Millisecond)
}

// read reads pending messages, and then new ones.
func (f *feed) read(now time.Time) error {
	l, err := f.h.linkOf(f)
	if err != nil {
		return err
	}
	if f.asks(now) {
		if err = f.claimBy(l, now); err != nil {
			return f.refused(l, now, err)
		}
	}
	for f.more = true; f.more && f.readable(); {
		if err = f.tend(time.Now()); err == nil {
			err = f.readNew(l)
		}
		if err != nil {
			break
		}
	}
	return f.refused(l, now, err)
}

// readable reports whether new messages may come: not before those that are pending.
func (f *feed) readable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes() && !f.claim
}

// readNew delivers what the group was not given yet. Before that it has the server announce
// later messages.
func (f *feed) readNew(l *link) error {
	now := time.Now()
	n := f.amount.count()
	var arm []rueidis.Completed
	switch {
	case (!l.tracks || now.Before(f.untold)) && f.amount.large(): // which XREAD would bring as well
	case !l.tracks || now.Before(f.untold):
		if err := f.listen(); err != nil {
			return err
		}
	case f.watched.Load() == l || now.Before(f.bare):
	default:
		f.watched.Store(l) // before the server knows: it may announce a change before it answers
		arm = []rueidis.Completed{l.B().ClientCaching().Yes().Build(), l.B().Pttl().Key(f.of.key).Build()}
	}
	bare := now.Before(f.bare)
	armed, msg, err := f.exchange(l, arm, n)
	refused := f.isArmed(arm != nil, armed)
	got, err := newMessages(msg, err)
	if err != nil {
		return err
	}
	f.amount.saw(got[f.of.key])
	f.announcedFor(arm != nil, len(got[f.of.key]), now)
	f.more = len(got[f.of.key]) == n || refused || bare && len(got[f.of.key]) > 0
	f.deliver(got[f.of.key], nil, false)
	return nil
}

// exchange reads up to n new messages, after the commands that have a change announced. What is large, or was late, goes
// by a connection of its own.
func (f *feed) exchange(l *link, arm []rueidis.Completed, n int) (armed []rueidis.RedisResult, msg rueidis.RedisMessage, err error) {
	large := f.amount.large()
	if !large {
		defer l.take(f.amount.bytes())()
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.h.patience())
	defer cancel()
	if !large {
		all := l.DoMulti(ctx, append(arm, f.readWords(l, n))...)
		msg, err = all[len(arm)].ToMessage()
		return all[:len(arm)], msg, err
	}
	if len(arm) > 0 {
		armed = l.DoMulti(ctx, arm...)
	}
	for _, one := range armed {
		if err := one.NonRedisError(); err != nil { // else nobody would find out that the connection is broken
			return armed, msg, err
		}
	}
	msg, err = f.large(l, send.ReadGroupOnce, []string{f.of.key}, []string{f.group, consumer, strconv.Itoa(n)})
	return armed, msg, err
}

// isArmed takes the answers to CLIENT CACHING and PTTL. It reports whether the user may not have changes announced: the
// topic is read by other means then.
func (f *feed) isArmed(asked bool, armed []rueidis.RedisResult) (refused bool) {
	if !asked {
		return false
	}
	err := armed[0].Error()
	left := int64(0)
	if err == nil {
		left, err = armed[1].AsInt64()
	}
	if err != nil || left == gone {
		f.watched.Store(nil)
	}
	if final(err) {
		f.untold = time.Now().Add(silentFor)
	}
	return final(err)
}

// mostVain is how many announcements in a row may bring nothing, soon after they were asked for.
const mostVain = 3

// announcedFor counts announcements that brought nothing: a server that has no room to remember what
// it is to announce says so of one topic when another is read. Such a topic is read without for a while.
func (f *feed) announcedFor(again bool, messages int, now time.Time) {
	f.mu.Lock()
	settled := f.acked.After(f.armed) // this process has changed the stream since then, by an acknowledgement
	f.mu.Unlock()
	switch {
	case messages > 0:
		f.vain, f.bare = 0, time.Time{}
	case again && now.Sub(f.armed) < lookGrid && !settled:
		if f.vain++; f.vain >= mostVain {
			f.h.mu.Lock()
			read := time.Duration(f.h.read)
			f.h.mu.Unlock()
			f.vain, f.bare = mostVain-1, now.Add(max(lookGrid, read*lookEach))
		}
	}
	if again {
		f.armed = now
	}
}

// readWords returns the command that reads what the group was not given yet.
func (f *feed) readWords(l *link, n int) rueidis.Completed {
	return l.B().Arbitrary("XREADGROUP", "GROUP", f.group, consumer, "COUNT", strconv.Itoa(n), "STREAMS").Keys(f.of.key).Args(">").Build()
}

// newMessages reads the answer to XREADGROUP.
func newMessages(msg rueidis.RedisMessage, err error) (map[string][]rueidis.XRangeEntry, error) {
	if err == nil && !msg.IsNil() {
		return msg.AsXRead()
	}
	if rueidis.IsRedisNil(err) {
		err = nil
	}
	return nil, err
}

// gone is the PTTL of a key that is not there. Its changes are not announced.
const gone = -2

// final reports whether the server has refused a command, rather than not been there
// to answer it.
func final(err error) bool { return refusal(err) && !send.Transient(err) }

// refused leaves a feed alone for which the server has refused a command; other
// errors are returned. The connection is closed if it has failed, or if the server may not be
// the one to ask any more.
func (f *feed) refused(l *link, now time.Time, err error) error {
	switch {
	case err == nil:
		f.sick = time.Time{}
	case errors.Is(err, errCrowded):
		return err
	case !final(err):
		if errors.Is(err, context.DeadlineExceeded) && (f.amount.large() || !l.dead.Load()) && f.h.e.Answers(f.of.key) {
			f.amount.missed() // it was long; else the server is silent, which one feed finds out for all
		}
		demoted := strings.HasPrefix(err.Error(), "READONLY") || strings.HasPrefix(err.Error(), "MASTERDOWN")
		if !refusal(err) && !errors.Is(err, ErrOutcomeUnknown) || demoted && time.Since(l.made) > time.Second {
			l.drop()
		}
		return err
	case strings.Contains(err.Error(), "NOGROUP"), strings.Contains(err.Error(), "UNBLOCKED"), send.WrongType(err):
		f.watched.Store(nil)
		f.rejoin()
	default:
		if f.sick == (time.Time{}) {
			f.h.e.Logger.Warn("a reliable topic cannot be read", "name", f.of.key, "err", err)
		}
		f.sick = now.Add(sickFor)
	}
	return nil
}
