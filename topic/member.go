package topic

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
)

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
		for again := true; again; again = send.Moving(err) && !left.Load() && h.e.Open() == nil {
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
// returns 1 if there was no such group. A client that closes meanwhile leaves it. The exchange is for so many calls.
func (f *feed) join(r *ear, calls int) (made int64, err error) {
	if r == nil && f.idle() {
		return 0, nil
	}
	f.mu.Lock()
	joined := f.joined && !f.failed && r != nil
	f.mu.Unlock()
	if !joined {
		made, err = f.numbered(calls, joining, joinScript, []string{f.of.timeout}, f.group, f.until())
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
		if f.away {
			r.connected(false) // it has joined in an outage
		}
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

// leave takes the group away, if nobody has come meanwhile. That of a durable one
// stays, and what is in flight can be claimed at once. A durable one whose loops are at work leaves when they
// are done: until then it says so to the server.
func (f *feed) leave(flight int) (err error) {
	if flight == joining {
		if !f.idle() {
			return nil
		}
		f.mu.Lock()
		parting := f.joined && f.durable && f.busy() // the feed waits for its loops before it leaves
		f.parting = parting
		f.mu.Unlock()
		if parting {
			return f.giveBack(f.unsettled(), 0)
		}
		if !f.unused() {
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
		if _, err = f.acknowledge(acks); send.Transient(err) && flight == departing { // before the group may be taken away
			f.undone(owed, err)
			break
		}
		err = f.giveBack(f.unsettled(), owed)
	default:
		if _, err = f.acknowledge(acks); send.Transient(err) {
			break
		}
		if _, err = f.destroy(flight); err != nil {
			f.h.e.Logger.Debug("a group of a reliable topic is left to its end", "name", f.of.key, "err", err)
		}
	}
	return err
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
	return f.numbered(1, flight, leaveScript, []string{f.of.timeout, f.of.holders}, f.group)
}

// departs has a feed leave its group that has waited for its loops; under f.mu.
func (f *feed) departs() {
	if f.parting && !f.busy() {
		f.parting = false
		f.h.members.Post(f.of.key, membership{f: f})
	}
}
